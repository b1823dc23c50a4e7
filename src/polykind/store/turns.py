"""What stores do with the turns of the event loop: they act once for all who come together, and answer who waits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class Gathering:
    """Acts once a turn of the loop has brought nothing more, or `most` have come: `count` tells how many wait.

    Who comes alone waits for no more than one empty turn.
    """

    __slots__ = ("_act", "_count", "_loop", "_most")

    def __init__(
        self, loop: asyncio.AbstractEventLoop, count: Callable[[], int], most: int, act: Callable[[], None]
    ) -> None:
        self._loop = loop
        self._count = count
        self._most = most
        self._act = act

    def begin(self) -> None:
        """The first has come."""
        self._loop.call_soon(self._look, 0)

    def _look(self, before: int) -> None:
        count = self._count()
        if before < count < self._most:
            self._loop.call_soon(self._look, count)
        else:
            self._act()


def settle(future: asyncio.Future[T], answer: T | Exception) -> None:
    """Tell who waits, unless they have left."""
    if future.done():
        return
    if isinstance(answer, Exception):
        future.set_exception(answer)
    else:
        future.set_result(answer)
