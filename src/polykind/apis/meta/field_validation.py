"""Validation of single fields: numbers that must not be negative, immutable fields, integers or percentages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from polykind import errors, names
from polykind.contract import JsonObject
from polykind.errors import FieldError

IMMUTABLE = "field is immutable"
_PERCENT = "[0-9]+%"
_PERCENT_RULE = "a valid percent string must be a numeric string followed by an ending '%'"
_is_percent = re.compile(_PERCENT).fullmatch


def validate_nonnegative(value: int | None, path: str) -> list[FieldError]:
    """Return an error if a number is negative. None stands for an unset field."""
    return (
        [errors.invalid(path, value, "must be greater than or equal to 0")] if value is not None and value < 0 else []
    )


def validate_nonnegative_fields(obj: JsonObject, fields: Sequence[str], path: str) -> list[FieldError]:
    """Return an error for each field among `fields` that is a negative number, in that order."""
    return [error for name in fields for error in validate_nonnegative(obj.get(name), f"{path}.{name}")]


def validate_immutable(new: Any, old: Any, path: str) -> list[FieldError]:
    """Return an error that shows the new value if the new value differs from the old one."""
    return [errors.invalid(path, new, IMMUTABLE)] if new != old else []


def validate_int_or_percent(value: int | str, path: str) -> list[FieldError]:
    """Return an error unless the value is a number that is not negative, or a percentage such as 25%."""
    if isinstance(value, int):
        return validate_nonnegative(value, path)
    if _is_percent(value):
        return []
    return [errors.invalid(path, value, names.regex_error(_PERCENT_RULE, _PERCENT, "1%", "93%"))]


def validate_at_most_100_percent(value: int | str, path: str) -> list[FieldError]:
    """Return an error if the value is a percentage above 100%. A number can have any size."""
    is_too_large = isinstance(value, str) and _is_percent(value) and int_or_percent(value) > 100
    return [errors.invalid(path, value, "must not be greater than 100%")] if is_too_large else []


def int_or_percent(value: int | str) -> int:
    """Return a number, or the number in a percentage such as 25%. Return 0 for any other text."""
    if isinstance(value, int):
        return value
    if _is_percent(value):
        return int(value[:20].removesuffix("%"))
    return int(value) if re.fullmatch("[+-]?[0-9]{1,18}", value) else 0
