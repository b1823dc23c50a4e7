"""Running a coroutine without a task for as long as it does not wait.

Most reads are answered from memory: their coroutine ends without ever suspending. Stepping it by hand costs a
tenth of what a task costs; only one that really waits is handed over to a task, from where it stands.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Generator
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class _Rest(Generic[T]):
    """What is left of a coroutine that has suspended on `waiting`."""

    __slots__ = ("_coroutine", "_waiting")

    def __init__(self, coroutine: Coroutine[Any, Any, T], waiting: Any) -> None:
        self._coroutine = coroutine
        self._waiting = waiting

    def __await__(self) -> Generator[Any, Any, T]:
        waiting = self._waiting
        while True:
            try:
                sent = yield waiting
            except BaseException as error:
                try:
                    waiting = self._coroutine.throw(error)
                except StopIteration as done:
                    return done.value  # type: ignore[no-any-return]
            else:
                try:
                    waiting = self._coroutine.send(sent)
                except StopIteration as done:
                    return done.value  # type: ignore[no-any-return]


async def _finish(rest: _Rest[T]) -> T:
    return await rest


def run(coroutine: Coroutine[Any, Any, T], loop: asyncio.AbstractEventLoop) -> T | asyncio.Task[T]:
    """The coroutine's result if it needs no waiting, else a task for the rest of it.

    Until its first suspension the coroutine has no current task: what needs one (asyncio.timeout, and so most HTTP
    clients) goes through `in_task`.
    """
    try:
        waiting = coroutine.send(None)
    except StopIteration as done:
        return done.value  # type: ignore[no-any-return]
    return loop.create_task(_finish(_Rest(coroutine, waiting)))


async def in_task(coroutine: Coroutine[Any, Any, T]) -> T:
    """Await a coroutine that needs a task of its own around it, wherever this is called from."""
    if asyncio.current_task() is not None:
        return await coroutine
    return await asyncio.get_running_loop().create_task(coroutine)
