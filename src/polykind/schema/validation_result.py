"""Results of value validation: kube-openapi's errors before they become field errors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from polykind import errors
from polykind.errors import FieldError
from polykind.golang.fmt import go_quote

_MAX_TEXT = 4 * 1024 * 1024
"""The maximum total length of the error texts in one result, in characters. Further errors are dropped."""


class SchemaError(NamedTuple):
    """One validation error. Errors with the same `text` are duplicates. If `reason` is None, the error has no path."""

    text: str
    reason: str | None = None
    path: str = ""
    value: Any = None
    limit: Any = None


class ValidationResult:
    """Errors without duplicates, and the number of successful checks.

    `match_count` is the number of successful checks. If no branch of anyOf or oneOf is valid, the errors of the branch
    with the highest count are reported.
    """

    __slots__ = ("_size", "_texts", "errors", "match_count")

    def __init__(self, error: SchemaError | None = None) -> None:
        self.errors: list[SchemaError] = []
        self._texts: set[str] = set()
        self._size = 0
        self.match_count = 0
        if error:
            self.add(error)

    def add(self, error: SchemaError) -> None:
        """Add an error, unless the result has one with the same text or has too many errors to report."""
        text = error.text
        if text not in self._texts and len(self._texts) < errors.MAX_FIELD_ERRORS and self._size < _MAX_TEXT:
            self._texts.add(text)
            self._size += len(text)
            self.errors.append(error)

    def merge(self, other: ValidationResult) -> None:
        """Add the errors and the successful checks of another result."""
        for error in other.errors:
            self.add(error)
        self.match_count += other.match_count


def wrong_type(path: str, expected: str, actual: str) -> SchemaError:
    """Return the error for a value that does not have the `expected` type."""
    text = f"{path} in body must be of type {expected}: {go_quote(actual)}"
    return SchemaError(text, "FieldValueTypeInvalid", path, actual)


def invalid(path: str, value: Any, text: str) -> SchemaError:
    """Return the error for a value that a schema keyword does not allow."""
    return SchemaError(f"{path} in body {text}", "FieldValueInvalid", path, value)


def field_errors(schema_errors: Iterable[SchemaError], prefix: str = "") -> list[FieldError]:
    """Convert errors to field errors. `prefix` is the path of the validated value, empty for a whole object."""
    return [_field_error(error, prefix) for error in schema_errors]


def _field_error(error: SchemaError, prefix: str) -> FieldError:
    reason = error.reason
    if reason is None:
        return errors.invalid(prefix or "<nil>", "", error.text)
    name = error.path.removeprefix(".")
    path = f"{prefix}.{name}" if prefix and name else prefix or name or "<nil>"
    if reason == "FieldValueRequired":
        return errors.required(path)
    if reason == "FieldValueNotSupported":
        return FieldError(reason, path, error.value, error.limit)
    if reason == "FieldValueTooLong":
        return errors.too_long(path, error.limit)
    if reason == "FieldValueTooMany":
        return errors.too_many(path, error.value, error.limit)
    return FieldError(reason, path, "" if error.value is None else error.value, error.text)
