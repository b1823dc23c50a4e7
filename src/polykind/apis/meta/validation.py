"""Validation of values that many kinds have: numbers in a range, ports, conditions that clients write."""

from __future__ import annotations

import re
from collections.abc import Sequence

from polykind.contract import JsonObject
from polykind.errors import FieldError, duplicate, invalid, not_supported, required, too_long
from polykind.golang.utf8 import byte_length
from polykind.names import port_name, port_number, qualified_name, regex_error

MAX_MESSAGE = 32 * 1024
_MAX_REASON = 1024
_STATUSES = ("False", "True", "Unknown")
_REASON = "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?"
_REASON_RULE = (
    "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric "
    "characters or '_,:', and must end with an alphanumeric character or '_'"
)
_EXAMPLES = ("my_name", "MY_NAME", "MyName", "ReasonA,ReasonB", "ReasonA:ReasonB")
_is_reason = re.compile(_REASON).fullmatch


def positive_errors(value: int, at: str) -> list[FieldError]:
    """Validate a number that must be greater than zero."""
    return [] if value > 0 else [invalid(at, value, "must be greater than zero")]


def range_errors(value: int, at: str, lowest: int, highest: int) -> list[FieldError]:
    """Validate a number that must be in a range, including both ends."""
    if lowest <= value <= highest:
        return []
    return [invalid(at, value, f"must be between {lowest} and {highest}, inclusive")]


def port_number_errors(port: int, at: str) -> list[FieldError]:
    """Validate a port number."""
    return [invalid(at, port, reason) for reason in port_number(port)]


def port_errors(port: int | str, at: str) -> list[FieldError]:
    """Validate the number or the name of a port."""
    if isinstance(port, int):
        return port_number_errors(port, at)
    return [invalid(at, port, reason) for reason in port_name(port)]


def label_name_errors(key: str, at: str) -> list[FieldError]:
    """Validate the key of a label."""
    return [invalid(at, key, reason) for reason in qualified_name(key)]


def supported_errors(value: str, at: str, supported: Sequence[str]) -> list[FieldError]:
    """Validate a value that must be one of `supported`. An empty string is an error about a missing value."""
    if not value:
        return [required(at)]
    return [] if value in supported else [not_supported(at, value, supported)]


def validate_conditions(conditions: Sequence[JsonObject], path: str) -> list[FieldError]:
    """Validate a list of conditions, whose types must be unique."""
    found: list[FieldError] = []
    types: set[str] = set()
    for index, condition in enumerate(conditions):
        at = f"{path}[{index}]"
        if condition["type"] in types:
            found.append(duplicate(f"{at}.type", condition["type"]))
        types.add(condition["type"])
        found += _validate_condition(condition, at)
    return found


def _validate_condition(condition: JsonObject, at: str) -> list[FieldError]:
    found = [invalid(f"{at}.type", condition["type"], reason) for reason in qualified_name(condition["type"])]
    if condition["status"] not in _STATUSES:
        found.append(not_supported(f"{at}.status", condition["status"], _STATUSES))
    observed = condition.get("observedGeneration") or 0
    if observed < 0:
        found.append(invalid(f"{at}.observedGeneration", observed, "must be greater than or equal to zero"))
    if not condition.get("lastTransitionTime"):
        found.append(required(f"{at}.lastTransitionTime"))
    reason = condition.get("reason") or ""
    if not reason:
        found.append(required(f"{at}.reason"))
    else:
        if not _is_reason(reason):
            found.append(invalid(f"{at}.reason", reason, regex_error(_REASON_RULE, _REASON, *_EXAMPLES)))
        if byte_length(reason) > _MAX_REASON:
            found.append(too_long(f"{at}.reason", _MAX_REASON))
    if byte_length(condition.get("message") or "") > MAX_MESSAGE:
        found.append(too_long(f"{at}.message", MAX_MESSAGE))
    return found
