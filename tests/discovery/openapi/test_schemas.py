from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polykind.discovery.openapi.schemas import V2, V3, encode, kind_schema, model_name

INT_OR_STRING = [{"type": "integer"}, {"type": "string"}]
STRING = {"type": "string"}


def published(field: dict[str, Any], *, v2: bool = False, **more: Any) -> Any:
    """Return the published schema of one field."""
    schema = {"type": "object", "properties": {"spec": field}, **more}
    return kind_schema(schema, V2 if v2 else V3)["properties"]["spec"]


@pytest.mark.parametrize(
    ("field", "v3", "v2"),
    [
        (STRING, STRING, STRING),
        (
            {"x-kubernetes-int-or-string": True},
            {"anyOf": INT_OR_STRING, "x-kubernetes-int-or-string": True},
            {"x-kubernetes-int-or-string": True},
        ),
        (
            {"x-kubernetes-int-or-string": True, "anyOf": INT_OR_STRING, "pattern": "x"},
            {"pattern": "x", "anyOf": INT_OR_STRING, "x-kubernetes-int-or-string": True},
            {"pattern": "x", "x-kubernetes-int-or-string": True},
        ),
        (
            {"x-kubernetes-int-or-string": True, "anyOf": [{"minLength": 1}]},
            {"allOf": [{"anyOf": INT_OR_STRING}], "anyOf": [{"minLength": 1}], "x-kubernetes-int-or-string": True},
            {"x-kubernetes-int-or-string": True},
        ),
        (
            {"type": "object", "nullable": True, "properties": {"a": STRING}},
            {"type": "object", "nullable": True, "properties": {"a": STRING}},
            {},
        ),
        (
            {"type": "array", "items": STRING, "nullable": True, "default": None},
            {"type": "array", "nullable": True, "items": STRING},
            {},
        ),
        (
            {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "properties": {"a": STRING}},
            {"type": "object", "properties": {"a": STRING}, "x-kubernetes-preserve-unknown-fields": True},
            {"x-kubernetes-preserve-unknown-fields": True},
        ),
        (
            {
                "type": "object",
                "oneOf": [{"required": ["a"]}],
                "not": {"required": ["b"]},
                "allOf": [{"minProperties": 1}],
            },
            {
                "type": "object",
                "allOf": [{"minProperties": 1}],
                "oneOf": [{"required": ["a"]}],
                "not": {"required": ["b"]},
            },
            {"type": "object"},
        ),
        (
            {"type": "object", "required": ["a", "b"], "properties": {"a": {**STRING, "nullable": True}, "b": STRING}},
            {"type": "object", "required": ["a", "b"], "properties": {"a": {**STRING, "nullable": True}, "b": STRING}},
            {"type": "object", "required": ["b"], "properties": {"a": {}, "b": STRING}},
        ),
        (
            {"type": "integer", "minimum": 0, "maximum": 9, "default": 0, "enum": [0, 9], "format": "int32"},
            {"type": "integer", "format": "int32", "default": 0, "maximum": 9, "minimum": 0, "enum": [0, 9]},
            {"type": "integer", "format": "int32", "maximum": 9, "minimum": 0, "enum": [0, 9]},
        ),
        (
            {"type": "object", "additionalProperties": {"type": "string", "description": "any"}},
            {"type": "object", "additionalProperties": {"description": "any", "type": "string"}},
            {"type": "object", "additionalProperties": {"description": "any", "type": "string"}},
        ),
        ({"type": "object", "additionalProperties": True},) * 3,
        (
            {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": STRING},
            {"type": "array", "items": STRING, "x-kubernetes-list-map-keys": ["k"], "x-kubernetes-list-type": "map"},
            {"type": "array", "items": STRING, "x-kubernetes-list-map-keys": ["k"], "x-kubernetes-list-type": "map"},
        ),
        (
            {"type": "string", "x-kubernetes-validations": [{"message": "m", "rule": "r", "fieldPath": ""}]},
            {"type": "string", "x-kubernetes-validations": [{"rule": "r", "message": "m"}]},
            {"type": "string", "x-kubernetes-validations": [{"message": "m", "rule": "r"}]},
        ),
    ],
)
def test_field(field: dict[str, Any], v3: dict[str, Any], v2: dict[str, Any]) -> None:
    assert json.dumps(published(field)) == json.dumps(v3)
    assert json.dumps(published(field, v2=True)) == json.dumps(v2)


def test_embedded_object_gets_the_object_properties() -> None:
    field = {"type": "object", "x-kubernetes-embedded-resource": True, "required": ["spec"]}
    published_schema = published(field)
    assert list(published_schema) == ["type", "required", "properties", "x-kubernetes-embedded-resource"]
    assert published_schema["required"] == ["spec", "kind", "apiVersion"]
    assert list(published_schema["properties"]) == ["apiVersion", "kind", "metadata"]
    anything = {**field, "x-kubernetes-preserve-unknown-fields": True}
    assert "properties" in published(anything)
    assert "properties" not in published(anything, v2=True)


def test_metadata_refers_to_its_model() -> None:
    ref = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
    v3 = kind_schema({"type": "object"}, V3)["properties"]["metadata"]
    assert v3["allOf"] == [{"$ref": f"#/components/schemas/{ref}"}]
    assert kind_schema({"type": "object"}, V2)["properties"]["metadata"]["$ref"] == f"#/definitions/{ref}"


def test_v2_objects_that_preserve_unknown_fields_have_no_properties() -> None:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    assert kind_schema(schema, V2) == {"type": "object"}
    assert kind_schema({"type": "object"}, V2, preserve=True) == {"type": "object"}
    assert "properties" in kind_schema(schema, V3)
    assert kind_schema(None, V3) == {"type": "object"}


def test_model_name() -> None:
    assert model_name("stable.example.com", "v1", "CronTab") == "com.example.stable.v1.CronTab"


@pytest.mark.parametrize("v2", [True, False])
def test_depth_is_bounded(v2: bool) -> None:
    schema: dict[str, Any] = {"type": "object"}
    value: Any = {}
    for _ in range(450):
        schema = {"type": "object", "properties": {"x": schema}}
        value = {"x": [value]}
    schema["properties"]["deep"] = {"type": "object", "default": value, "example": value}
    published_schema = kind_schema(schema, V2 if v2 else V3)
    assert published_schema["properties"]["deep"] == {"type": "object"}
    assert json.loads(encode(published_schema))


def test_lone_surrogates_can_be_encoded() -> None:
    assert json.loads(encode(published({"type": "string", "default": "\ud800"}))) == {
        "type": "string",
        "default": "\ud800",
    }


KEYS = st.sampled_from(["a", "b", "é"])
SCALARS = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["string", "integer", "object", "array"]),
        "description": st.text(max_size=3),
        "nullable": st.booleans(),
        "default": st.none() | st.integers() | st.text(max_size=2) | st.lists(st.booleans(), max_size=2),
        "minimum": st.integers(0, 3),
        "required": st.lists(KEYS, unique=True, max_size=2),
        "x-kubernetes-int-or-string": st.booleans(),
        "x-kubernetes-preserve-unknown-fields": st.just(True),
        "x-kubernetes-embedded-resource": st.just(True),
    },
)
SCHEMAS = st.recursive(
    SCALARS,
    lambda inner: st.builds(
        lambda own, more: own | more,
        SCALARS,
        st.fixed_dictionaries(
            {},
            optional={
                "properties": st.dictionaries(KEYS, inner, max_size=2),
                "items": inner,
                "additionalProperties": inner | st.booleans(),
                "anyOf": st.lists(inner, max_size=2),
                "allOf": st.lists(inner, max_size=2),
                "not": inner,
            },
        ),
    ),
    max_leaves=6,
)


@given(SCHEMAS)
def test_any_schema_is_published_without_being_modified(schema: dict[str, Any]) -> None:
    before = json.dumps(schema)
    for dialect in (V2, V3):
        assert encode(kind_schema(schema, dialect)) == encode(kind_schema(schema, dialect))
    assert json.dumps(schema) == before
    v2 = kind_schema(schema, V2)
    assert not any(word in json.dumps(v2) for word in ('"anyOf"', '"allOf"', '"not"', '"nullable"', '"default"'))
