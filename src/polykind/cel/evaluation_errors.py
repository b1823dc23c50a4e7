"""Errors that an evaluation may raise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

NO_OVERLOAD = "no such overload"


class EvalError(Exception):
    """A CEL error value. The logical operators && and || may absorb it."""


class CostExceededError(Exception):
    """The evaluation exceeds its runtime cost limit. Unlike EvalError, no operator absorbs this error."""

    def __init__(self) -> None:
        super().__init__("operation cancelled: actual cost limit exceeded")


class InternalError(Exception):
    """The evaluation would make cel-go panic. Unlike EvalError, no operator absorbs this error."""

    def __init__(self, message: str) -> None:
        super().__init__(f"internal error: {message}")


CEL_ERRORS = (EvalError, TypeError, AttributeError, ValueError, LookupError, ArithmeticError)
"""Exceptions to treat as CEL errors. Python operations raise the built-in ones for data that violates its schema."""


def is_valid(parse: Callable[..., Any]) -> Callable[..., bool]:
    """Return a function that returns True if `parse` accepts its arguments without an EvalError."""

    def accepts(*args: Any) -> bool:
        try:
            parse(*args)
        except EvalError:
            return False
        return True

    return accepts


def error_message(error: Exception) -> str:
    """Return the CEL error text of an exception. A built-in Python exception is reported as a missing overload."""
    return str(error) if isinstance(error, EvalError) else NO_OVERLOAD
