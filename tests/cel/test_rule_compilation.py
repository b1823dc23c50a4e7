"""Errors about validation rules when a CRD is written."""

from __future__ import annotations

import pytest

from polykind.cel import RuleCompiler
from polykind.contract import JsonObject
from polykind.crd.cel_rules import RuleCheckRequest, RuleLocation, SchemaStep

_ADVICE = (
    "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are "
    "declared)"
)
_INVALID_REGEX = "self.find('(') == ''"
_ROOT: JsonObject = {"type": "object"}


def _rule_errors(
    schema: JsonObject, rule: JsonObject, *parents: JsonObject, unchanged: bool = False, uncorrelated: str | None = None
) -> list[str]:
    node = {**schema, "x-kubernetes-validations": [rule]}
    steps = tuple(SchemaStep("items", "", parent) for parent in (_ROOT, *parents))
    site = RuleLocation(node, "S", steps, uncorrelated)
    checks = RuleCheckRequest(_ROOT, "S", [site], unchanged, frozenset(), frozenset())
    return [str(error).replace("S.x-kubernetes-validations[0]", "V") for error in RuleCompiler().check(checks)]


def _internal_json(rule: str, message: str = "") -> str:
    return (
        f'{{"Rule":"{rule}","Message":"","MessageExpression":"{message}","Reason":null,"FieldPath":"",'
        '"OptionalOldSelf":null}'
    )


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ({"rule": "self == 'a'"}, []),
        ({"rule": "  "}, []),
        (
            {"rule": "self"},
            [f"V.rule: Invalid value: {_internal_json('self')}: cel expression must evaluate to a bool"],
        ),
        (
            {"rule": "self.x"},
            [
                f"V.rule: Invalid value: {_internal_json('self.x')}: compilation failed: ERROR: <input>:1:5: "
                "type 'string' does not support field selection\n | self.x\n | ....^"
            ],
        ),
        (
            {"rule": _INVALID_REGEX},
            [
                f"V.rule: Invalid value: {_internal_json(_INVALID_REGEX)}"
                ": program instantiation failed: error parsing regexp: missing closing ): `(`"
            ],
        ),
        (
            {"rule": "true", "messageExpression": "1"},
            [
                f"V.messageExpression: Invalid value: {_internal_json('true', '1')}: "
                "messageExpression must evaluate to a string"
            ],
        ),
        (
            {"rule": "true", "optionalOldSelf": True},
            ["V.optionalOldSelf: Invalid value: true: may not be set if oldSelf is not used in rule"],
        ),
    ],
)
def test_invalid_rule_is_reported(rule: JsonObject, expected: list[str]) -> None:
    assert _rule_errors({"type": "string"}, rule) == expected


def test_old_self_in_uncorrelatable_schema_is_rejected() -> None:
    assert _rule_errors({"type": "string"}, {"rule": "self == oldSelf"}, uncorrelated="S.properties[l]") == [
        'V.rule: Invalid value: "self == oldSelf": oldSelf cannot be used on the uncorrelatable portion of the schema '
        "within S.properties[l]"
    ]


def test_too_expensive_rule_is_rejected() -> None:
    integer = {"type": "integer"}
    lists = [{"type": "array"}, {"type": "array"}]
    rule = {"rule": "[1, 2, 3].all(x, x != self)"}
    expected = [f"V.rule: Forbidden: estimated rule cost exceeds budget by factor of 4.1x {_ADVICE}"]
    assert _rule_errors(integer, rule, *lists) == expected
    assert _rule_errors(integer, rule, *lists, unchanged=True) == []
    assert _rule_errors(integer, rule, {"type": "array", "maxItems": 450_000}) == [
        f"V.rule: Forbidden: estimated rule cost exceeds budget by factor of 1.170000x {_ADVICE}"
    ]


def test_too_expensive_schema_is_rejected() -> None:
    unbounded = {"type": "array", "items": {"type": "string"}}
    total = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget by factor of"
    assert _rule_errors(unbounded, {"rule": "self.all(a, self.all(b, a == b))"}) == [
        f"V.rule: Forbidden: estimated rule cost exceeds budget by factor of more than 100x {_ADVICE}",
        "V.rule: Forbidden: contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema",
        f"S: Forbidden: {total} more than 100x {_ADVICE}",
    ]


def test_default_that_violates_a_rule_is_rejected() -> None:
    schema = {"type": "integer", "x-kubernetes-validations": [{"rule": "self > 0"}]}
    compiler = RuleCompiler()
    assert compiler.check_default(schema, 1, "S.default", root=False) == []
    errors = compiler.check_default(schema, 0, "S.default", root=False)
    assert [str(error) for error in errors] == ["S.default: Invalid value: 0: failed rule: self > 0"]


def test_default_is_checked_without_old_value() -> None:
    rule = {"rule": "oldSelf.hasValue()", "optionalOldSelf": True}
    schema = {"type": "integer", "x-kubernetes-validations": [rule]}
    errors = RuleCompiler().check_default(schema, 0, "S.default", root=False)
    assert [str(error) for error in errors] == ["S.default: Invalid value: 0: failed rule: oldSelf.hasValue()"]
