"""What is stated and empty counts for the rules, and is gone from the store."""

from __future__ import annotations

import pytest

from polykind import crd
from polykind.contract import JsonObject
from polykind.crd.empty_values import drop_empty_from_schema, drop_empty_values, equal_settings, equal_specs
from tests.crd.build import body, made, schema_problems, settled, version


def test_what_is_empty_does_not_outlive_the_store() -> None:
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


def test_items_that_are_neither_a_schema_nor_a_list_do_not_outlive_the_store() -> None:
    assert drop_empty_from_schema({"type": "array", "items": False}) == {"type": "array"}
    assert drop_empty_from_schema({"type": "array", "items": []}) == {"type": "array"}
    assert drop_empty_from_schema({"type": "array", "items": {}}) == {"type": "array", "items": {}}


def test_where_nothing_is_empty_nothing_is_copied() -> None:
    kept = crd.decode(body(), "v1", False)[0]
    assert drop_empty_values(kept) is kept


def test_columns_and_selectable_fields_go_as_well() -> None:
    asked = body({**version(), "additionalPrinterColumns": [], "selectableFields": []})
    kept = drop_empty_values(crd.decode(asked, "v1", False)[0])
    assert kept["spec"]["versions"][0].keys() == {"name", "served", "storage", "schema"}


def test_versions_that_are_alike_state_what_the_first_states() -> None:
    stating = version("v2", {"type": "object", "required": []}, additionalPrinterColumns=[])
    first, second = crd.decode(body(version(), stating), "v1", False)[0]["spec"]["versions"]
    assert second.keys() == first.keys()
    assert second["schema"] == {"openAPIV3Schema": {"type": "object"}}


def test_empty_and_absent_are_alike_but_items_are_not() -> None:
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
def test_metadata_at_the_root_may_not_even_require_nothing(stated: JsonObject, refused: bool) -> None:
    found = schema_problems({"type": "object", "properties": {"metadata": {"type": "object", **stated}}})
    assert found == ([f"S.properties[metadata]: Forbidden: {METADATA}"] if refused else [])


@pytest.mark.parametrize(("stated", "spelled"), [({"required": []}, False), ({"enum": []}, True)])
def test_integer_or_string_is_spelled_exactly(stated: JsonObject, spelled: bool) -> None:
    clauses = [{"type": "integer", **stated}, {"type": "string"}]
    field = {"x-kubernetes-int-or-string": True, "anyOf": clauses}
    assert (schema_problems({"type": "object", "properties": {"a": field}}) == []) is spelled


def test_the_root_beside_a_status_may_not_even_list_no_values() -> None:
    [found] = schema_problems({"type": "object", "enum": []}, subresources={"status": {}})
    assert '"Enum":[],' in found


def test_a_keyed_list_has_one_schema() -> None:
    keyed = {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": 5}
    detail = "must only have a single schema if x-kubernetes-list-type is map"
    assert schema_problems({"type": "object", "properties": {"a": keyed}}) == [
        "S.properties[a].items: Required value: must be specified",
        f'S.properties[a].items: Invalid value: {{"Schema":null,"JSONSchemas":null}}: {detail}',
    ]


def test_to_state_what_is_empty_is_no_change_of_the_spec() -> None:
    old = settled()
    new = crd.prepare_update(made(version(schema={"type": "object", "required": []})), old)
    assert new["metadata"]["generation"] == old["metadata"]["generation"]
