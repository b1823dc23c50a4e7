"""Matching of requests by rules and selectors."""

from __future__ import annotations

from typing import Any

import pytest

from polykind.admission.attributes import Attributes
from polykind.admission.matcher import (
    Rule,
    Rules,
    is_exempt_from_webhooks,
    matching_version,
    namespace_matches,
    object_matches,
)
from polykind.errors import NotFoundError
from polykind.selectors.selector_objects import compile_label_selector
from polykind.strategies.admissionregistration.strategy import name_warnings
from tests.admission.support import attributes_for

OBJ = {"metadata": {"name": "v"}}
TEST = {"matchLabels": {"env": "test"}}
PROD = {"matchExpressions": [{"key": "env", "operator": "In", "values": ["prod"]}]}


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


@pytest.mark.parametrize(
    ("more", "comparisons"), [({}, 1), ({"operations": ["DELETE"]}, 1), ({"resourceNames": ["v"]}, 3)]
)
def test_rules_are_compared_once_for_each_resource_unless_they_name_objects(
    monkeypatch: pytest.MonkeyPatch, more: dict[str, Any], comparisons: int
) -> None:
    compared: list[Rule] = []
    matches = Rule.matches

    def count(self: Rule, attributes: Attributes, version: str = "") -> bool:
        compared.append(self)
        return matches(self, attributes, version)

    monkeypatch.setattr(Rule, "matches", count)
    given = {"operations": ["CREATE"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"], **more}
    rules = Rules([given], "Exact")
    expected = None if "DELETE" in given["operations"] else "x.io/v1"
    assert [rules.matching_version(attributes_for(OBJ)) for _ in range(3)] == [expected] * 3
    assert len(compared) == comparisons


def test_cached_matches_distinguish_operations_scopes_and_resources() -> None:
    rules = Rules(
        [
            {
                "operations": ["CREATE"],
                "apiGroups": ["*"],
                "apiVersions": ["*"],
                "resources": ["vats"],
                "scope": "Cluster",
            }
        ],
        "Exact",
    )
    assert rules.matching_version(attributes_for(OBJ, namespace="")) == "x.io/v1"
    assert rules.matching_version(attributes_for(OBJ)) is None
    assert rules.matching_version(attributes_for(OBJ, namespace="", operation="UPDATE")) is None
    assert rules.matching_version(attributes_for(OBJ, namespace="", plural="tubs")) is None
    assert rules.matching_version(attributes_for(OBJ, namespace="")) == "x.io/v1"


@pytest.mark.parametrize(("scope", "matched"), [("Cluster", True), ("Namespaced", False), ("*", True)])
def test_namespaces_are_cluster_scoped(scope: str, matched: bool) -> None:
    attribute_values = attributes_for(OBJ, group="", plural="namespaces", namespace="v")
    assert rule(scope=scope).matches(attribute_values) is matched


def test_equivalent_match_policy_matches_other_versions() -> None:
    attribute_values = attributes_for(OBJ)
    assert matching_version([rule(apiVersions=["v3"])], attribute_values, "Equivalent") == "x.io/v3"
    assert matching_version([rule(apiVersions=["v3"])], attribute_values, "Exact") is None
    assert matching_version([rule(apiVersions=["v9"])], attribute_values, "Equivalent") is None


def test_versions_without_the_subresource_are_not_equivalent() -> None:
    attribute_values = attributes_for(OBJ, subresource="scale", equivalents=("x.io/v1", "x.io/v2"))
    scales = [rule(apiVersions=["v3"], resources=["vats/scale"])]
    assert matching_version(scales, attribute_values, "Equivalent") is None


def test_request_version_has_precedence() -> None:
    attribute_values = attributes_for(OBJ)
    assert (
        matching_version([rule(apiVersions=["v2"]), rule(apiVersions=["v1"])], attribute_values, "Equivalent")
        == "x.io/v1"
    )
    assert (
        matching_version([rule(apiVersions=["v3"]), rule(apiVersions=["v2"])], attribute_values, "Equivalent")
        == "x.io/v3"
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


def labels_spec(**labels: str) -> dict[str, Any]:
    return {"metadata": {"name": "v", "labels": labels}}


def test_object_selector_matches_new_or_existing_object() -> None:
    label_selector = compile_label_selector(TEST)
    assert object_matches(label_selector, attributes_for(labels_spec(env="test")))
    assert object_matches(label_selector, attributes_for(labels_spec(), labels_spec(env="test")))
    assert object_matches(label_selector, attributes_for(None, labels_spec(env="test")))
    assert not object_matches(label_selector, attributes_for(labels_spec(), labels_spec(env="prod")))
    assert object_matches(compile_label_selector({}), attributes_for(labels_spec()))


def test_namespace_selector_matches_namespace_labels() -> None:
    assert namespace_matches(compile_label_selector(TEST), attributes_for(labels_spec()))
    assert not namespace_matches(compile_label_selector(PROD), attributes_for(labels_spec()))


def test_namespace_selector_matches_cluster_scoped_objects() -> None:
    assert namespace_matches(compile_label_selector(PROD), attributes_for(labels_spec(), namespace=""))


def test_namespace_is_matched_by_its_own_labels() -> None:
    of: dict[str, Any] = {"group": "", "plural": "namespaces", "namespace": "v"}
    assert namespace_matches(
        compile_label_selector(PROD), attributes_for(labels_spec(env="prod"), labels_spec(env="test"), **of)
    )
    assert namespace_matches(compile_label_selector(TEST), attributes_for(None, labels_spec(env="test"), **of))
    assert namespace_matches(
        compile_label_selector(TEST),
        attributes_for(labels_spec(env="prod"), labels_spec(env="test"), subresource="status", **of),
    )


def test_missing_namespace_is_not_found() -> None:
    with pytest.raises(NotFoundError, match='namespaces "gone" not found'):
        namespace_matches(
            compile_label_selector(TEST), attributes_for(labels_spec(), namespace="gone", namespace_object=lambda: None)
        )
