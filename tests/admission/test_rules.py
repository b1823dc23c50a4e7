"""Which writes a rule is about."""

from __future__ import annotations

from typing import Any

import pytest

from polykind.admission.attributes import Attributes
from polykind.admission.rules import Rule, exempt, matching_version, name_warnings
from tests.admission.support import asked

OBJ = {"metadata": {"name": "v"}}


def rule(**more: Any) -> Rule:
    given: dict[str, Any] = {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"]}
    return Rule({**given, **more})


@pytest.mark.parametrize(
    ("more", "write", "matched"),
    [
        ({}, {}, True),
        ({"operations": ["UPDATE", "CREATE"]}, {}, True),
        ({"operations": ["UPDATE"]}, {}, False),
        ({"apiGroups": ["x.io"]}, {}, True),
        ({"apiGroups": [""]}, {}, False),
        ({"apiVersions": ["v1"]}, {}, True),
        ({"apiVersions": ["v2"]}, {}, False),
        ({"resources": ["vats"]}, {}, True),
        ({"resources": ["vats"]}, {"subresource": "status"}, False),
        ({"resources": ["*"]}, {"subresource": "status"}, False),
        ({"resources": ["*/*"]}, {"subresource": "status"}, True),
        ({"resources": ["*/*"]}, {}, True),
        ({"resources": ["vats/*"]}, {}, True),
        ({"resources": ["*/status"]}, {"subresource": "status"}, True),
        ({"resources": ["*/status"]}, {"subresource": "scale"}, False),
        ({"resources": ["tubs", "vats/scale"]}, {"subresource": "scale"}, True),
        ({"scope": "Namespaced"}, {}, True),
        ({"scope": "Cluster"}, {}, False),
        ({"scope": "Cluster"}, {"namespace": ""}, True),
        ({"scope": "Namespaced"}, {"namespace": ""}, False),
        ({"resourceNames": ["v"]}, {}, True),
        ({"resourceNames": ["w"]}, {}, False),
    ],
)
def test_a_rule_matches_by_all_that_it_says(more: dict[str, Any], write: dict[str, Any], matched: bool) -> None:
    assert rule(**more).matches(asked(OBJ, **write)) is matched


@pytest.mark.parametrize(("scope", "matched"), [("Cluster", True), ("Namespaced", False), ("*", True)])
def test_a_namespace_is_of_the_cluster_though_it_lies_in_itself(scope: str, matched: bool) -> None:
    write = asked(OBJ, group="", plural="namespaces", namespace="v")
    assert rule(scope=scope).matches(write) is matched


def test_other_versions_are_equivalent_where_the_policy_says_so() -> None:
    write = asked(OBJ)
    assert matching_version([rule(apiVersions=["v3"])], write, "Equivalent") == "v3"
    assert matching_version([rule(apiVersions=["v3"])], write, "Exact") is None
    assert matching_version([rule(apiVersions=["v9"])], write, "Equivalent") is None


def test_versions_without_the_subresource_are_not_equivalent() -> None:
    write = asked(OBJ, subresource="scale", equivalents=("v1", "v2"))
    scales = [rule(apiVersions=["v3"], resources=["vats/scale"])]
    assert matching_version(scales, write, "Equivalent") is None


def test_the_version_of_the_request_comes_first_and_then_the_first_rule() -> None:
    write = asked(OBJ)
    assert matching_version([rule(apiVersions=["v2"]), rule(apiVersions=["v1"])], write, "Equivalent") == "v1"
    assert matching_version([rule(apiVersions=["v3"]), rule(apiVersions=["v2"])], write, "Equivalent") == "v3"


def _of(kind: str, group: str = "admissionregistration.k8s.io") -> Attributes:
    return asked(OBJ, group=group, kind=kind, kind_version=f"{group}/v1")


def test_nobody_is_asked_about_those_who_are_asked() -> None:
    assert exempt(_of("MutatingWebhookConfiguration"))
    assert exempt(_of("ValidatingAdmissionPolicyBinding"))
    assert not exempt(_of("MutatingWebhookConfiguration", "x.io"))
    assert not exempt(_of("Other"))


def test_names_of_static_configurations_are_warned_of() -> None:
    assert name_warnings("x.y") == []
    assert name_warnings("x.static.k8s.io") == [
        'metadata.name: names ending with ".static.k8s.io" are reserved for static manifest-based configurations '
        "and cannot be managed via the API"
    ]
