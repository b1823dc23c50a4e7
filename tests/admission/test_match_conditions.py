"""Match conditions: validation and evaluation."""

from __future__ import annotations

from typing import Any

import pytest

from polykind.admission.match_conditions import MatchConditionError, MatchConditions
from polykind.apis.admissionregistration.expression_validation import validate_match_expressions


def _conditions(*texts: str) -> list[dict[str, Any]]:
    return [{"name": f"c{index}", "expression": text} for index, text in enumerate(texts)]


async def _match(*texts: str, failure_policy: str = "Fail", obj: Any = None) -> bool:
    values = {"object": obj if obj is not None else {"a": 1}, "oldObject": None, "request": {"operation": "CREATE"}}
    return await MatchConditions(_conditions(*texts), failure_policy).match(values)


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ([], True),
        (["object.a == 1"], True),
        (["object.a == 1", "request.operation == 'CREATE'", "oldObject == null"], True),
        (["object.a == 1", "object.a == 2"], False),
        (["object.b == 1", "object.a == 2"], False),
        (["object.a == 2", "object.b == 1"], False),
        (["namespaceObject == null"], True),
    ],
)
async def test_all_must_be_true_and_one_false_decides(texts: list[str], expected: bool) -> None:
    assert await _match(*texts) is expected
    assert await _match(*texts, failure_policy="Ignore") is expected


async def test_failure_follows_the_failure_policy() -> None:
    with pytest.raises(MatchConditionError) as raised:
        await _match("object.a == 1", "object.b == 1")
    assert str(raised.value) == "expression 'object.b == 1' resulted in error: no such key: b"
    assert not await _match("object.a == 1", "object.b == 1", failure_policy="Ignore")


async def test_equal_failures_are_reported_once() -> None:
    with pytest.raises(MatchConditionError) as raised:
        await _match("object.b == 1", "object.c == 1", "object.b == 1")
    assert str(raised.value) == (
        "[expression 'object.b == 1' resulted in error: no such key: b, "
        "expression 'object.c == 1' resulted in error: no such key: c]"
    )


async def test_single_condition_exceeds_the_budget() -> None:
    obj = {"items": list(range(1000))}
    dear = "object.items.all(x, object.items.all(y, x + y >= 0))"
    with pytest.raises(MatchConditionError) as raised:
        await _match(dear, obj=obj)
    assert (
        str(raised.value) == f"expression '{dear}' resulted in error: operation cancelled: actual cost limit exceeded"
    )


async def test_conditions_share_the_budget() -> None:
    obj = {"items": list(range(370))}
    texts = [f"object.items.all(x, object.items.all(y, x + y >= {-n}))" for n in range(3)]
    assert await _match(texts[0], obj=obj)
    with pytest.raises(MatchConditionError) as raised:
        await _match(*texts, "false", obj=obj)
    assert str(raised.value) == (
        "validation failed due to running out of cost budget, no further validation rules will be run"
    )
    assert not await _match(*texts, failure_policy="Ignore", obj=obj)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "m[0].expression: Required value"),
        ("1 + 1", 'm[0].expression: Invalid value: "1 + 1": must evaluate to bool but got int'),
        (" object.a ", 'm[0].expression: Invalid value: "object.a": must evaluate to bool but got dyn'),
        (
            "request.nope == ''",
            "m[0].expression: Invalid value: \"request.nope == ''\": compilation failed: "
            "ERROR: <input>:1:8: undefined field 'nope'\n | request.nope == ''\n | .......^",
        ),
        (
            "params.a",
            'm[0].expression: Invalid value: "params.a": compilation failed: '
            "ERROR: <input>:1:1: undeclared reference to 'params' (in container '')\n | params.a\n | ^",
        ),
        (
            "'a'.find('(') == ''",
            "m[0].expression: Internal error: program instantiation failed: "
            "error parsing regexp: missing closing ): `(`",
        ),
        (
            "authorizer.requestResource.check('create')",
            "m[0].expression: Invalid value: \"authorizer.requestResource.check('create')\": "
            "must evaluate to bool but got kubernetes.authorization.Decision",
        ),
        (
            "authorizer.foo",
            'm[0].expression: Invalid value: "authorizer.foo": compilation failed: ERROR: <input>:1:11: '
            "unexpected failed resolution of 'kubernetes.authorization.Authorizer'\n | authorizer.foo\n | ..........^",
        ),
    ],
)
def test_invalid_condition_is_reported(text: str, expected: str) -> None:
    assert [str(e) for e in validate_match_expressions(_conditions(text), "m")] == [expected]


@pytest.mark.parametrize(
    "text",
    [
        "object.a == 1",
        "[1].all(authorizer, authorizer > 0)",
        "'authorizer' != ''",
        "authorizer.requestResource.check('create').allowed()",
    ],
)
def test_valid_condition_is_accepted(text: str) -> None:
    assert validate_match_expressions(_conditions(text), "m") == []


def test_params_are_declared_on_request() -> None:
    assert validate_match_expressions(_conditions("params.a == object.a"), "m", params=True) == []
