"""What conditions must obey that others write."""

from __future__ import annotations

from typing import Any

import pytest

from polykind.apis.meta.validation import validate_conditions

SOUND = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z", "reason": "R", "message": ""}


def told(**changed: Any) -> list[str]:
    return [str(error) for error in validate_conditions([{**SOUND, **changed}], "c")]


def test_a_sound_one_is_not_complained_of() -> None:
    assert told(observedGeneration=3, reason="ReasonA:ReasonB") == []


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        ({"status": "yes"}, 'c[0].status: Unsupported value: "yes": supported values: "False", "True", "Unknown"'),
        (
            {"observedGeneration": -1},
            "c[0].observedGeneration: Invalid value: -1: must be greater than or equal to zero",
        ),
        ({"lastTransitionTime": None}, "c[0].lastTransitionTime: Required value"),
        ({"reason": ""}, "c[0].reason: Required value"),
        ({"reason": "a" * 1025}, "c[0].reason: Too long: may not be more than 1024 bytes"),
        ({"message": "é" * 16385}, "c[0].message: Too long: may not be more than 32768 bytes"),
    ],
)
def test_each_field_is_checked(changed: dict[str, Any], complaint: str) -> None:
    assert told(**changed) == [complaint]


def test_a_reason_is_one_word() -> None:
    [found] = told(reason="two words")
    assert found.startswith('c[0].reason: Invalid value: "two words": a condition reason must start with alphabetic')
