"""Exceptions that the fixtures raise in tests."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from functools import wraps
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


class Refused(Exception):
    """A request of a fixture failed, or a fixture was called with invalid arguments.

    The text is the API server's message, or the cause and its remedy. `status` is the HTTP status, or 0 if no request
    was sent.
    """

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


class Unmet(AssertionError):
    """An object did not meet a condition in time. The message shows the object's last state."""


def raise_at_caller(method: Callable[P, R]) -> Callable[P, R]:
    """Decorate a method so that pytest shows its exceptions at the line in the test that calls the method."""

    @wraps(method)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        __tracebackhide__ = True
        try:
            return method(*args, **kwargs)
        except (Refused, Unmet) as error:
            raise error.with_traceback(None) from None

    return called


def raise_at_awaiter(method: Callable[P, Awaitable[R]]) -> Callable[P, Coroutine[Any, Any, R]]:
    """Decorate an async method so that pytest shows its exceptions at the line in the test that awaits the method."""

    @wraps(method)
    async def called(*args: P.args, **kwargs: P.kwargs) -> R:
        __tracebackhide__ = True
        try:
            _require_asyncio()
            return await method(*args, **kwargs)
        except (Refused, Unmet) as error:
            raise error.with_traceback(None) from None

    return called


def _require_asyncio() -> None:
    """Raise Refused if the running event loop is not one of asyncio, but for example trio's."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        raise Refused("the async methods need asyncio: use pytest-asyncio, or anyio's asyncio backend") from None
