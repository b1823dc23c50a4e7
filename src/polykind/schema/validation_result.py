"""What value validation finds: the reference's errors before they become field errors, and their collection."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from polykind import errors
from polykind.errors import FieldError
from polykind.golang.fmt import go_quote
from polykind.golang.json import go_json


class SchemaError(NamedTuple):
    """One finding. `text` tells it from others; a `reason` of None is a finding without a path of its own."""

    text: str
    reason: str | None = None
    path: str = ""
    value: Any = None
    limit: Any = None


class ValidationResult:
    """Faults without repetition, and how many checks succeeded: that decides which branch of a junctor is told of."""

    __slots__ = ("_seen", "errors", "match_count")

    def __init__(self, fault: SchemaError | None = None) -> None:
        self.errors: list[SchemaError] = []
        self._seen: set[str] = set()
        self.match_count = 0
        if fault:
            self.add(fault)

    def add(self, fault: SchemaError) -> None:
        if fault.text not in self._seen:
            self._seen.add(fault.text)
            self.errors.append(fault)

    def merge(self, other: ValidationResult) -> None:
        for fault in other.errors:
            self.add(fault)
        self.match_count += other.match_count


def wrong_type(path: str, expected: str, actual: str) -> SchemaError:
    text = f"{path} in body must be of type {expected}: {go_quote(actual)}"
    return SchemaError(text, "FieldValueTypeInvalid", path, actual)


def invalid(path: str, value: Any, text: str) -> SchemaError:
    return SchemaError(f"{path} in body {text}", "FieldValueInvalid", path, value)


def field_errors(faults: Iterable[SchemaError], prefix: str = "") -> list[FieldError]:
    """The faults as the reference tells them; `prefix` is where the validated value stands (empty: at the root)."""
    return [_field_error(fault, prefix) for fault in faults]


def _field_error(fault: SchemaError, prefix: str) -> FieldError:
    reason = fault.reason
    if reason is None:
        return errors.invalid(prefix or "<nil>", "", fault.text)
    name = fault.path.removeprefix(".")
    path = f"{prefix}.{name}" if prefix and name else prefix or name or "<nil>"
    if reason == "FieldValueRequired":
        return errors.required(path)
    if reason == "FieldValueNotSupported":
        supported = [value if isinstance(value, str) else go_json(value) for value in fault.limit]
        return errors.not_supported(path, fault.value, supported)
    if reason == "FieldValueTooLong":
        return errors.too_long(path, fault.limit)
    if reason == "FieldValueTooMany":
        return errors.too_many(path, fault.value, fault.limit)
    return FieldError(reason, path, "" if fault.value is None else fault.value, fault.text)
