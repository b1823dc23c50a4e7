from __future__ import annotations

import pytest

from polykind.contract import JsonObject
from polykind.crd.structural import is_structural, structural_violations, unsupported_reason
from tests.crd.build import schema_errors


def field(schema: JsonObject) -> JsonObject:
    return {"type": "object", "properties": {"a": schema}}


METADATA = "must not specify anything other than name and generateName, but metadata is implicitly specified"
EMPTY = "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields"


@pytest.mark.parametrize(
    ("schema", "texts"),
    [
        ({}, ["S.type: Required value: must not be empty at the root"]),
        ({"type": "string"}, ['S.type: Invalid value: "string": must be object at the root']),
        (field({}), ["S.properties[a].type: Required value: must not be empty for specified object fields"]),
        (
            field({"type": "array", "items": {}}),
            ["S.properties[a].items.type: Required value: must not be empty for specified array items"],
        ),
        (field({"type": "array"}), ["S.properties[a].items: Required value: must be specified"]),
        (field({"x-kubernetes-int-or-string": True}), []),
        (field({"x-kubernetes-preserve-unknown-fields": True}), []),
        (
            {"type": "object", "additionalProperties": {"type": "string"}},
            ["S.additionalProperties: Forbidden: must not be used at the root"],
        ),
        (
            field({"type": "object", "x-kubernetes-embedded-resource": True}),
            [f"S.properties[a].properties: Required value: {EMPTY}"],
        ),
        (
            field(
                {"type": "string", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}
            ),
            ['S.properties[a].type: Invalid value: "string": must be object if x-kubernetes-embedded-resource is true'],
        ),
        (
            field({"x-kubernetes-int-or-string": True, "x-kubernetes-preserve-unknown-fields": True}),
            [
                "S.properties[a].x-kubernetes-preserve-unknown-fields: Invalid value: true: "
                "must be false if x-kubernetes-int-or-string is true"
            ],
        ),
        (
            {"type": "object", "properties": {"kind": {"type": "integer"}}},
            ['S.properties[kind].type: Invalid value: "integer": must be string'],
        ),
        (
            {"type": "object", "properties": {"metadata": {"type": "string"}}},
            ['S.properties[metadata].type: Invalid value: "string": must be object'],
        ),
        (
            {"type": "object", "properties": {"metadata": {"type": "object", "description": "x"}}},
            [f"S.properties[metadata]: Forbidden: {METADATA}"],
        ),
        (
            {
                "type": "object",
                "properties": {"metadata": {"type": "object", "properties": {"labels": {"type": "object"}}}},
            },
            [f"S.properties[metadata]: Forbidden: {METADATA}"],
        ),
        (
            {
                "type": "object",
                "properties": {
                    "metadata": {"type": "object", "properties": {"name": {"type": "string", "pattern": "x"}}}
                },
            },
            [],
        ),
        (
            field({"type": "string", "pattern": "("}),
            [
                'S.properties[a].pattern: Invalid value: "(": must be a valid regular expression, but isn\'t: '
                "error parsing regexp: missing closing ): `(`"
            ],
        ),
    ],
)
def test_violations_outside_of_clauses(schema: JsonObject, texts: list[str]) -> None:
    assert schema_errors(schema) == texts


@pytest.mark.parametrize(
    ("clause", "text"),
    [
        ({"type": "string"}, "type: Forbidden: must be empty to be structural"),
        ({"title": "x"}, "title: Forbidden: must be empty to be structural"),
        ({"description": "x"}, "description: Forbidden: must be empty to be structural"),
        ({"nullable": True}, "nullable: Forbidden: must be false to be structural"),
        ({"default": 1}, "default: Forbidden: must be undefined to be structural"),
        ({"additionalProperties": {}}, "additionalProperties: Forbidden: must be undefined to be structural"),
        ({"additionalProperties": True}, "additionalProperties: Forbidden: must be undefined to be structural"),
        (
            {"x-kubernetes-preserve-unknown-fields": True},
            "x-kubernetes-preserve-unknown-fields: Forbidden: must be false to be structural",
        ),
        (
            {"x-kubernetes-embedded-resource": True},
            "x-kubernetes-embedded-resource: Forbidden: must be false to be structural",
        ),
        ({"x-kubernetes-int-or-string": True}, "x-kubernetes-int-or-string: Forbidden: must be false to be structural"),
        ({"x-kubernetes-list-type": "set"}, "x-kubernetes-list-type: Forbidden: must be undefined to be structural"),
        ({"x-kubernetes-map-type": "atomic"}, "x-kubernetes-map-type: Forbidden: must be undefined to be structural"),
        (
            {"x-kubernetes-list-map-keys": ["a"]},
            "x-kubernetes-list-map-keys: Forbidden: must be empty to be structural",
        ),
        (
            {"x-kubernetes-validations": [{"rule": "true"}]},
            "x-kubernetes-validations: Forbidden: must be empty to be structural",
        ),
    ],
)
@pytest.mark.parametrize("junctor", ["allOf", "anyOf", "oneOf", "not"])
def test_violations_inside_of_clauses(clause: JsonObject, text: str, junctor: str) -> None:
    inside = clause if junctor == "not" else [clause]
    found = structural_violations(field({"type": "object", junctor: inside}), "S")
    index = "" if junctor == "not" else "[0]"
    assert [str(error) for error in found] == [f"S.properties[a].{junctor}{index}.{text}"]


def test_clauses_may_not_specify_metadata() -> None:
    found = structural_violations({"type": "object", "anyOf": [{"properties": {"metadata": {}}}]}, "S")
    assert [str(error) for error in found] == [
        "S.anyOf[0].properties[metadata]: Forbidden: must not be specified in a nested context",
        "S.properties[metadata]: Required value: because it is defined in S.anyOf[0].properties[metadata]",
    ]


def test_int_or_string_may_be_written_as_clauses() -> None:
    either: list[JsonObject] = [{"type": "integer"}, {"type": "string"}]
    assert structural_violations(field({"x-kubernetes-int-or-string": True, "anyOf": either}), "S") == []
    assert (
        structural_violations(
            field({"x-kubernetes-int-or-string": True, "allOf": [{"anyOf": either}, {"minimum": 1}]}), "S"
        )
        == []
    )
    closed: list[JsonObject] = [{"type": "integer", "additionalProperties": False}, {"type": "string"}]
    assert structural_violations(field({"x-kubernetes-int-or-string": True, "anyOf": closed}), "S") == []
    assert len(structural_violations(field({"x-kubernetes-int-or-string": True, "anyOf": either[::-1]}), "S")) == 2
    assert (
        len(structural_violations(field({"x-kubernetes-int-or-string": True, "allOf": [{}, {"anyOf": either}]}), "S"))
        == 2
    )


def test_fields_of_root_clauses_must_be_specified() -> None:
    schema = {
        "type": "object",
        "properties": {"l": {"type": "array", "items": {"type": "object"}}},
        "not": {"properties": {"b": {}}},
        "allOf": [{"properties": {"l": {"items": {"properties": {"z": {}}}}}}],
    }
    assert [str(error) for error in structural_violations(schema, "S")] == [
        "S.properties[b]: Required value: because it is defined in S.not.properties[b]",
        "S.properties[l].items.properties[z]: Required value: because it is defined in "
        "S.allOf[0].properties[l].items.properties[z]",
    ]


def test_fields_of_nested_clauses_need_not_be_specified() -> None:
    assert (
        structural_violations(field({"type": "object", "anyOf": [{"properties": {"b": {"minLength": 1}}}]}), "S") == []
    )


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ({"$schema": "x"}, "OpenAPIV3Schema 'schema' is not supported"),
        ({"properties": {"a": {"$ref": "x"}}}, "OpenAPIV3Schema '$ref' is not supported"),
        ({"allOf": [{"items": {"id": "x"}}]}, "OpenAPIV3Schema 'id' is not supported"),
        ({"items": [{}]}, "OpenAPIV3Schema 'items' must be a schema, but is an array"),
        (
            {"additionalProperties": {"x-kubernetes-preserve-unknown-fields": False}},
            "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined",
        ),
        ({"type": "object"}, None),
    ],
)
def test_unsupported_keywords(schema: JsonObject, why: str | None) -> None:
    assert unsupported_reason(schema) == why


@pytest.mark.parametrize(
    ("schema", "structural"),
    [
        ({"type": "object", "properties": {"a": {"type": "string"}}}, True),
        ({"type": "object", "properties": {"a": {}}}, False),
        ({"type": "object", "properties": {"a": {"type": "text"}}}, False),
        ({"type": "object", "definitions": {"a": {"type": "string"}}}, False),
    ],
)
def test_is_structural(schema: JsonObject, structural: bool) -> None:
    assert is_structural(schema) is structural


def test_unsupported_schema_is_reported_if_there_are_no_other_errors() -> None:
    assert schema_errors({"type": "object", "$schema": "x"}) == [
        "S: Invalid value: \"\": OpenAPIV3Schema 'schema' is not supported"
    ]
    assert schema_errors({"type": "object", "id": "x"}) == ["S.id: Forbidden: id is not supported"]
