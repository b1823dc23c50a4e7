from __future__ import annotations

from typing import Any

import pytest

from polykind.contract import JsonObject
from polykind.crd.cel_rules import RuleCheckRequest
from polykind.crd.validation_defaults import has_unpruned_defaults, validate_defaults
from polykind.errors import FieldError, invalid
from tests.crd.build import schema_errors


def field(**schema: Any) -> JsonObject:
    return {"type": "object", "properties": {"a": schema}}


def embedded(metadata: JsonObject) -> JsonObject:
    properties = {"metadata": {"type": "object", **metadata}}
    return {
        "type": "object",
        "properties": {
            "e": {
                "type": "object",
                "x-kubernetes-embedded-resource": True,
                "x-kubernetes-preserve-unknown-fields": True,
                "properties": properties,
            }
        },
    }


@pytest.mark.parametrize(
    ("schema", "texts"),
    [
        (field(type="string", default="x"), []),
        (
            field(type="string", default=1),
            ['S.properties[a].default: Invalid value: "integer":  in body must be of type string: "integer"'],
        ),
        (
            field(type="array", items={"type": "string"}, default=["x", 1]),
            ['S.properties[a].default.[1]: Invalid value: "integer": [1] in body must be of type string: "integer"'],
        ),
        (
            field(type="object", properties={"b": {"type": "string"}}, default={"b": "x", "c": "y"}),
            ['S.properties[a].default: Invalid value: {"b":"x","c":"y"}: must not have unknown fields'],
        ),
        (
            field(type="object", properties={"b": {"type": "string", "default": "x"}}, required=["b"], default={}),
            ["S.properties[a].default.b: Required value"],
        ),
        (
            field(type="integer", format="double", default=1.5),
            [
                'S.properties[a].default: Invalid value: "float64":  in body must be of type double: "float64"',
                'S.properties[a].default: Invalid value: "": '
                "Checked value must be of type integer (default format) in ",
            ],
        ),
        (
            field(type="array", items={"type": "string", "maxLength": 2, "default": "xxx"}),
            ["S.properties[a].items.default: Too long: may not be more than 2 bytes"],
        ),
        (field(type="object", additionalProperties={"type": "string", "default": 1}), []),
        (embedded({"properties": {"name": {"type": "string", "default": "x"}}}), []),
        (
            embedded(
                {"properties": {"finalizers": {"type": "array", "items": {"type": "string"}, "default": ["bad one"]}}}
            ),
            [
                'S.properties[e].properties[metadata].properties[finalizers].default: Invalid value: ["bad one"]: '
                'must result in valid metadata: metadata.finalizers: Invalid value: "bad one": name part must '
                "consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
                "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
                "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
            ],
        ),
    ],
)
def test_defaults(schema: JsonObject, texts: list[str]) -> None:
    assert schema_errors(schema) == texts


@pytest.mark.parametrize(
    ("inner", "value", "wrong"),
    [
        ({"x-kubernetes-int-or-string": True}, True, False),
        ({"type": "boolean", "x-kubernetes-int-or-string": True}, "x", True),
        ({"type": "boolean", "x-kubernetes-int-or-string": True}, True, False),
    ],
)
def test_default_is_validated_with_types_as_written(inner: JsonObject, value: Any, wrong: bool) -> None:
    found = schema_errors(field(type="object", properties={"b": inner}, default={"b": value}))
    assert bool(found) is wrong


class _Rules:
    """A rule checker that rejects every default."""

    def check(self, request: RuleCheckRequest) -> list[FieldError]:
        return []

    def check_default(self, schema: JsonObject, value: Any, path: str, *, root: bool) -> list[FieldError]:
        return [invalid(path, None, "broken")]


@pytest.mark.parametrize(
    ("default", "texts"),
    [
        ({"b": "x", "c": "y"}, ["must not have unknown fields", "broken"]),
        ({"b": 1, "c": "y"}, ["must not have unknown fields", 'b in body must be of type string: "integer"']),
        ({"b": "x"}, ["broken"]),
    ],
)
def test_rules_check_valid_defaults_with_or_without_unknown_fields(default: JsonObject, texts: list[str]) -> None:
    ruled = {"x-kubernetes-validations": [{"rule": "false"}]}
    schema = field(type="object", properties={"b": {"type": "string"}}, default=default, **ruled)
    found = validate_defaults(schema, "S", pruned=True, rules=_Rules())
    assert [error.detail for error in found] == texts


def test_metadata_in_defaults_is_coerced() -> None:
    default = {"apiVersion": "v1", "kind": "Foo", "metadata": {"name": "x", "odd": 1, "labels": {}}}
    schema = field(
        type="object",
        default=default,
        **{"x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True},
    )
    assert validate_defaults(schema, "S", pruned=True) == []
    assert default["metadata"] == {"name": "x"}


def test_has_unpruned_defaults() -> None:
    inner = {"type": "object", "properties": {"b": {"type": "string"}}}
    assert has_unpruned_defaults(field(**inner, default={"c": 1}))
    assert not has_unpruned_defaults(field(**inner, default={"b": "x"}))
    assert not has_unpruned_defaults(field(**inner))
