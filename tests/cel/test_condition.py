"""Conditions over variables of any type, as admission policies and webhooks have them."""

from __future__ import annotations

from typing import Any

import pytest

from polykind.cel import ConditionError, condition
from polykind.cel.types import STRING

_NAMES = ("object", "oldObject", "request")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("!has(object.litres) || object.litres <= 100", False),
        ("request.operation == 'CREATE' || oldObject.?owner == object.?owner", True),
        ("!object.metadata.name.startsWith('test-')", True),
        ("oldObject == null", True),
        ("object.tags.exists(t, t == 'a')", True),
        ("object.nosuch == 1", "no such key: nosuch"),
        ("object.litres + 'a' == ''", "no such overload"),
    ],
)
def test_a_condition(text: str, expected: Any) -> None:
    obj = {"metadata": {"name": "a"}, "litres": 101, "tags": ["a"]}
    outcome = condition(text, _NAMES).run({"object": obj, "request": {"operation": "CREATE"}})
    assert (outcome.failure or outcome.value) == expected


def test_a_message() -> None:
    message = condition("'owner ' + object.owner + ' is not known'", _NAMES, result=STRING)
    assert message.run({"object": {"owner": "me"}}).value == "owner me is not known"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 + 1", "must evaluate to bool but got int"),
        ("nosuch", "compilation failed: ERROR: <input>:1:1: undeclared reference to 'nosuch' (in container '')"),
        ("'a'.find('(') == ''", "instantiation failed: error parsing regexp: missing closing ): `(`"),
    ],
)
def test_what_is_no_condition(text: str, expected: str) -> None:
    with pytest.raises(ConditionError) as raised:
        condition(text, _NAMES)
    assert str(raised.value).split("\n")[0] == expected
