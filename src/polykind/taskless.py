"""Running a coroutine without a task.

Most reads are answered from memory: their coroutine ends without ever suspending, and stepping it by hand costs a tenth
of what a task costs. A write waits once, for the store: the rest of it is stepped by whatever it waits for, at a
third of a task's cost and one turn of the loop earlier.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Rest(Generic[T]):
    """What is left of a coroutine that has suspended: it goes on when what it waits for is done, then tells `then`."""

    __slots__ = ("_cancelling", "_coroutine", "_error", "_loop", "_result", "_then", "_waiting", "cancelled")

    _result: T

    def __init__(
        self,
        coroutine: Coroutine[Any, Any, T],
        waiting: Any,
        loop: asyncio.AbstractEventLoop,
        then: Callable[[Rest[T]], None],
    ) -> None:
        self._coroutine = coroutine
        self._loop = loop
        self._then = then
        self._error: BaseException | None = None
        self._cancelling = False
        self.cancelled = False
        self._wait(waiting)

    def _wait(self, waiting: Any) -> None:
        """`waiting` is what a coroutine yields to its task: a future that is blocked on, or None for a turn."""
        self._waiting = waiting
        if waiting is None:
            self._loop.call_soon(self._go_on)
            return
        waiting._asyncio_future_blocking = False
        waiting.add_done_callback(self._go_on)
        if self._cancelling and waiting.cancel():
            self._cancelling = False

    def _go_on(self, _: object = None) -> None:
        self._waiting = None
        try:
            if self._cancelling:
                self._cancelling = False
                waiting = self._coroutine.throw(asyncio.CancelledError())
            else:
                waiting = self._coroutine.send(None)
        except StopIteration as done:
            self._result = done.value
        except asyncio.CancelledError:
            self.cancelled = True
        except Exception as error:
            self._error = error
        else:
            self._wait(waiting)
            return
        self._then(self)

    def result(self) -> T:
        """What the coroutine has come to; only once `then` has been told, and if it was not cancelled."""
        if self._error is not None:
            raise self._error
        return self._result

    def cancel(self) -> None:
        """Cancel what is waited for, and so the coroutine, unless it takes no heed."""
        if self._waiting is None or not self._waiting.cancel():
            self._cancelling = True


def run(
    coroutine: Coroutine[Any, Any, T], loop: asyncio.AbstractEventLoop, then: Callable[[Rest[T]], None]
) -> T | Rest[T]:
    """The coroutine's result if it needs no waiting, else the rest of it, of whose end `then` is told.

    It has no current task: what needs one (asyncio.timeout, and so most HTTP clients) goes through `in_task`.
    """
    try:
        waiting = coroutine.send(None)
    except StopIteration as done:
        return done.value  # type: ignore[no-any-return]
    return Rest(coroutine, waiting, loop, then)


async def in_task(coroutine: Coroutine[Any, Any, T]) -> T:
    """Await a coroutine that needs a task of its own around it, wherever this is called from."""
    if asyncio.current_task() is not None:
        return await coroutine
    return await asyncio.get_running_loop().create_task(coroutine)
