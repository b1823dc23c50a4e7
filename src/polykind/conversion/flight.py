"""One call per key at a time, shared by all who ask meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class _Call(Generic[T]):
    __slots__ = ("task", "waiting")

    def __init__(self, task: asyncio.Task[T]) -> None:
        self.task = task
        self.waiting = 0


class Flight(Generic[T]):
    """Calls under way by key. A call is cancelled when the last one who waits for it has gone, and not before."""

    def __init__(self) -> None:
        self._calls: dict[Hashable, _Call[T]] = {}

    def __contains__(self, key: Hashable) -> bool:
        return key in self._calls

    async def share(self, key: Hashable, start: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """The result of the call for this key that is under way, else of a new one. Nobody may change the result."""
        call = self._calls.get(key)
        if call is None:
            call = self._calls[key] = _Call(asyncio.create_task(start()))
            call.task.add_done_callback(lambda _: self._landed(key, call))
        call.waiting += 1
        try:
            return await asyncio.shield(call.task)
        finally:
            call.waiting -= 1
            if not call.waiting and not call.task.done():
                self._landed(key, call)
                call.task.cancel()

    def _landed(self, key: Hashable, call: _Call[T]) -> None:
        if self._calls.get(key) is call:
            del self._calls[key]
