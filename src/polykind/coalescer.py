"""The coalescer: runs one action for all requests that arrive close together."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class Coalescer:
    """Waits for further requests, then runs `action` for all of them.

    It waits until an iteration of the event loop brings no further request, or until `limit` requests wait. `count`
    returns the number of waiting requests.
    """

    __slots__ = ("_action", "_count", "_limit", "_loop")

    def __init__(
        self, loop: asyncio.AbstractEventLoop, count: Callable[[], int], limit: int, action: Callable[[], None]
    ) -> None:
        self._loop = loop
        self._count = count
        self._limit = limit
        self._action = action

    def start(self) -> None:
        """Start to wait for further requests. The owner calls this method when the first request arrives."""
        self._loop.call_soon(self._check, 0)

    def _check(self, previous_count: int) -> None:
        count = self._count()
        if previous_count < count < self._limit:
            self._loop.call_soon(self._check, count)
        else:
            self._action()


def resolve(future: asyncio.Future[T], result: T | Exception) -> None:
    """Set the result or the exception of a future, unless the future is already done, for example cancelled."""
    if future.done():
        return
    if isinstance(result, Exception):
        future.set_exception(result)
    else:
        future.set_result(result)
