from __future__ import annotations

from typing import Any

import pytest

from polykind import crd
from polykind.contract import JsonObject
from polykind.crd.cel_rules import RuleCheckRequest
from polykind.errors import FieldError, invalid
from tests.crd.build import created_crd, schema_errors, version


def field(**schema: Any) -> JsonObject:
    return {"type": "object", "properties": {"a": {key.replace("_", "-"): value for key, value in schema.items()}}}


def map_list(**item: Any) -> JsonObject:
    items = {"type": "object", "properties": {"k": {"type": "string"}}, "required": ["k"], **item}
    return field(type="array", items=items, x_kubernetes_list_type="map", x_kubernetes_list_map_keys=["k"])


@pytest.mark.parametrize(
    ("schema", "texts"),
    [
        (
            field(type="wrong"),
            [
                'S.properties[a].type: Unsupported value: "wrong": supported values: '
                '"array", "boolean", "integer", "number", "object", "string"'
            ],
        ),
        (
            field(type="null"),
            [
                'S.properties[a].type: Unsupported value: "null": supported values: '
                '"array", "boolean", "integer", "number", "object", "string"',
                "S.properties[a].type: Forbidden: type cannot be set to null, use nullable as an alternative",
            ],
        ),
        (
            field(type="object", definitions={"x": {}}),
            ["S.properties[a].definitions: Forbidden: definitions is not supported"],
        ),
        (
            field(type="array", items=[{"type": "string"}]),
            ["S.properties[a].items: Forbidden: items must be a schema object and not an array"],
        ),
        (
            field(type="array", items={"type": "string"}, uniqueItems=True),
            [
                "S.properties[a].uniqueItems: Forbidden: "
                "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
            ],
        ),
        (
            field(type="object", properties={"b": {"type": "string"}}, additionalProperties=False),
            [
                "S.properties[a].additionalProperties: Forbidden: "
                "additionalProperties and properties are mutual exclusive"
            ],
        ),
        (field(type="object", properties={"b": {"type": "string"}}, additionalProperties=True), []),
        (
            field(type="object", x_kubernetes_preserve_unknown_fields=False),
            ["S.properties[a].x-kubernetes-preserve-unknown-fields: Invalid value: false: must be true or undefined"],
        ),
        ({"type": "object", "nullable": True}, ["S.nullable: Forbidden: nullable cannot be true at the root"]),
        (
            field(type="string", x_kubernetes_map_type="deep"),
            [
                'S.properties[a].type: Invalid value: "string": must be object if x-kubernetes-map-type is specified',
                'S.properties[a].x-kubernetes-map-type: Unsupported value: "deep": '
                'supported values: "atomic", "granular"',
            ],
        ),
        (
            field(type="object", x_kubernetes_list_type="bag"),
            [
                'S.properties[a].type: Invalid value: "object": must be array if x-kubernetes-list-type is specified',
                'S.properties[a].x-kubernetes-list-type: Unsupported value: "bag": '
                'supported values: "atomic", "set", "map"',
            ],
        ),
        (
            field(type="array", items={"type": "object"}, x_kubernetes_list_type="set"),
            [
                "S.properties[a].items.x-kubernetes-map-type: Invalid value: null: "
                "must be atomic as item of a list with x-kubernetes-list-type=set"
            ],
        ),
        (map_list(), []),
        (
            map_list(nullable=True, required=[]),
            [
                "S.properties[a].items.nullable: Forbidden: cannot be nullable when x-kubernetes-list-type is map",
                "S.properties[a].items.properties[k].default: Required value: "
                "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property",
            ],
        ),
        (
            map_list(properties={"k": {"type": "array", "items": {"type": "string"}, "nullable": True}}),
            [
                'S.properties[a].items.properties[k].type: Invalid value: "object": '
                "must be a scalar type if parent array's x-kubernetes-list-type is map",
                "S.properties[a].items.properties[k].nullable: Forbidden: "
                "this property is in x-kubernetes-list-map-keys, so it cannot be nullable",
            ],
        ),
        (
            map_list(properties={}),
            [
                'S.properties[a].x-kubernetes-list-map-keys: Invalid value: ["k"]: '
                "entries must all be names of item properties"
            ],
        ),
        (
            field(type="array", items={"type": "string"}, x_kubernetes_list_map_keys=["k"]),
            [
                "S.properties[a].x-kubernetes-list-type: Required value: "
                "must be map if x-kubernetes-list-map-keys is non-empty"
            ],
        ),
    ],
)
def test_keywords(schema: JsonObject, texts: list[str]) -> None:
    assert schema_errors(schema) == texts


def test_root_keywords_with_status_subresource() -> None:
    status: JsonObject = {"subresources": {"status": {}}}
    assert schema_errors({"type": "object", "description": "x", "required": ["a"]}, **status) == []
    assert schema_errors({"type": "array", "items": {"type": "object"}}, **status) == [
        'S.type: Invalid value: "array": '
        'only "object" is allowed as the type at the root of the schema if the status subresource is enabled',
        'S.type: Invalid value: "array": must be object at the root',
    ]
    (text,) = schema_errors({"type": "object", "maxProperties": 3}, **status)
    assert text.startswith('S: Invalid value: {"ID":"","Schema":"","Ref":null,"Description":"","Type":"object",')
    assert text.endswith(
        "only [Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength "
        "MinLength Pattern MaxItems MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs Example "
        "XPreserveUnknownFields XValidations] fields are allowed at the root of the schema "
        "if the status subresource is enabled"
    )


@pytest.mark.parametrize(
    ("rule", "texts"),
    [
        ({"rule": " "}, ["rule: Required value: rule is not specified"]),
        ({"rule": "true", "message": " "}, ['message: Invalid value: " ": must be non-empty if specified']),
        ({"rule": "true", "message": "a\nb"}, ['message: Invalid value: "a\\nb": must not contain line breaks']),
        (
            {"rule": "true\n&& true"},
            ["message: Required value: message must be specified if rule contains line breaks"],
        ),
        (
            {"rule": "true", "messageExpression": " "},
            ["messageExpression: Required value: messageExpression must be non-empty if specified"],
        ),
        (
            {"rule": "true", "reason": "Because"},
            [
                'reason: Unsupported value: "Because": supported values: "FieldValueDuplicate", "FieldValueForbidden", '
                '"FieldValueInvalid", "FieldValueRequired"'
            ],
        ),
        ({"rule": "true", "fieldPath": ".b"}, []),
        ({"rule": "true", "fieldPath": ".c"}, ['fieldPath: Invalid value: ".c": must be a valid path']),
        (
            {"rule": "true", "fieldPath": " "},
            [
                'fieldPath: Invalid value: " ": must be non-empty if specified',
                'fieldPath: Invalid value: " ": must be a valid path',
            ],
        ),
    ],
)
def test_rule_fields(rule: JsonObject, texts: list[str]) -> None:
    schema = field(type="object", properties={"b": {"type": "string"}}, x_kubernetes_validations=[rule])
    at = "S.properties[a].x-kubernetes-validations[0]."
    assert schema_errors(schema) == [at + text for text in texts]


def test_where_defaults_are_allowed() -> None:
    schema = {
        "type": "object",
        "properties": {
            "kind": {"type": "string", "default": "X"},
            "e": {
                "type": "object",
                "x-kubernetes-embedded-resource": True,
                "x-kubernetes-preserve-unknown-fields": True,
                "properties": {
                    "metadata": {
                        "type": "object",
                        "properties": {
                            "labels": {"type": "object", "additionalProperties": {"type": "string", "default": "x"}}
                        },
                    }
                },
            },
        },
    }
    assert schema_errors(schema) == [
        "S.properties[e].properties[metadata].properties[labels].additionalProperties.default: Forbidden: "
        "must not be set inside additionalProperties applying to object metadata",
        "S.properties[kind].default: Forbidden: must not be set in top-level kind",
    ]


class Compiler:
    """A rule checker that records its requests and rejects everything."""

    def __init__(self) -> None:
        self.requests: list[RuleCheckRequest] = []

    def check(self, request: RuleCheckRequest) -> list[FieldError]:
        self.requests.append(request)
        return [
            invalid(f"{location.path}.x-kubernetes-validations[0].rule", "r", "rejected")
            for location in request.locations
        ]

    def check_default(self, schema: JsonObject, value: Any, path: str, *, root: bool) -> list[FieldError]:
        return [invalid(path, value, f"root: {root}")] if value == "bad" else []


def check_requests_and_errors(schema: JsonObject) -> tuple[list[RuleCheckRequest], list[FieldError]]:
    compiler = Compiler()
    errors = crd.validate_create(created_crd(version(schema=schema)), rules=compiler)
    return compiler.requests, errors


def test_rule_checker_receives_rule_locations() -> None:
    rules = {"x-kubernetes-validations": [{"rule": "self == oldSelf"}]}
    schema = {
        "type": "object",
        **rules,
        "properties": {"l": {"type": "array", "maxItems": 3, "items": {"type": "string", **rules}}},
    }
    requests, errors = check_requests_and_errors(schema)
    (request,) = requests
    inside, root = request.locations
    assert (root.path, root.steps, root.uncorrelated) == ("spec.validation.openAPIV3Schema", (), None)
    assert [(step.kind, step.key) for step in inside.steps] == [("properties", "l"), ("items", "")]
    assert inside.steps[1].parent["maxItems"] == 3
    assert inside.uncorrelated == "spec.validation.openAPIV3Schema.properties[l]"
    assert not request.schema_unchanged
    assert [error.detail for error in errors] == ["rejected", "rejected"]


def test_rules_of_invalid_schemas_are_not_checked() -> None:
    rules = {"x-kubernetes-validations": [{"rule": "true"}]}
    requests, _ = check_requests_and_errors({"type": "object", **rules, "properties": {"a": {}}})
    assert requests == []
    requests, errors = check_requests_and_errors(
        {"type": "object", **rules, "properties": {"a": {"type": "bad"}, "b": {"type": "string", **rules}}}
    )
    assert [site.path[-1:] for site in requests[0].locations] == ["]"]
    assert len(errors) == 2


def test_rule_checker_receives_defaults() -> None:
    rules = {"x-kubernetes-validations": [{"rule": "self != 'bad'"}]}

    def having(default: str) -> list[str]:
        _, errors = check_requests_and_errors(field(type="string", default=default, **rules))
        return [error.detail for error in errors]

    assert having("bad") == ["root: False"]
    assert having("good") == ["rejected"]
