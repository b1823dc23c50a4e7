"""An update need not mend what was wrong before, but may not break what was right."""

from __future__ import annotations

from typing import Any

import pytest

from polykind.contract import JsonObject
from tests.crd.build import beta, changed, settled, update_problems, version

SET: JsonObject = {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "object"}}
KEYED: JsonObject = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["k"],
    "items": {"type": "object", "properties": {"k": {"type": "string"}}},
}
UNPRUNED: JsonObject = {"type": "object", "properties": {"b": {"type": "string"}}, "default": {"c": 1}}


def schema(field: JsonObject) -> JsonObject:
    return {"type": "object", "properties": {"a": field}}


def stored(field: JsonObject) -> JsonObject:
    """A definition that holds what is refused today."""
    return settled(version(schema=schema(field)))


@pytest.mark.parametrize("field", [SET, KEYED, UNPRUNED, {"type": "wrong"}])
def test_old_faults_may_stay_and_others_of_the_kind_come(field: JsonObject) -> None:
    old = stored(field)
    two = {"type": "object", "properties": {"a": field, "b": field}}
    assert update_problems(changed(old, versions=[version(schema=two)]), old) == []


@pytest.mark.parametrize("field", [SET, KEYED, UNPRUNED, {"type": "wrong"}])
def test_new_faults_are_refused(field: JsonObject) -> None:
    old = settled()
    assert len(update_problems(changed(old, versions=[version(schema=schema(field))]), old)) == 1


def test_a_missing_schema_may_stay_missing_where_nothing_is_pruned() -> None:
    old = beta()
    assert update_problems(changed(old, names={**old["spec"]["names"], "shortNames": ["t"]}), old) == []
    assert update_problems(changed(old, preserveUnknownFields=False), old) == [
        "spec.versions[0].schema.openAPIV3Schema: Required value: because otherwise all fields are pruned"
    ]


def test_a_non_structural_schema_may_stay_so_until_pruning_begins() -> None:
    old = beta(validation={"openAPIV3Schema": {"properties": {"a": {}}}})
    assert update_problems(changed(old, versions=[version(schema={"properties": {"b": {}}})]), old) == []
    assert update_problems(changed(old, preserveUnknownFields=False), old) == [
        "spec.validation.openAPIV3Schema.properties[a].type: Required value: "
        "must not be empty for specified object fields",
        "spec.validation.openAPIV3Schema.type: Required value: must not be empty at the root",
    ]


def test_an_extension_calls_for_structure() -> None:
    old = beta(validation={"openAPIV3Schema": {"properties": {"a": {}}}})
    new = changed(old, versions=[version(schema={"properties": {"a": {"x-kubernetes-int-or-string": True}}})])
    assert update_problems(new, old) == [
        "spec.validation.openAPIV3Schema.type: Required value: must not be empty at the root"
    ]


def webhook(**more: Any) -> JsonObject:
    client = {"url": "https://example.com", **({"caBundle": more.pop("bundle")} if "bundle" in more else {})}
    return {"strategy": "Webhook", "webhook": {"clientConfig": client, "conversionReviewVersions": ["v1"], **more}}


def test_unknown_review_versions_may_stay() -> None:
    old = settled(conversion=webhook(conversionReviewVersions=["v9"]))
    assert update_problems(changed(old, conversion=webhook(conversionReviewVersions=["v8"])), old) == []
    old = settled(conversion=webhook())
    assert update_problems(changed(old, conversion=webhook(conversionReviewVersions=["v8"])), old) == [
        'spec.conversion.conversionReviewVersions: Invalid value: ["v8"]: must include at least one of v1, v1beta1'
    ]


def test_a_bad_bundle_is_refused_once_established() -> None:
    old = settled(conversion=webhook())
    (text,) = update_problems(changed(old, conversion=webhook(bundle="bm90IGEgY2VydGlmaWNhdGU=")), old)
    assert text == (
        'spec.conversion.webhookClientConfig.caBundle: Invalid value: "bm90IGEgY2VydGlmaWNhdGU=": '
        "unable to load root certificates: unable to parse bytes as PEM block"
    )
    never = settled(conversion=webhook(bundle="bm90"))
    assert update_problems(changed(never, conversion=webhook(bundle="bm90aGluZw==")), never) == []


def test_too_many_selectable_fields_may_stay_the_same() -> None:
    names = [f"f{index}" for index in range(10)]
    properties: JsonObject = {"type": "object", "properties": {name: {"type": "string"} for name in names}}

    def having(count: int) -> JsonObject:
        return version(schema=properties, selectableFields=[{"jsonPath": f".{name}"} for name in names[:count]])

    old = settled(having(10))
    assert update_problems(changed(old, versions=[having(10)], scope="Namespaced"), old) == []
    assert update_problems(changed(old, versions=[having(9)]), old) == [
        "spec.selectableFields: Too many: 9: must have at most 8 items"
    ]


def test_defaults_at_v1beta1_only_where_there_were_some() -> None:
    default = schema({"type": "string", "default": "x"})
    old = settled()
    assert update_problems(changed(old, versions=[version(schema=default)]), old, "v1beta1") == [
        "spec.validation.openAPIV3Schema.properties[a].default: Forbidden: must not be set "
        "(cannot set default values in apiextensions.k8s.io/v1beta1 CRDs, must use apiextensions.k8s.io/v1)"
    ]
    old = settled(version(schema=default))
    assert update_problems(changed(old), old, "v1beta1") == []
