"""Rules at work on objects: what is told, where, on create and on update."""

from __future__ import annotations

from typing import Any

import pytest

from polykind.cel import compile_schema
from polykind.contract import JsonObject
from tests.cel.support import judged


def _spec(schema: JsonObject) -> JsonObject:
    return {"type": "object", "properties": {"spec": schema}}


def _with(schema: JsonObject, *rules: JsonObject) -> JsonObject:
    return {**schema, "x-kubernetes-validations": list(rules)}


MIN_MAX: JsonObject = {"type": "object", "properties": {"min": {"type": "integer"}, "max": {"type": "integer"}}}
INTEGER: JsonObject = {"type": "integer"}


def test_a_schema_without_rules_has_none() -> None:
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
def test_how_a_failure_is_told(rule: JsonObject, expected: str) -> None:
    schema = _spec(_with(MIN_MAX, {"rule": "self.min <= self.max", **rule}))
    assert judged(schema, {"spec": {"min": 3, "max": 2}}) == [expected]
    assert judged(schema, {"spec": {"min": 1, "max": 2}}) == []


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
def test_what_is_told_of_a_value(schema: JsonObject, rule: str, value: Any, expected: str | None) -> None:
    found = judged(_spec(_with(schema, {"rule": rule})), {"spec": value})
    assert len(found) == 1
    if expected is not None:
        assert found == [f"spec: {expected}"]


@pytest.mark.parametrize("rule", ["self[0] == 5", "self.all(x, x > 1)", "self.map(x, x + 1).size() == 2"])
def test_an_item_that_is_spelled_as_a_fraction_is_no_integer(rule: str) -> None:
    schema = _spec(_with({"type": "array", "items": INTEGER}, {"rule": rule}))
    why = f"invalid data, expected int, got float64 evaluating rule: {rule}"
    assert judged(schema, {"spec": [5.0, 2]}) == [f'spec: Invalid value: "array": {why}']
    assert judged(schema, {"spec": [5, 2]}) == []


def test_where_rules_stand() -> None:
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
    assert judged(schema, obj) == [
        "<nil>: Invalid value: failed rule: self.metadata.name != 'no'",
        "list[1]: Invalid value: 13: failed rule: self != 13",
        "map[k]: Invalid value: 13: failed rule: self != 13",
        "$odd: Invalid value: 13: failed rule: self != 13",
    ]
    assert judged(schema, {"metadata": {}, "list": None, "map": {"k": None}}) == [
        "<nil>: Invalid value: \"object\": no such key: name evaluating rule: self.metadata.name != 'no'"
    ]


def test_transition_rules_run_where_there_was_a_value() -> None:
    never_less = _with(INTEGER, {"rule": "self >= oldSelf"})
    keyed = {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["id"],
        "items": {"type": "object", "properties": {"id": {"type": "string"}, "n": never_less}},
    }
    schema = _spec({"type": "object", "properties": {"n": never_less, "list": keyed}})
    old = {"spec": {"n": 5, "list": [{"id": "a", "n": 1}, {"id": "b", "n": 2}]}}
    assert judged(schema, {"spec": {"n": 1}}) == []
    assert judged(schema, {"spec": {"n": 4}}, old) == ["spec.n: Invalid value: 4: failed rule: self >= oldSelf"]
    moved = {"spec": {"n": 5, "list": [{"id": "b", "n": 1}, {"id": "c", "n": 0}]}}
    assert judged(schema, moved, old) == ["spec.list[0].n: Invalid value: 1: failed rule: self >= oldSelf"]


def test_an_optional_old_self_runs_always() -> None:
    rule = {"rule": "oldSelf.orValue(3) <= self", "optionalOldSelf": True}
    schema = _spec(_with(INTEGER, rule))
    assert judged(schema, {"spec": 2}) == ["spec: Invalid value: 2: failed rule: oldSelf.orValue(3) <= self"]
    assert judged(schema, {"spec": 2}, {"spec": 1}) == []


def test_a_failure_of_an_unchanged_value_is_a_warning() -> None:
    small = _with(INTEGER, {"rule": "self < 10"})
    schema = _spec({"type": "object", "properties": {"size": small, "other": {"type": "string"}}})
    old = {"spec": {"size": 50, "other": "a"}}
    told = "spec.size: Invalid value: 50: failed rule: self < 10"
    assert judged(schema, {"spec": {"size": 50, "other": "b"}}, old) == [f"warning: {told}"]
    assert judged(schema, {"spec": {"size": 51}}, old) == ["spec.size: Invalid value: 51: failed rule: self < 10"]
    assert judged(schema, {"spec": {"size": 50}}) == [told]


def test_one_rule_may_not_cost_too_much() -> None:
    rule = "self.all(x, self.all(y, x + y > 0))"
    schema = _spec(_with({"type": "array", "items": INTEGER}, {"rule": rule}, {"rule": "false"}))
    assert judged(schema, {"spec": [1] * 377}) == ["spec: Invalid value: failed rule: false"]
    assert judged(schema, {"spec": [1] * 378}) == [
        "spec: Invalid value: \"array\": 'operation cancelled: actual cost limit exceeded': "
        f"no further validation rules will be run due to call cost exceeds limit for rule: {rule}"
    ]


def test_all_rules_together_may_not_cost_too_much() -> None:
    item = _with({"type": "array", "items": INTEGER}, {"rule": "self.all(x, self.all(y, x + y > 0))"})
    schema = _spec({"type": "array", "items": item})
    found = judged(schema, {"spec": [[1] * 377] * 12})
    assert found == [
        'spec[10]: Invalid value: "array": validation failed due to running out of cost budget, '
        "no further validation rules will be run"
    ]


@pytest.mark.parametrize(
    ("rule", "broken"),
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
def test_values_as_rules_see_them(rule: str, broken: list[str]) -> None:
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
    assert judged(_spec(_with(schema, {"rule": rule})), {"spec": value}) == broken


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
def test_what_messages_see_of_the_old_value(rules: list[JsonObject], expected: str) -> None:
    """Nothing, unless a rule beside them looks at it; and never as an optional."""
    schema = {
        "type": "object",
        "properties": {"i": {"type": "integer", "x-kubernetes-validations": rules}},
    }
    assert judged(schema, {"i": 1}, {"i": 2}) == [f"i: Invalid value: 1: {expected}"]


def test_a_field_path_is_lost_with_a_broken_message() -> None:
    rule = {"rule": "false", "fieldPath": ".i", "messageExpression": "nosuch"}
    schema = {"type": "object", "properties": {"i": {"type": "integer"}}, "x-kubernetes-validations": [rule]}
    assert judged(schema, {"i": 1}) == ["<nil>: Invalid value: failed rule: false"]
