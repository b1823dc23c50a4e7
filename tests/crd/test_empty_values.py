"""Empty values: validation sees them, the stored CRD does not have them."""

from __future__ import annotations

import pytest

from polykind import crd
from polykind.apis.apiextensions import crd_codec
from polykind.contract import JsonObject
from polykind.crd.empty_values import drop_empty_from_schema, drop_empty_values, equal_settings, equal_specs
from tests.crd.build import crd_body, created_crd, established_crd, schema_errors, version


def test_empty_values_are_not_stored() -> None:
    schema: JsonObject = {
        "type": "object",
        "required": [],
        "properties": {"required": {"type": "string", "enum": []}, "l": {"type": "array", "items": {"anyOf": []}}},
        "oneOf": [{"properties": {}}],
        "default": {"properties": {}, "enum": []},
        "not": {},
    }
    assert drop_empty_from_schema(schema) == {
        "type": "object",
        "properties": {"required": {"type": "string"}, "l": {"type": "array", "items": {}}},
        "oneOf": [{}],
        "default": {"properties": {}, "enum": []},
        "not": {},
    }


def test_empty_items_are_not_stored() -> None:
    assert drop_empty_from_schema({"type": "array", "items": False}) == {"type": "array"}
    assert drop_empty_from_schema({"type": "array", "items": []}) == {"type": "array"}
    assert drop_empty_from_schema({"type": "array", "items": {}}) == {"type": "array", "items": {}}


def test_crd_without_empty_values_is_returned_itself() -> None:
    kept = crd_codec.decode(crd_body(), "v1", False)[0]
    assert drop_empty_values(kept) is kept


def test_empty_columns_and_selectable_fields_are_dropped() -> None:
    asked = crd_body({**version(), "additionalPrinterColumns": [], "selectableFields": []})
    kept = drop_empty_values(crd_codec.decode(asked, "v1", False)[0])
    assert kept["spec"]["versions"][0].keys() == {"name", "served", "storage", "schema"}


def test_equal_settings_become_that_of_the_first_version() -> None:
    stating = version("v2", {"type": "object", "required": []}, additionalPrinterColumns=[])
    first, second = crd_codec.decode(crd_body(version(), stating), "v1", False)[0]["spec"]["versions"]
    assert second.keys() == first.keys()
    assert second["schema"] == {"openAPIV3Schema": {"type": "object"}}


def test_empty_equals_absent_except_for_items() -> None:
    assert equal_settings({"openAPIV3Schema": {"required": []}}, {"openAPIV3Schema": {}})
    assert equal_settings([], None)
    assert not equal_settings({"openAPIV3Schema": {"items": False}}, {"openAPIV3Schema": {}})
    assert not equal_settings({"openAPIV3Schema": {"default": []}}, {"openAPIV3Schema": {}})
    assert equal_specs({"versions": [{"selectableFields": []}]}, {"versions": [{}]})
    assert not equal_specs({"versions": [{"served": 1}]}, {"versions": [{"served": True}]})


METADATA = "must not specify anything other than name and generateName, but metadata is implicitly specified"


@pytest.mark.parametrize(
    ("stated", "refused"),
    [({"required": []}, True), ({"x-kubernetes-validations": []}, True), ({"enum": []}, False), ({"items": 5}, False)],
)
def test_root_metadata_may_not_have_empty_required(stated: JsonObject, refused: bool) -> None:
    found = schema_errors({"type": "object", "properties": {"metadata": {"type": "object", **stated}}})
    assert found == ([f"S.properties[metadata]: Forbidden: {METADATA}"] if refused else [])


@pytest.mark.parametrize(("stated", "spelled"), [({"required": []}, False), ({"enum": []}, True)])
def test_int_or_string_clauses_ignore_some_empty_values(stated: JsonObject, spelled: bool) -> None:
    clauses = [{"type": "integer", **stated}, {"type": "string"}]
    field = {"x-kubernetes-int-or-string": True, "anyOf": clauses}
    assert (schema_errors({"type": "object", "properties": {"a": field}}) == []) is spelled


def test_root_with_status_rejects_empty_enum() -> None:
    [found] = schema_errors({"type": "object", "enum": []}, subresources={"status": {}})
    assert '"Enum":[],' in found


def test_map_list_needs_a_single_item_schema() -> None:
    keyed = {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": 5}
    detail = "must only have a single schema if x-kubernetes-list-type is map"
    assert schema_errors({"type": "object", "properties": {"a": keyed}}) == [
        "S.properties[a].items: Required value: must be specified",
        f'S.properties[a].items: Invalid value: {{"Schema":null,"JSONSchemas":null}}: {detail}',
    ]


def test_added_empty_values_do_not_change_the_generation() -> None:
    old = established_crd()
    new = crd.prepare_update(created_crd(version(schema={"type": "object", "required": []})), old)
    assert new["metadata"]["generation"] == old["metadata"]["generation"]
