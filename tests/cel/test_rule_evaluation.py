"""Evaluation of validation rules: messages, paths, ratcheting and cost limits."""

from __future__ import annotations

from typing import Any

import pytest

from polykind.cel import compile_schema
from polykind.contract import JsonObject
from tests.cel.support import violations


def _spec(schema: JsonObject) -> JsonObject:
    return {"type": "object", "properties": {"spec": schema}}


def _with(schema: JsonObject, *rules: JsonObject) -> JsonObject:
    return {**schema, "x-kubernetes-validations": list(rules)}


MIN_MAX: JsonObject = {"type": "object", "properties": {"min": {"type": "integer"}, "max": {"type": "integer"}}}
INTEGER: JsonObject = {"type": "integer"}


def test_schema_without_rules_compiles_to_none() -> None:
    assert compile_schema(_spec(MIN_MAX)) is None


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ({}, "spec: Invalid value: failed rule: self.min <= self.max"),
        ({"message": " too small "}, "spec: Invalid value: too small"),
        ({"messageExpression": "'min is %d'.format([self.min])"}, "spec: Invalid value: min is 3"),
        ({"messageExpression": "' '", "message": "fallback"}, "spec: Invalid value: fallback"),
        ({"messageExpression": "'a' + 'b\\nc'"}, "spec: Invalid value: failed rule: self.min <= self.max"),
        ({"messageExpression": "[''][7]", "message": "m"}, "spec: Invalid value: m"),
        ({"fieldPath": ".max"}, "spec.max: Invalid value: failed rule: self.min <= self.max"),
        ({"reason": "FieldValueForbidden", "message": "no"}, "spec: Forbidden: no"),
        ({"reason": "FieldValueRequired", "message": "no"}, "spec: Required value: no"),
        ({"reason": "FieldValueDuplicate", "message": "no"}, "spec: Duplicate value"),
    ],
)
def test_violation_message(rule: JsonObject, expected: str) -> None:
    schema = _spec(_with(MIN_MAX, {"rule": "self.min <= self.max", **rule}))
    assert violations(schema, {"spec": {"min": 3, "max": 2}}) == [expected]
    assert violations(schema, {"spec": {"min": 1, "max": 2}}) == []


@pytest.mark.parametrize(
    ("schema", "rule", "value", "expected"),
    [
        (MIN_MAX, "self.min > 0", {}, 'Invalid value: "object": no such key: min evaluating rule: self.min > 0'),
        (INTEGER, "10 / self > 0", 0, 'Invalid value: "integer": division by zero evaluating rule: 10 / self > 0'),
        (
            INTEGER,
            "self + 1 > self",
            2**63 - 1,
            'Invalid value: "integer": integer overflow evaluating rule: self + 1 > self',
        ),
        (
            {"x-kubernetes-int-or-string": True},
            "self + 1 > 0",
            "x",
            "Invalid value: \"\": 'no such overload': call arguments did not match a supported operator, function or "
            "macro signature for rule: self + 1 > 0",
        ),
        (INTEGER, "self > 0", 0, "Invalid value: 0: failed rule: self > 0"),
        ({"type": "string"}, "self == 'a'", "é", "Invalid value: \"é\": failed rule: self == 'a'"),
        ({"type": "number"}, "self > 1.5", 1, "Invalid value: 1: failed rule: self > 1.5"),
        (
            INTEGER,
            "self > 0",
            2.0,
            'Invalid value: "integer": invalid data, expected int, got float64 evaluating rule: self > 0',
        ),
        (
            INTEGER,
            "self > 0",
            "wrong",
            'Invalid value: "integer": invalid data, expected int, got string evaluating rule: self > 0',
        ),
        (
            {"type": "number"},
            "self > 0.0",
            [1],
            'Invalid value: "number": invalid data, expected float, got []interface {} evaluating rule: self > 0.0',
        ),
        (
            {"type": "string", "format": "date-time"},
            "self > timestamp('2020-01-01T00:00:00Z')",
            5,
            'Invalid value: "string": invalid data, expected string, got int64 evaluating rule: '
            "self > timestamp('2020-01-01T00:00:00Z')",
        ),
        (
            {"type": "string", "format": "date-time"},
            "self > timestamp('2020-01-01T00:00:00Z')",
            "2024-01-01",
            'Invalid value: "string": Invalid date-time formatted string 2024-01-01: parsing time "2024-01-01" as '
            '"2006-01-02T15:04:05": cannot parse "" as "T" evaluating rule: self > timestamp(\'2020-01-01T00:00:00Z\')',
        ),
        (
            {"type": "string", "format": "date"},
            "self.getFullYear() > 2000",
            "2024-02-30",
            'Invalid value: "string": Invalid date formatted string 2024-02-30: parsing time "2024-02-30": '
            "day out of range evaluating rule: self.getFullYear() > 2000",
        ),
        (
            {"type": "array", "items": INTEGER},
            "self.all(x, x > 0)",
            {"a": 1},
            'Invalid value: "array": invalid data, expected an array for the provided schema with type=array '
            "evaluating rule: self.all(x, x > 0)",
        ),
        (
            {"type": "object", "additionalProperties": INTEGER},
            "size(self) > 5",
            [1],
            'Invalid value: "object": invalid data, expected a map for the provided schema with type=object '
            "evaluating rule: size(self) > 5",
        ),
        (
            {"type": "boolean"},
            "self == true",
            "true",
            'Invalid value: "boolean": invalid data, expected bool, got string evaluating rule: self == true',
        ),
    ],
)
def test_evaluation_error_message(schema: JsonObject, rule: str, value: Any, expected: str | None) -> None:
    errors = violations(_spec(_with(schema, {"rule": rule})), {"spec": value})
    assert len(errors) == 1
    if expected is not None:
        assert errors == [f"spec: {expected}"]


@pytest.mark.parametrize("rule", ["self[0] == 5", "self.all(x, x > 1)", "self.map(x, x + 1).size() == 2"])
def test_float_item_of_an_integer_list_is_an_error(rule: str) -> None:
    schema = _spec(_with({"type": "array", "items": INTEGER}, {"rule": rule}))
    message = f"invalid data, expected int, got float64 evaluating rule: {rule}"
    assert violations(schema, {"spec": [5.0, 2]}) == [f'spec: Invalid value: "array": {message}']
    assert violations(schema, {"spec": [5, 2]}) == []


def test_violation_paths() -> None:
    item = _with(INTEGER, {"rule": "self != 13"})
    schema = {
        "type": "object",
        "x-kubernetes-validations": [{"rule": "self.metadata.name != 'no'"}],
        "properties": {
            "list": {"type": "array", "items": item},
            "map": {"type": "object", "additionalProperties": item},
            "$odd": item,
        },
    }
    obj = {"metadata": {"name": "no"}, "list": [1, 13], "map": {"k": 13}, "$odd": 13}
    assert violations(schema, obj) == [
        "<nil>: Invalid value: failed rule: self.metadata.name != 'no'",
        "list[1]: Invalid value: 13: failed rule: self != 13",
        "map[k]: Invalid value: 13: failed rule: self != 13",
        "$odd: Invalid value: 13: failed rule: self != 13",
    ]
    assert violations(schema, {"metadata": {}, "list": None, "map": {"k": None}}) == [
        "<nil>: Invalid value: \"object\": no such key: name evaluating rule: self.metadata.name != 'no'"
    ]


def test_transition_rules_need_a_correlated_old_value() -> None:
    non_decreasing = _with(INTEGER, {"rule": "self >= oldSelf"})
    keyed_list = {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["id"],
        "items": {"type": "object", "properties": {"id": {"type": "string"}, "n": non_decreasing}},
    }
    schema = _spec({"type": "object", "properties": {"n": non_decreasing, "list": keyed_list}})
    old = {"spec": {"n": 5, "list": [{"id": "a", "n": 1}, {"id": "b", "n": 2}]}}
    assert violations(schema, {"spec": {"n": 1}}) == []
    assert violations(schema, {"spec": {"n": 4}}, old) == ["spec.n: Invalid value: 4: failed rule: self >= oldSelf"]
    reordered = {"spec": {"n": 5, "list": [{"id": "b", "n": 1}, {"id": "c", "n": 0}]}}
    assert violations(schema, reordered, old) == ["spec.list[0].n: Invalid value: 1: failed rule: self >= oldSelf"]


def test_optional_old_self_rule_runs_on_create() -> None:
    rule = {"rule": "oldSelf.orValue(3) <= self", "optionalOldSelf": True}
    schema = _spec(_with(INTEGER, rule))
    assert violations(schema, {"spec": 2}) == ["spec: Invalid value: 2: failed rule: oldSelf.orValue(3) <= self"]
    assert violations(schema, {"spec": 2}, {"spec": 1}) == []


def test_violation_of_unchanged_value_is_ratcheted_to_a_warning() -> None:
    small = _with(INTEGER, {"rule": "self < 10"})
    schema = _spec({"type": "object", "properties": {"size": small, "other": {"type": "string"}}})
    old = {"spec": {"size": 50, "other": "a"}}
    expected = "spec.size: Invalid value: 50: failed rule: self < 10"
    assert violations(schema, {"spec": {"size": 50, "other": "b"}}, old) == [f"warning: {expected}"]
    assert violations(schema, {"spec": {"size": 51}}, old) == ["spec.size: Invalid value: 51: failed rule: self < 10"]
    assert violations(schema, {"spec": {"size": 50}}) == [expected]


def test_rule_that_exceeds_the_call_limit_ends_the_evaluation() -> None:
    rule = "self.all(x, self.all(y, x + y > 0))"
    schema = _spec(_with({"type": "array", "items": INTEGER}, {"rule": rule}, {"rule": "false"}))
    assert violations(schema, {"spec": [1] * 377}) == ["spec: Invalid value: failed rule: false"]
    assert violations(schema, {"spec": [1] * 378}) == [
        "spec: Invalid value: \"array\": 'operation cancelled: actual cost limit exceeded': "
        f"no further validation rules will be run due to call cost exceeds limit for rule: {rule}"
    ]


def test_cost_budget_of_all_rules_ends_the_evaluation() -> None:
    item = _with({"type": "array", "items": INTEGER}, {"rule": "self.all(x, self.all(y, x + y > 0))"})
    schema = _spec({"type": "array", "items": item})
    errors = violations(schema, {"spec": [[1] * 377] * 12})
    assert errors == [
        'spec[10]: Invalid value: "array": validation failed due to running out of cost budget, '
        "no further validation rules will be run"
    ]


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("self.a == [2, 1]", []),
        ("self.a + [3] == [1, 2, 3]", []),
        ("self.b.exists(e, e.k == 'x' && e.v == 1)", []),
        ("self.c.getHours() == 10 && string(self.c) == '2024-01-01T12:00:00+02:00'", []),
        ("self.d == b'hi'", []),
        ("self.e == duration('90m')", []),
        ("!has(self.f) && self.g[0] == 1.0", []),
        ("self.with__dash__dash == 1 && self.__namespace__ == 'x'", []),
        ("has(self.namespace) && self.namespace == 'x' && self.?namespace.orValue('') == 'x'", []),
        ("self.em.kind == 'Pod' && !has(self.em.metadata.generateName)", []),
    ],
)
def test_schema_typed_values_in_rules(rule: str, expected: list[str]) -> None:
    schema = {
        "type": "object",
        "properties": {
            "a": {"type": "array", "x-kubernetes-list-type": "set", "items": INTEGER},
            "b": {
                "type": "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["k"],
                "items": {"type": "object", "properties": {"k": {"type": "string"}, "v": INTEGER}},
            },
            "c": {"type": "string", "format": "date-time"},
            "d": {"type": "string", "format": "byte"},
            "e": {"type": "string", "format": "duration"},
            "f": {"type": "string", "nullable": True},
            "g": {"type": "array", "items": {"type": "number"}},
            "with-dash": INTEGER,
            "namespace": {"type": "string"},
            "em": {"type": "object", "x-kubernetes-embedded-resource": True},
        },
    }
    value = {
        "a": [1, 2],
        "b": [{"k": "x", "v": 1}, {"k": "y", "v": 2}],
        "c": "2024-01-01T12:00:00+02:00",
        "d": "aGk=",
        "e": "1h30m",
        "f": None,
        "g": [1],
        "with-dash": 1,
        "namespace": "x",
        "em": {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "n"}},
    }
    assert violations(_spec(_with(schema, {"rule": rule})), {"spec": value}) == expected


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ([{"rule": "self > 5", "messageExpression": "'was ' + string(oldSelf)"}], "failed rule: self > 5"),
        (
            [
                {"rule": "self > 5", "messageExpression": "'was ' + string(oldSelf)"},
                {"rule": "self == oldSelf || true"},
            ],
            "was 2",
        ),
        (
            [
                {
                    "rule": "self > oldSelf.orValue(9)",
                    "optionalOldSelf": True,
                    "messageExpression": "'was ' + string(oldSelf.value())",
                }
            ],
            "failed rule: self > oldSelf.orValue(9)",
        ),
        (
            [
                {
                    "rule": "self > oldSelf.orValue(9)",
                    "optionalOldSelf": True,
                    "messageExpression": "'was ' + string(oldSelf.orValue(9))",
                }
            ],
            "was 2",
        ),
    ],
)
def test_old_self_in_message_expressions(rules: list[JsonObject], expected: str) -> None:
    """A message expression has oldSelf only if a rule of the node uses it, and never as an optional value."""
    schema = {
        "type": "object",
        "properties": {"i": {"type": "integer", "x-kubernetes-validations": rules}},
    }
    assert violations(schema, {"i": 1}, {"i": 2}) == [f"i: Invalid value: 1: {expected}"]


def test_invalid_message_expression_drops_the_field_path() -> None:
    rule = {"rule": "false", "fieldPath": ".i", "messageExpression": "nosuch"}
    schema = {"type": "object", "properties": {"i": {"type": "integer"}}, "x-kubernetes-validations": [rule]}
    assert violations(schema, {"i": 1}) == ["<nil>: Invalid value: failed rule: false"]


def test_rules_of_items_cannot_run_if_the_parent_is_an_object() -> None:
    schema = {"type": "object", "items": {"type": "string", "x-kubernetes-validations": [{"rule": "true"}]}}
    rules = compile_schema({"type": "object", "properties": {"spec": schema}})
    assert rules is not None
    errors, _ = rules.validate({"spec": ["a", "b"]}, None)
    detail = "rule compiler initialization error: failed to convert to declType for CEL validation rules"
    assert [(error.field, error.detail) for error in errors] == [("spec[0]", detail), ("spec[1]", detail)]
    assert rules.validate({"spec": {}}, None) == ([], [])


def test_interrupt_check_ends_an_evaluation() -> None:
    rule = {"rule": "self.all(x, self.exists(y, y == x))"}
    schema = {"type": "array", "items": {"type": "integer"}, "x-kubernetes-validations": [rule]}
    rules = compile_schema({"type": "object", "properties": {"spec": schema}})
    assert rules is not None
    calls = 0

    def check(cost: int) -> None:
        nonlocal calls
        calls += 1
        if calls > 3:
            raise TimeoutError

    with pytest.raises(TimeoutError):
        rules.validate({"spec": list(range(100))}, None, check=check)
