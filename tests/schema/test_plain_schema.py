"""A plain schema is one that decoding leaves unchanged and that no check rejects, except the check of defaults."""

from __future__ import annotations

import random
from typing import Any

import pytest

from polykind.apis.apiextensions.crd_codec import decode as decode_crd
from polykind.apis.apiextensions.types import CUSTOM_RESOURCE_DEFINITION_V1
from polykind.apis.machinery import decode, json_schema_types
from polykind.contract import JsonObject, copy_json
from polykind.crd import validate_create
from polykind.crd.empty_values import drop_empty_from_schema
from polykind.crd.structural import structural_violations, unsupported_reason
from polykind.crd.validation_schema import SchemaStrictness, SchemaValidator
from polykind.golang.json import NumberLiteral
from polykind.schema.plain_schema import decode_plain, is_plain, is_plain_root
from tests.support.widgets import definition

STRING: JsonObject = {"type": "string"}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "default": "", "enum": ["", "a"], "format": "byte", "minLength": 0, "maxLength": 3},
        {"type": "integer", "default": 0, "minimum": -1, "maximum": 2, "enum": [0, 1], "nullable": True},
        {"type": "number", "minimum": 0},
        {"type": "boolean", "default": False, "description": "On or off."},
        {"type": "array", "items": {"type": "array", "items": STRING}, "minItems": 1},
        {"type": "object", "properties": {"a": STRING}, "required": ["a"]},
        {"type": "object", "additionalProperties": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
    ],
)
def test_plain(schema: JsonObject) -> None:
    assert is_plain(schema)


@pytest.mark.parametrize(
    "schema",
    [
        {},
        [],
        None,
        {"type": "null"},
        {"type": ["string"]},
        {"type": "string", "default": 1},
        {"type": "string", "default": None},
        {"type": "string", "description": ""},
        {"type": "string", "enum": []},
        {"type": "string", "pattern": "("},
        {"type": "string", "unknown": 1},
        {"type": "string", "nullable": False},
        {"type": "string", "nullable": 1},
        {"type": "integer", "default": True},
        {"type": "integer", "minimum": 1.0},
        {"type": "integer", "minimum": NumberLiteral("1.5")},
        {"type": "integer", "maximum": 2**53 + 1},
        {"type": "array"},
        {"type": "array", "items": [STRING]},
        {"type": "array", "items": STRING, "uniqueItems": True},
        {"type": "array", "items": STRING, "x-kubernetes-list-type": "set"},
        {"type": "object", "properties": {}},
        {"type": "object", "properties": {"a": {}}},
        {"type": "object", "properties": {"a": STRING}, "additionalProperties": STRING},
        {"type": "object", "default": {}},
        {"type": "object", "x-kubernetes-preserve-unknown-fields": False},
        {"type": "object", "x-kubernetes-validations": [{"rule": "true"}]},
        {"type": "object", "anyOf": [{"required": ["a"]}]},
        {"type": "\ud800"},
        {"type": "object", "\ud800": 1},
        {"type": "object", "properties": {"a": {"type": "\ud800", "properties": None}}},
    ],
)
def test_not_plain(schema: Any) -> None:
    assert not is_plain(schema)


def test_deep_schema_is_not_plain() -> None:
    schema: JsonObject = STRING
    for _ in range(12):
        schema = {"type": "array", "items": schema}
    assert is_plain(schema)
    assert not is_plain({"type": "array", "items": schema})


@pytest.mark.parametrize(
    "schema",
    [
        STRING,
        {"type": "object", "additionalProperties": STRING},
        {"type": "object", "properties": {"metadata": {"type": "object", "description": "It."}}},
        {"type": "object", "properties": {"metadata": STRING}},
        {"type": "object", "properties": {"kind": {"type": "integer"}}},
        {"type": "object", "properties": {"apiVersion": {"type": "string", "default": "v1"}}},
    ],
)
def test_not_plain_at_the_root(schema: JsonObject) -> None:
    assert is_plain(schema)
    assert not is_plain_root(schema)


def random_schema(source: random.Random, depth: int) -> JsonObject:
    kind = source.choice(
        ("string", "integer", "number", "boolean", "array", "object") if depth else ("string", "integer")
    )
    schema: JsonObject = {"type": kind, **source.choice(({}, {"description": "It."}, {"nullable": True}))}
    if kind == "string":
        schema |= source.choice(
            ({}, {"maxLength": 0}, {"enum": ["a", ""]}, {"format": "date", "default": "2020-01-01"})
        )
    elif kind in ("integer", "number"):
        schema |= source.choice(({}, {"minimum": 0, "default": 0}, {"enum": [1, 2]}, {"maximum": -3}))
    elif kind == "array":
        schema |= {"items": random_schema(source, depth - 1), **source.choice(({}, {"maxItems": 0}))}
    elif kind == "object":
        names = source.sample(("metadata", "kind", "name", "b", "a"), source.randint(0, 4))
        if names:
            schema["properties"] = {name: random_schema(source, depth - 1) for name in names}
            schema |= source.choice(({}, {"required": ["b"]}, {"x-kubernetes-preserve-unknown-fields": True}))
        else:
            schema |= source.choice(({}, {"additionalProperties": random_schema(source, depth - 1)}))
    return schema


def with_key_order(schema: Any) -> Any:
    """Return a schema with its properties as lists of pairs, so that a comparison regards their order."""
    if isinstance(schema, list):
        return [with_key_order(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: [(name, with_key_order(child)) for name, child in value.items()]
        if key == "properties"
        else with_key_order(value)
        for key, value in schema.items()
    }


def test_decoding_and_checks_accept_plain_schemas_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_schema_types, "decode_plain", lambda schema: None)
    source = random.Random(1)
    roots = 0
    for _ in range(300):
        schema = random_schema(source, 4)
        assert is_plain(schema)
        body = {"spec": {"versions": [{"name": "v1", "schema": {"openAPIV3Schema": schema}}]}}
        decoded, unknown = decode(copy_json(body), CUSTOM_RESOURCE_DEFINITION_V1, report=True)
        expected = decoded["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
        assert expected == schema
        assert with_key_order(decode_plain(schema)) == with_key_order(expected)
        assert unknown == []
        assert drop_empty_from_schema(schema) is schema
        if is_plain_root(schema):
            roots += 1
            assert unsupported_reason(schema) is None
            assert structural_violations(schema, "") == []
            validator = SchemaValidator(SchemaStrictness(None, True, True, True), rules=True)
            validator.validate(schema, "")
            assert validator.errors == []
            assert validator.locations == []
    assert roots > 10


def test_invalid_default_of_a_plain_schema_is_an_error() -> None:
    crd = definition()
    schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    cases = {
        "a": {"type": "string", "default": "abc", "maxLength": 2},
        "b": {"type": "string", "default": "", "minLength": 1},
        "c": {"type": "string", "default": "x", "enum": ["y"]},
        "d": {"type": "integer", "default": 3, "maximum": 2},
        "e": {"type": "integer", "default": 1, "minimum": 2},
        "f": {"type": "integer", "default": 1, "enum": [2]},
        "g": {"type": "string", "default": "x", "format": "date"},
    }
    schema.clear()
    schema |= {"type": "object", "properties": {"spec": {"type": "object", "properties": cases}}}
    assert is_plain_root(schema)
    crd["metadata"]["uid"] = "1"
    decoded, _ = decode_crd(crd, "v1", True)
    decoded["status"]["storedVersions"] = ["v1"]
    errors = validate_create(decoded)
    paths = {str(error).split(":")[0].rpartition("properties[")[2] for error in errors if ".default" in str(error)}
    assert paths == {f"{name}].default" for name in cases}
