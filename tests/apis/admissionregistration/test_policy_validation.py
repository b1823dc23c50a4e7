"""Tests of the validation of validating policies."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polykind.apis.admissionregistration.policy_validation import validate_policy
from polykind.contract import JsonObject
from tests.admission.support import policy


def _told(obj: JsonObject, old: JsonObject | None = None) -> list[str]:
    return [str(found) for found in validate_policy(obj, old)]


def test_valid_policy_has_no_errors() -> None:
    spec: JsonObject = {
        "paramKind": {"apiVersion": "x.io/v1", "kind": "Limit"},
        "matchConditions": [{"name": "x.io/a", "expression": "params.a == object.a"}],
        "variables": [{"name": "v", "expression": "object.x"}, {"name": "w", "expression": "[variables.v]"}],
        "auditAnnotations": [{"key": "k", "valueExpression": " 'a' + string(variables.v) "}],
    }
    validation = {
        "expression": "variables.w.all(x, x == params.x)",
        "message": " m ",
        "messageExpression": "string(variables.v)",
        "reason": "Forbidden",
    }
    assert _told(policy(validations=[validation], **spec)) == []


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (
            {"failurePolicy": "Maybe"},
            ['spec.failurePolicy: Unsupported value: "Maybe": supported values: "Fail", "Ignore"'],
        ),
        ({"matchConstraints": None}, ["spec.matchConstraints: Required value"]),
        (
            {"matchConstraints": {"matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {}}},
            ["spec.matchConstraints.resourceRules: Required value"],
        ),
        (
            {"validations": []},
            [
                f"spec.{part}: Required value: validations or auditAnnotations must contain at least one item"
                for part in ("validations", "auditAnnotations")
            ],
        ),
        ({"paramKind": {}}, ["spec.paramKind.apiVersion: Required value", "spec.paramKind.kind: Required value"]),
        (
            {"paramKind": {"apiVersion": "a/b/c", "kind": "A"}},
            ['spec.paramKind.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c'],
        ),
        (
            {"paramKind": {"apiVersion": "x.io/", "kind": "A"}},
            ['spec.paramKind.apiVersion: Invalid value: "x.io/": version must be specified'],
        ),
        (
            {"variables": [{"name": "in", "expression": "1"}, {"name": " ", "expression": " "}]},
            [
                'spec.variables[0].name: Invalid value: "in": must be a valid CEL identifier',
                "spec.variables[1].name: Required value: name is not specified",
                "spec.variables[1].expression: Required value: expression is not specified",
            ],
        ),
        (
            {"validations": [{"expression": " "}]},
            ["spec.validations[0].expression: Required value: expression is not specified"],
        ),
        (
            {"validations": [{"expression": "true", "message": "a\rb", "messageExpression": "1", "reason": "Bored"}]},
            [
                'spec.validations[0].messageExpression: Invalid value: "1": must evaluate to string but got int',
                'spec.validations[0].message: Invalid value: "a\\rb": must not contain line breaks',
                'spec.validations[0].reason: Unsupported value: "Bored": '
                'supported values: "Forbidden", "Invalid", "RequestEntityTooLarge"',
            ],
        ),
        (
            {"validations": [{"expression": "true", "message": " ", "messageExpression": " "}]},
            [
                'spec.validations[0].messageExpression: Invalid value: " ": must be non-empty if specified',
                'spec.validations[0].message: Invalid value: " ": must be non-empty if specified',
            ],
        ),
        (
            {"validations": [], "auditAnnotations": [{"key": "k", "valueExpression": "1"}]},
            [
                'spec.auditAnnotations[0].valueExpression: Invalid value: "1": '
                "must evaluate to one of [string null_type] but got int"
            ],
        ),
        (
            {"auditAnnotations": [{"key": "k", "valueExpression": "null"}, {"key": "k", "valueExpression": ""}]},
            [
                "spec.auditAnnotations[1].valueExpression: Required value: valueExpression is not specified",
                'spec.auditAnnotations[1].key: Duplicate value: "k"',
            ],
        ),
        (
            {"auditAnnotations": [{"key": "k", "valueExpression": f"'{'x' * 6000}'"}]},
            ["spec.auditAnnotations[0].valueExpression: Required value: must not exceed 5120 bytes in length"],
        ),
    ],
)
def test_policy_errors(spec: JsonObject, expected: list[str]) -> None:
    assert _told(policy("true", **spec)) == expected


def test_variables_are_visible_to_later_expressions() -> None:
    early = {"name": "a", "expression": "variables.b"}
    late = {"name": "b", "expression": "1"}
    found = _told(policy("variables.b == 1", variables=[early, late]))
    assert [text.split(": ")[0] for text in found] == ["spec.variables[0].expression"]
    assert _told(policy("variables.a == 1", variables=[late, early])) == []
    assert _told(policy("variables.b == 'x'", variables=[late])) == [
        "spec.validations[0].expression: Invalid value: \"variables.b == 'x'\": compilation failed: "
        "ERROR: <input>:1:13: found no matching overload for '_==_' applied to '(int, string)'\n"
        " | variables.b == 'x'\n | ............^"
    ]


def test_message_expressions_have_no_authorizer() -> None:
    validation = {"expression": "authorizer.path('/').check('get').allowed()", "messageExpression": "authorizer.x"}
    assert [text.split("\n")[0] for text in _told(policy(validations=[validation]))] == [
        'spec.validations[0].messageExpression: Invalid value: "authorizer.x": compilation failed: '
        "ERROR: <input>:1:1: undeclared reference to 'authorizer' (in container '')",
    ]


def test_unchanged_match_conditions_are_not_validated_again() -> None:
    bad = [{"name": "a b", "expression": "1"}]
    stored = policy("true", matchConditions=bad)
    assert _told(policy("false", matchConditions=bad), stored) == []
    assert len(_told(policy("true", matchConditions=[*bad, *bad]), stored)) == 5
    kind = {"apiVersion": "v1", "kind": "A"}
    assert len(_told(policy("true", matchConditions=bad, paramKind=kind), stored)) == 2


_TEXTS = st.one_of(
    st.text(max_size=20),
    st.sampled_from(["true", "object.x == 1", "variables.a", "params", "authorizer", "request.name", "'a'", "1 +"]),
)


@given(st.lists(_TEXTS, max_size=4), st.lists(st.tuples(_TEXTS, _TEXTS), max_size=3), st.booleans())
def test_valid_policies_can_be_evaluated(
    expressions: list[str], variables: list[tuple[str, str]], params: bool
) -> None:
    spec: dict[str, Any] = {"variables": [{"name": name, "expression": text} for name, text in variables]}
    if params:
        spec["paramKind"] = {"apiVersion": "x.io/v1", "kind": "A"}
    found = validate_policy(policy(*expressions, **spec))
    assert all(problem.field.startswith("spec.") for problem in found)
    assert validate_policy(policy(*expressions, **spec)) == found


def test_nullable_variable_has_dynamic_type() -> None:
    variable = {"name": "a", "expression": "google.protobuf.Int32Value{value: 1}"}
    assert _told(policy("variables.a == 'x'", variables=[variable])) == []
