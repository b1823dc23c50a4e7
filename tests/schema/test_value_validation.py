"""Messages and order of value validation errors."""

from __future__ import annotations

from typing import Any

import pytest

from polykind.schema import CompiledSchema

Json = dict[str, Any]


def error_texts(field: Json, value: Any, old: Any = ..., *, with_programs: bool = False) -> list[str]:
    """Return the errors of spec.x with a given schema; with `old`, of an update."""
    schema = CompiledSchema({"type": "object", "properties": {"spec": {"type": "object", "properties": {"x": field}}}})
    if with_programs:
        schema.compile_programs()
    before = None if old is ... else {"spec": {"x": old}}
    return [str(error) for error in schema.validate({"spec": {"x": value}}, before)]


WORDS: list[tuple[Json, Any, list[str]]] = [
    (
        {"type": "integer"},
        1.5,
        [
            'spec.x: Invalid value: "number": spec.x in body must be of type integer: "number"',
            '<nil>: Invalid value: "": Checked value must be of type integer (default format) in spec.x',
        ],
    ),
    (
        {"type": "integer", "enum": [3, 1, 2]},
        "two",
        [
            'spec.x: Invalid value: "string": spec.x in body must be of type integer: "string"',
            'spec.x: Unsupported value: "two": supported values: "3", "1", "2"',
        ],
    ),
    (
        {"x-kubernetes-int-or-string": True},
        True,
        ['spec.x: Invalid value: "boolean": spec.x in body must be of type integer,string: "boolean"'],
    ),
    (
        {"type": "string", "enum": ["red", 'bl"ue']},
        "blue",
        [r'spec.x: Unsupported value: "blue": supported values: "red", "bl\"ue"'],
    ),
    (
        {"type": "string", "nullable": True, "enum": ["a", None]},
        None,
        ['spec.x: Unsupported value: null: supported values: "a", "null"'],
    ),
    (
        {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "enum": [{"a": 1}]},
        {"a": 2},
        [r'spec.x: Unsupported value: {"a":2}: supported values: "{\"a\":1}"'],
    ),
    ({"type": "string", "maxLength": 3}, "äöüß", ["spec.x: Too long: may not be more than 3 bytes"]),
    ({"type": "string", "maxLength": 1}, "ab", ["spec.x: Too long: may not be more than 1 byte"]),
    ({"type": "string", "maxLength": -1}, "", ["spec.x: Too long: value is too long"]),
    (
        {"type": "string", "minLength": 4, "pattern": "^a"},
        "y",
        ['spec.x: Invalid value: "y": spec.x in body should be at least 4 chars long'],
    ),
    (
        {"type": "string", "pattern": r"^\d+$"},
        "12\n",
        [r"""spec.x: Invalid value: "12\n": spec.x in body should match '^\d+$'"""],
    ),
    (
        {"type": "string", "format": "date"},
        "2024-02-30",
        ['spec.x: Invalid value: "2024-02-30": spec.x in body must be of type date: "2024-02-30"'],
    ),
    (
        {"type": "integer", "multipleOf": 4, "minimum": 10, "enum": [12, 16]},
        7,
        [
            "spec.x: Invalid value: 7: spec.x in body should be a multiple of 4",
            "spec.x: Invalid value: 7: spec.x in body should be greater than or equal to 10",
            'spec.x: Unsupported value: 7: supported values: "12", "16"',
        ],
    ),
    (
        {"type": "number", "maximum": 1.5, "exclusiveMaximum": True},
        1.5,
        ["spec.x: Invalid value: 1.5: spec.x in body should be less than 1.5"],
    ),
    (
        {"type": "number", "multipleOf": 0.5},
        2,
        ["spec.x: Invalid value: 0: factor MultipleOf declared for spec.x must be positive: 0"],
    ),
    (
        {"type": "integer", "format": "int32"},
        2**31,
        ['<nil>: Invalid value: "": Checked value must be of type integer with format int32 in spec.x'],
    ),
    (
        {"type": "array", "maxItems": 3, "items": {"type": "string", "minLength": 2, "maxLength": 3}},
        ["b", "abcd", "abc", "wxyz"],
        [
            'spec.x[0]: Invalid value: "b": spec.x[0] in body should be at least 2 chars long',
            "spec.x[1]: Too long: may not be more than 3 bytes",
            "spec.x[3]: Too long: may not be more than 3 bytes",
            "spec.x: Too many: 4: must have at most 3 items",
        ],
    ),
    (
        {"type": "array", "minItems": 2, "items": {"type": "string"}},
        ["a"],
        ["spec.x: Invalid value: 1: spec.x in body should have at least 2 items"],
    ),
    (
        {"type": "object", "required": ["z", "a"], "properties": {"m": {"type": "string"}}},
        {"m": 1},
        [
            'spec.x.m: Invalid value: "integer": spec.x.m in body must be of type string: "integer"',
            "spec.x.z: Required value",
            "spec.x.a: Required value",
        ],
    ),
    (
        {"type": "object", "additionalProperties": False},
        {"k": 1},
        ['spec.x: Invalid value: "k": spec.x.k in body is a forbidden property'],
    ),
    (
        {"type": "object", "maxProperties": 1, "additionalProperties": {"type": "integer"}},
        {"k": "a", "l": 1},
        [
            "spec.x: Too many: 2: must have at most 1 item",
            'spec.x.k: Invalid value: "string": spec.x.k in body must be of type integer: "string"',
        ],
    ),
    (
        {"type": "integer", "anyOf": [{"maximum": 2}, {"minimum": 10}]},
        5,
        [
            '<nil>: Invalid value: "": "spec.x" must validate at least one schema (anyOf)',
            "spec.x: Invalid value: 5: spec.x in body should be less than or equal to 2",
        ],
    ),
    (
        {"type": "integer", "oneOf": [{"maximum": 5}, {"minimum": 3}]},
        4,
        [
            '<nil>: Invalid value: "": "spec.x" must validate one and only one schema (oneOf). '
            "Found 2 valid alternatives"
        ],
    ),
    (
        {"type": "integer", "allOf": [{"minimum": 2}, {"multipleOf": 3}]},
        1,
        [
            "spec.x: Invalid value: 1: spec.x in body should be greater than or equal to 2",
            "spec.x: Invalid value: 1: spec.x in body should be a multiple of 3",
            '<nil>: Invalid value: "": "spec.x" must validate all the schemas (allOf). None validated',
        ],
    ),
    (
        {"type": "integer", "not": {"minimum": 2}},
        3,
        ['<nil>: Invalid value: "": "spec.x" must not validate the schema (not)'],
    ),
    ({"type": "string", "format": "unheard-of"}, "anything", []),
    ({"type": "integer"}, 3, []),
    ({"type": "number"}, 3, []),
    ({"type": "string", "nullable": True}, None, []),
]


@pytest.mark.parametrize("with_programs", [False, True])
@pytest.mark.parametrize(("field", "value", "expected"), WORDS)
def test_errors_are_those_of_kube_apiserver(field: Json, value: Any, expected: list[str], with_programs: bool) -> None:
    assert error_texts(field, value, with_programs=with_programs) == expected


def test_wrong_type_or_format_has_reason_type_invalid() -> None:
    schema = CompiledSchema({"type": "object", "properties": {"a": {"type": "string", "format": "ipv4"}}})
    [error] = schema.validate({"a": "x"})
    assert error.cause() == {
        "reason": "FieldValueTypeInvalid",
        "message": 'Invalid value: "x": a in body must be of type ipv4: "x"',
        "field": "a",
    }


def test_unchanged_value_is_ratcheted() -> None:
    field = {"type": "string", "pattern": "^[a-z]+$"}
    assert error_texts(field, "UPPER", "UPPER") == []
    assert error_texts(field, "STILL", "UPPER") == [
        """spec.x: Invalid value: "STILL": spec.x in body should match '^[a-z]+$'"""
    ]


def test_atomic_list_is_ratcheted_only_as_a_whole() -> None:
    field = {"type": "array", "items": {"type": "integer", "maximum": 100}}
    assert error_texts(field, [1, 200], [1, 200]) == []
    assert error_texts(field, [2, 200], [1, 200]) == [
        "spec.x[1]: Invalid value: 200: spec.x[1] in body should be less than or equal to 100"
    ]


def test_items_of_a_map_list_are_ratcheted_by_key() -> None:
    item = {"type": "object", "properties": {"k": {"type": "string"}, "n": {"type": "integer", "maximum": 5}}}
    field = {"type": "array", "items": item, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}
    old = [{"k": "a", "n": 9}, {"k": "b", "n": 1}]
    assert error_texts(field, [{"k": "c", "n": 1}, {"k": "a", "n": 9}], old) == []
    assert error_texts(field, [{"k": "a", "n": 8}], old) == [
        "spec.x[0].n: Invalid value: 8: spec.x[0].n in body should be less than or equal to 5"
    ]


def test_map_values_are_ratcheted_by_key_and_missing_fields_with_their_object() -> None:
    field = {"type": "object", "additionalProperties": {"type": "integer", "maximum": 100}}
    assert error_texts(field, {"a": 2, "b": 200}, {"a": 1, "b": 200}) == []
    needy = {"type": "object", "required": ["y"], "properties": {"x": {"type": "integer"}, "y": {"type": "integer"}}}
    assert error_texts(needy, {"x": 1}, {"x": 1}) == []
    assert error_texts(needy, {"x": 2}, {"x": 1}) == ["spec.x.y: Required value"]


def test_true_is_not_one() -> None:
    assert error_texts({"type": "integer"}, True, 1) == [
        'spec.x: Invalid value: "boolean": spec.x in body must be of type integer: "boolean"'
    ]
