"""Failures are shown where the test asked for something, not where it was found to be wrong."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from polykind.testing.exceptions import Refused
from polykind.testing.waiting import Unmet

P = ParamSpec("P")
R = TypeVar("R")


def raise_at_caller(method: Callable[P, R]) -> Callable[P, R]:
    """Have what a method refuses look as if the caller's line had refused it."""

    @wraps(method)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        __tracebackhide__ = True
        try:
            return method(*args, **kwargs)
        except (Refused, Unmet) as error:
            raise error.with_traceback(None) from None

    return called
