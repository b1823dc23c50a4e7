"""Matching of requests by rules."""

from __future__ import annotations

from typing import Any

import pytest

from polykind.admission.attributes import Attributes
from polykind.admission.matcher import Rule, is_exempt_from_webhooks, matching_version
from polykind.apis.admissionregistration.strategy import name_warnings
from tests.admission.support import attributes_for

OBJ = {"metadata": {"name": "v"}}


def rule(**more: Any) -> Rule:
    given: dict[str, Any] = {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"]}
    return Rule({**given, **more})


@pytest.mark.parametrize(
    ("more", "attribute_values", "matched"),
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
def test_rule_matches_by_all_its_fields(more: dict[str, Any], attribute_values: dict[str, Any], matched: bool) -> None:
    assert rule(**more).matches(attributes_for(OBJ, **attribute_values)) is matched


@pytest.mark.parametrize(("scope", "matched"), [("Cluster", True), ("Namespaced", False), ("*", True)])
def test_namespaces_are_cluster_scoped(scope: str, matched: bool) -> None:
    attribute_values = attributes_for(OBJ, group="", plural="namespaces", namespace="v")
    assert rule(scope=scope).matches(attribute_values) is matched


def test_equivalent_match_policy_matches_other_versions() -> None:
    attribute_values = attributes_for(OBJ)
    assert matching_version([rule(apiVersions=["v3"])], attribute_values, "Equivalent") == "v3"
    assert matching_version([rule(apiVersions=["v3"])], attribute_values, "Exact") is None
    assert matching_version([rule(apiVersions=["v9"])], attribute_values, "Equivalent") is None


def test_versions_without_the_subresource_are_not_equivalent() -> None:
    attribute_values = attributes_for(OBJ, subresource="scale", equivalents=("v1", "v2"))
    scales = [rule(apiVersions=["v3"], resources=["vats/scale"])]
    assert matching_version(scales, attribute_values, "Equivalent") is None


def test_request_version_has_precedence() -> None:
    attribute_values = attributes_for(OBJ)
    assert (
        matching_version([rule(apiVersions=["v2"]), rule(apiVersions=["v1"])], attribute_values, "Equivalent") == "v1"
    )
    assert (
        matching_version([rule(apiVersions=["v3"]), rule(apiVersions=["v2"])], attribute_values, "Equivalent") == "v3"
    )


def attributes_of_kind(kind: str, group: str = "admissionregistration.k8s.io") -> Attributes:
    return attributes_for(OBJ, group=group, kind=kind, kind_version=f"{group}/v1")


def test_admission_configuration_is_exempt() -> None:
    assert is_exempt_from_webhooks(attributes_of_kind("MutatingWebhookConfiguration"))
    assert is_exempt_from_webhooks(attributes_of_kind("ValidatingAdmissionPolicyBinding"))
    assert not is_exempt_from_webhooks(attributes_of_kind("MutatingWebhookConfiguration", "x.io"))
    assert not is_exempt_from_webhooks(attributes_of_kind("Other"))


def test_static_configuration_names_cause_warnings() -> None:
    assert name_warnings("x.y") == []
    assert name_warnings("x.static.k8s.io") == [
        'metadata.name: names ending with ".static.k8s.io" are reserved for static manifest-based configurations '
        "and cannot be managed via the API"
    ]
