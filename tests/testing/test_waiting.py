"""Conditions of wait_for, and why an object does not meet them."""

from __future__ import annotations

from typing import Any

import pytest

from polykind.testing.waiting import Condition

READY = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
NOT_READY = {"status": {"conditions": [{"type": "Ready", "status": "False", "message": "no disk"}]}}


def asserting(obj: dict[str, Any]) -> bool:
    assert obj.get("ready"), "not ready"
    return True


@pytest.mark.parametrize(
    ("wanted", "obj", "lacking"),
    [
        ("create", {}, ""),
        ("create", None, "it does not exist"),
        ("delete", None, ""),
        ("delete", {}, "it still exists"),
        ("condition=Ready", READY, ""),
        ("condition=Ready", {}, "it has no condition Ready"),
        ("condition=Ready", NOT_READY, "its condition Ready is False: no disk"),
        ("condition=Ready=false", NOT_READY, ""),
        ("condition=Ready", None, "it does not exist"),
        (lambda obj: obj["a"] == 1, {"a": 1}, ""),
        (lambda obj: obj["a"] == 1, {"a": 2}, "the function returned False"),
        (lambda obj: obj["a"] == 1, {}, "KeyError: 'a'"),
        (lambda obj: obj["a"] == 1, None, "it does not exist"),
        (asserting, {"ready": True}, ""),
    ],
)
async def test_unmet_reason_of_conditions(wanted: Any, obj: Any, lacking: str) -> None:
    assert await Condition(wanted).unmet_reason(obj) == lacking


async def test_assertion_in_a_predicate_is_the_reason() -> None:
    assert (await Condition(asserting).unmet_reason({})).startswith("AssertionError: not ready")


def test_unknown_condition_is_rejected() -> None:
    with pytest.raises(ValueError, match="'Ready' is not a condition: pass a function"):
        Condition("Ready")
