"""Ratcheting: an update need not fix existing errors, but may not add new ones."""

from __future__ import annotations

from typing import Any

import pytest

from polykind.contract import JsonObject
from tests.crd.build import established_crd, update_errors, v1beta1_crd, version, with_spec

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


def crd_with_invalid_schema(field: JsonObject) -> JsonObject:
    """Return a stored CRD whose schema a create would reject."""
    return established_crd(version(schema=schema(field)))


@pytest.mark.parametrize("field", [SET, KEYED, UNPRUNED, {"type": "wrong"}])
def test_existing_error_allows_more_of_the_same_kind(field: JsonObject) -> None:
    old = crd_with_invalid_schema(field)
    two = {"type": "object", "properties": {"a": field, "b": field}}
    assert update_errors(with_spec(old, versions=[version(schema=two)]), old) == []


@pytest.mark.parametrize("field", [SET, KEYED, UNPRUNED, {"type": "wrong"}])
def test_new_errors_are_rejected(field: JsonObject) -> None:
    old = established_crd()
    assert len(update_errors(with_spec(old, versions=[version(schema=schema(field))]), old)) == 1


def test_missing_schema_is_ratcheted_while_unknown_fields_are_preserved() -> None:
    old = v1beta1_crd()
    assert update_errors(with_spec(old, names={**old["spec"]["names"], "shortNames": ["t"]}), old) == []
    assert update_errors(with_spec(old, preserveUnknownFields=False), old) == [
        "spec.versions[0].schema.openAPIV3Schema: Required value: because otherwise all fields are pruned"
    ]


def test_non_structural_schema_is_ratcheted_until_pruning_is_enabled() -> None:
    old = v1beta1_crd(validation={"openAPIV3Schema": {"properties": {"a": {}}}})
    assert update_errors(with_spec(old, versions=[version(schema={"properties": {"b": {}}})]), old) == []
    assert update_errors(with_spec(old, preserveUnknownFields=False), old) == [
        "spec.validation.openAPIV3Schema.properties[a].type: Required value: "
        "must not be empty for specified object fields",
        "spec.validation.openAPIV3Schema.type: Required value: must not be empty at the root",
    ]


def test_extension_requires_structural_schema() -> None:
    old = v1beta1_crd(validation={"openAPIV3Schema": {"properties": {"a": {}}}})
    new = with_spec(old, versions=[version(schema={"properties": {"a": {"x-kubernetes-int-or-string": True}}})])
    assert update_errors(new, old) == [
        "spec.validation.openAPIV3Schema.type: Required value: must not be empty at the root"
    ]


def webhook(**more: Any) -> JsonObject:
    client = {"url": "https://example.com", **({"caBundle": more.pop("bundle")} if "bundle" in more else {})}
    return {"strategy": "Webhook", "webhook": {"clientConfig": client, "conversionReviewVersions": ["v1"], **more}}


def test_unsupported_review_versions_are_ratcheted() -> None:
    old = established_crd(conversion=webhook(conversionReviewVersions=["v9"]))
    assert update_errors(with_spec(old, conversion=webhook(conversionReviewVersions=["v8"])), old) == []
    old = established_crd(conversion=webhook())
    assert update_errors(with_spec(old, conversion=webhook(conversionReviewVersions=["v8"])), old) == [
        'spec.conversion.conversionReviewVersions: Invalid value: ["v8"]: must include at least one of v1, v1beta1'
    ]


def test_invalid_ca_bundle_is_rejected_once_established() -> None:
    old = established_crd(conversion=webhook())
    (text,) = update_errors(with_spec(old, conversion=webhook(bundle="bm90IGEgY2VydGlmaWNhdGU=")), old)
    assert text == (
        'spec.conversion.webhookClientConfig.caBundle: Invalid value: "bm90IGEgY2VydGlmaWNhdGU=": '
        "unable to load root certificates: unable to parse bytes as PEM block"
    )
    never = established_crd(conversion=webhook(bundle="bm90"))
    assert update_errors(with_spec(never, conversion=webhook(bundle="bm90aGluZw==")), never) == []


def test_unchanged_excess_selectable_fields_are_ratcheted() -> None:
    names = [f"f{index}" for index in range(10)]
    properties: JsonObject = {"type": "object", "properties": {name: {"type": "string"} for name in names}}

    def having(count: int) -> JsonObject:
        return version(schema=properties, selectableFields=[{"jsonPath": f".{name}"} for name in names[:count]])

    old = established_crd(having(10))
    assert update_errors(with_spec(old, versions=[having(10)], scope="Namespaced"), old) == []
    assert update_errors(with_spec(old, versions=[having(9)]), old) == [
        "spec.selectableFields: Too many: 9: must have at most 8 items"
    ]


def test_v1beta1_update_allows_defaults_only_if_old_crd_has_some() -> None:
    default = schema({"type": "string", "default": "x"})
    old = established_crd()
    assert update_errors(with_spec(old, versions=[version(schema=default)]), old, "v1beta1") == [
        "spec.validation.openAPIV3Schema.properties[a].default: Forbidden: must not be set "
        "(cannot set default values in apiextensions.k8s.io/v1beta1 CRDs, must use apiextensions.k8s.io/v1)"
    ]
    old = established_crd(version(schema=default))
    assert update_errors(with_spec(old), old, "v1beta1") == []
