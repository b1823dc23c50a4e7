"""Default roles and bindings and their reconciliation."""

from __future__ import annotations

import pytest

from polykind.auth.rbac.default_roles import (
    AUTOUPDATE,
    default_bindings,
    default_roles,
    is_protected,
    reconcile_binding,
    reconcile_role,
)
from polykind.contract import JsonObject

EXTRA_RULE = {"verbs": ["get"], "apiGroups": ["example.com"], "resources": ["pens"]}


def find(objects: list[JsonObject], name: str) -> JsonObject:
    (match,) = (obj for obj in objects if obj["metadata"]["name"] == name)
    return match


@pytest.mark.parametrize("default", default_roles(), ids=lambda role: role["metadata"]["name"])
def test_unchanged_role_stays_unchanged(default: JsonObject) -> None:
    assert reconcile_role(default, default) == default


@pytest.mark.parametrize("default", default_bindings(), ids=lambda binding: binding["metadata"]["name"])
def test_unchanged_binding_stays_unchanged(default: JsonObject) -> None:
    assert reconcile_binding(default, default) == default


def test_missing_rules_are_added_and_others_stay() -> None:
    default = find(default_roles(), "system:basic-user")
    kept = default["rules"][1]
    assert reconcile_role({**default, "rules": [EXTRA_RULE, kept]}, default)["rules"] == [
        EXTRA_RULE,
        kept,
        {"verbs": ["create"], "apiGroups": ["authorization.k8s.io"], "resources": ["selfsubjectaccessreviews"]},
        {"verbs": ["create"], "apiGroups": ["authorization.k8s.io"], "resources": ["selfsubjectrulesreviews"]},
    ]


def test_aggregation_rule_follows_the_default() -> None:
    view, basic = find(default_roles(), "view"), find(default_roles(), "system:basic-user")
    own = {"matchLabels": {"a": "b"}}
    (selector,) = view["aggregationRule"]["clusterRoleSelectors"]
    assert reconcile_role({**view, "aggregationRule": None}, view)["aggregationRule"] == view["aggregationRule"]
    changed = {**view, "aggregationRule": {"clusterRoleSelectors": [own]}}
    assert reconcile_role(changed, view)["aggregationRule"] == {"clusterRoleSelectors": [own, selector]}
    assert "aggregationRule" not in reconcile_role({**basic, "aggregationRule": view["aggregationRule"]}, basic)


def test_missing_labels_are_added_and_others_keep_their_values() -> None:
    default = find(default_roles(), "edit")
    changed = {**default, "metadata": {"name": "edit", "labels": {"kubernetes.io/bootstrapping": "mine", "a": "b"}}}
    assert reconcile_role(changed, default)["metadata"] == {
        "name": "edit",
        "annotations": {AUTOUPDATE: "true"},
        "labels": {
            "a": "b",
            "kubernetes.io/bootstrapping": "mine",
            "rbac.authorization.k8s.io/aggregate-to-admin": "true",
        },
    }


def test_missing_subjects_are_added_and_changed_role_ref_needs_a_new_binding() -> None:
    default = find(default_bindings(), "system:public-info-viewer")
    own = {"kind": "User", "name": "ann"}
    first, second = default["subjects"]
    reconciled = reconcile_binding({**default, "subjects": [own, second]}, default)
    assert reconciled is not None
    assert reconciled["subjects"] == [own, second, first]
    other = {**default["roleRef"], "name": "view"}
    assert reconcile_binding({**default, "roleRef": other}, default) is None


def test_autoupdate_annotation_protects_from_reconciliation() -> None:
    assert not is_protected({"metadata": {}})
    assert not is_protected({"metadata": {"annotations": {AUTOUPDATE: "true"}}})
    assert is_protected({"metadata": {"annotations": {AUTOUPDATE: "false"}}})
