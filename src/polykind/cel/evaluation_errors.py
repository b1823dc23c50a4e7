"""Errors that an evaluation may raise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

NO_OVERLOAD = "no such overload"


class EvalError(Exception):
    """A CEL error value; the logical operators && and || may absorb it."""


class CostExceededError(Exception):
    """The evaluation exceeds its runtime cost limit; no operator absorbs this."""

    def __init__(self) -> None:
        super().__init__("operation cancelled: actual cost limit exceeded")


class InternalError(Exception):
    """An evaluation in which cel-go itself panics; no operator absorbs this."""

    def __init__(self, message: str) -> None:
        super().__init__(f"internal error: {message}")


CEL_ERRORS = (EvalError, TypeError, AttributeError, ValueError, LookupError, ArithmeticError)
"""Exceptions that count as CEL errors: data that violates its schema fails in a Python operation."""


def is_valid(parse: Callable[..., Any]) -> Callable[..., bool]:
    """Return a function that is True for the arguments for which `parse` raises no EvalError."""

    def accepts(*args: Any) -> bool:
        try:
            parse(*args)
        except EvalError:
            return False
        return True

    return accepts


def error_message(error: Exception) -> str:
    """Return the CEL error text; a Python exception stands for a missing overload."""
    return str(error) if isinstance(error, EvalError) else NO_OVERLOAD
