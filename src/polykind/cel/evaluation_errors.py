"""How an evaluation may fail."""

from __future__ import annotations


class EvalError(Exception):
    """An evaluation that failed; && and || may absorb it."""


class CostExceededError(Exception):
    """An evaluation that cost more than it may; nothing absorbs this."""

    def __init__(self) -> None:
        super().__init__("operation cancelled: actual cost limit exceeded")


class InternalError(Exception):
    """An evaluation in which the reference itself stumbles; nothing absorbs this either."""

    def __init__(self, what: str) -> None:
        super().__init__(f"internal error: {what}")


NO_OVERLOAD = "no such overload"
CEL_ERRORS = (EvalError, TypeError, AttributeError, ValueError, LookupError, ArithmeticError)
"""What an evaluation may raise: data that is not what its schema says fails somewhere in Python itself."""


def error_message(failure: Exception) -> str:
    return str(failure) if isinstance(failure, EvalError) else NO_OVERLOAD
