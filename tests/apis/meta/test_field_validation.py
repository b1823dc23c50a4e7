from __future__ import annotations

from typing import Any

import pytest

from polykind.apis.meta.field_validation import (
    int_or_percent,
    validate_at_most_100_percent,
    validate_immutable,
    validate_int_or_percent,
    validate_nonnegative_fields,
)

PERCENT = (
    "a valid percent string must be a numeric string followed by an ending '%' "
    "(e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"
)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0, []),
        (-1, ["f: Invalid value: -1: must be greater than or equal to 0"]),
        ("25%", []),
        ("5", [f'f: Invalid value: "5": {PERCENT}']),
        ("-5%", [f'f: Invalid value: "-5%": {PERCENT}']),
    ],
)
def test_int_or_percent(value: int | str, expected: list[str]) -> None:
    assert [str(error) for error in validate_int_or_percent(value, "f")] == expected


@pytest.mark.parametrize(("value", "number"), [(7, 7), ("30%", 30), ("12", 12), ("x", 0), ("", 0)])
def test_number_of_int_or_percent(value: int | str, number: int) -> None:
    assert int_or_percent(value) == number


def test_only_percentages_are_limited_to_100() -> None:
    assert not validate_at_most_100_percent(500, "f")
    assert not validate_at_most_100_percent("100%", "f")
    assert [str(error) for error in validate_at_most_100_percent("101%", "f")] == [
        'f: Invalid value: "101%": must not be greater than 100%'
    ]
    assert validate_at_most_100_percent("9" * 30 + "%", "f")


def test_nonnegative_fields_are_reported_in_the_given_order() -> None:
    found = validate_nonnegative_fields({"a": -1, "b": 0, "c": -2}, ("c", "b", "a", "unset"), "s")
    assert [error.field for error in found] == ["s.c", "s.a"]


@pytest.mark.parametrize(("new", "old", "valid"), [(1, 1, True), (None, None, True), (1, 2, False), (None, 2, False)])
def test_immutable(new: Any, old: Any, valid: bool) -> None:
    assert (not validate_immutable(new, old, "f")) is valid
