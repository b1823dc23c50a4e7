"""Tests of the validation of common values and of conditions."""

from __future__ import annotations

from typing import Any

import pytest

from polykind.apis.meta.validation import (
    port_errors,
    positive_errors,
    supported_errors,
    validate_conditions,
)

VALID = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z", "reason": "R", "message": ""}


def messages(**changed: Any) -> list[str]:
    return [str(error) for error in validate_conditions([{**VALID, **changed}], "c")]


def test_valid_condition_has_no_errors() -> None:
    assert messages(observedGeneration=3, reason="ReasonA:ReasonB") == []


@pytest.mark.parametrize(
    ("changed", "message"),
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
def test_condition_errors(changed: dict[str, Any], message: str) -> None:
    assert messages(**changed) == [message]


def test_reason_must_be_one_word() -> None:
    [error] = messages(reason="two words")
    assert error.startswith('c[0].reason: Invalid value: "two words": a condition reason must start with alphabetic')


@pytest.mark.parametrize(
    ("port", "message"),
    [
        (80, None),
        ("http", None),
        (0, "p: Invalid value: 0: must be between 1 and 65535, inclusive"),
        ("9", 'p: Invalid value: "9": must contain at least one letter (a-z)'),
    ],
)
def test_ports(port: int | str, message: str | None) -> None:
    assert [str(error) for error in port_errors(port, "p")] == ([message] if message else [])


def test_numbers() -> None:
    assert positive_errors(1, "n") == []
    assert [str(e) for e in positive_errors(0, "n")] == ["n: Invalid value: 0: must be greater than zero"]


def test_supported_values() -> None:
    assert supported_errors("A", "v", ("A", "B")) == []
    assert [str(e) for e in supported_errors("", "v", ("A",))] == ["v: Required value"]
    assert [str(e) for e in supported_errors("C", "v", ("B", "A"))] == [
        'v: Unsupported value: "C": supported values: "B", "A"'
    ]
