"""Running a coroutine without a task for as long as it does not wait.

Most reads are answered from memory: their coroutine ends without ever suspending. Stepping it by hand costs a
tenth of what a task costs; only one that really waits is handed over to a task, from where it stands.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Generator
from types import TracebackType
from typing import Any, TypeVar

T = TypeVar("T")


class _Rest(Coroutine[Any, Any, T]):
    """What is left of a coroutine that has suspended on `waiting`: a coroutine that begins by waiting for it.

    A task can throw into it before its first step, which a coroutine that had not begun would never see.
    """

    __slots__ = ("_coroutine", "_waiting")

    def __init__(self, coroutine: Coroutine[Any, Any, T], waiting: Any) -> None:
        self._coroutine = coroutine
        self._waiting = [waiting]

    def send(self, value: Any) -> Any:
        return self._waiting.pop() if self._waiting else self._coroutine.send(value)

    def throw(self, kind: Any, value: BaseException | object = None, traceback: TracebackType | None = None) -> Any:
        if self._waiting:
            # The task does not know yet what is waited for, so cancelling that falls to us.
            waiting = self._waiting.pop()
            if asyncio.isfuture(waiting):
                waiting.cancel()
        return self._coroutine.throw(kind if value is None else value)  # type: ignore[arg-type]

    def close(self) -> None:
        self._coroutine.close()

    def __await__(self) -> Generator[Any, Any, T]:
        raise TypeError("the rest of a coroutine is for a task to run")


def run(coroutine: Coroutine[Any, Any, T], loop: asyncio.AbstractEventLoop) -> T | asyncio.Task[T]:
    """The coroutine's result if it needs no waiting, else a task for the rest of it.

    Until its first suspension the coroutine has no current task: what needs one (asyncio.timeout, and so most HTTP
    clients) goes through `in_task`.
    """
    try:
        waiting = coroutine.send(None)
    except StopIteration as done:
        return done.value  # type: ignore[no-any-return]
    return loop.create_task(_Rest(coroutine, waiting))


async def in_task(coroutine: Coroutine[Any, Any, T]) -> T:
    """Await a coroutine that needs a task of its own around it, wherever this is called from."""
    if asyncio.current_task() is not None:
        return await coroutine
    return await asyncio.get_running_loop().create_task(coroutine)
