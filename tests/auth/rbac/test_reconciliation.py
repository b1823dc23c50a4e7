"""Default roles and bindings that were changed: what they lack is added, what they have more stays."""

from __future__ import annotations

import pytest

from polykind.auth.rbac.default_roles import AUTOUPDATE, default_bindings, default_roles
from polykind.auth.rbac.reconciliation import protected, reconciled_binding, reconciled_role
from polykind.contract import JsonObject

MORE = {"verbs": ["get"], "apiGroups": ["example.com"], "resources": ["pens"]}


def named(objects: list[JsonObject], name: str) -> JsonObject:
    (found,) = (obj for obj in objects if obj["metadata"]["name"] == name)
    return found


@pytest.mark.parametrize("wanted", default_roles(), ids=lambda role: role["metadata"]["name"])
def test_a_role_that_is_as_it_should_be_stays_so(wanted: JsonObject) -> None:
    assert reconciled_role(wanted, wanted) == wanted


@pytest.mark.parametrize("wanted", default_bindings(), ids=lambda binding: binding["metadata"]["name"])
def test_a_binding_that_is_as_it_should_be_stays_so(wanted: JsonObject) -> None:
    assert reconciled_binding(wanted, wanted) == wanted


def test_rules_that_lack_are_added_one_by_one_and_others_stay() -> None:
    wanted = named(default_roles(), "system:basic-user")
    kept = wanted["rules"][1]
    assert reconciled_role({**wanted, "rules": [MORE, kept]}, wanted)["rules"] == [
        MORE,
        kept,
        {"verbs": ["create"], "apiGroups": ["authorization.k8s.io"], "resources": ["selfsubjectaccessreviews"]},
        {"verbs": ["create"], "apiGroups": ["authorization.k8s.io"], "resources": ["selfsubjectrulesreviews"]},
    ]


def test_a_role_is_put_together_of_others_if_and_only_if_it_should_be() -> None:
    view, basic = named(default_roles(), "view"), named(default_roles(), "system:basic-user")
    own = {"matchLabels": {"a": "b"}}
    (selector,) = view["aggregationRule"]["clusterRoleSelectors"]
    assert reconciled_role({**view, "aggregationRule": None}, view)["aggregationRule"] == view["aggregationRule"]
    changed = {**view, "aggregationRule": {"clusterRoleSelectors": [own]}}
    assert reconciled_role(changed, view)["aggregationRule"] == {"clusterRoleSelectors": [own, selector]}
    assert "aggregationRule" not in reconciled_role({**basic, "aggregationRule": view["aggregationRule"]}, basic)


def test_labels_that_lack_are_added_and_others_keep_their_values() -> None:
    wanted = named(default_roles(), "edit")
    changed = {**wanted, "metadata": {"name": "edit", "labels": {"kubernetes.io/bootstrapping": "mine", "a": "b"}}}
    assert reconciled_role(changed, wanted)["metadata"] == {
        "name": "edit",
        "annotations": {AUTOUPDATE: "true"},
        "labels": {
            "a": "b",
            "kubernetes.io/bootstrapping": "mine",
            "rbac.authorization.k8s.io/aggregate-to-admin": "true",
        },
    }


def test_subjects_that_lack_are_added_and_a_binding_to_another_role_is_not_to_be_mended() -> None:
    wanted = named(default_bindings(), "system:public-info-viewer")
    own = {"kind": "User", "name": "ann"}
    first, second = wanted["subjects"]
    mended = reconciled_binding({**wanted, "subjects": [own, second]}, wanted)
    assert mended is not None
    assert mended["subjects"] == [own, second, first]
    other = {**wanted["roleRef"], "name": "view"}
    assert reconciled_binding({**wanted, "roleRef": other}, wanted) is None


def test_what_its_owner_wants_left_alone_is_told_by_its_annotation() -> None:
    assert not protected({"metadata": {}})
    assert not protected({"metadata": {"annotations": {AUTOUPDATE: "true"}}})
    assert protected({"metadata": {"annotations": {AUTOUPDATE: "false"}}})
