"""Running a coroutine without an asyncio task.

Most reads are served from memory: their coroutine ends without suspending. Running it with `send(None)` costs much less
than a task. A write suspends once, to wait for the store. The done callback of the awaited future resumes the
coroutine, which is also cheaper than a task. docs/decisions/0014 has the figures and the limits.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Generator, Iterator
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Continuation(Generic[T]):
    """A suspended coroutine. It resumes when the awaited future is done. At its end, it calls `on_done`."""

    __slots__ = ("_awaited", "_cancel_requested", "_coroutine", "_error", "_loop", "_on_done", "_result", "cancelled")

    _result: T

    def __init__(
        self,
        coroutine: Coroutine[Any, Any, T],
        awaited: Any,
        loop: asyncio.AbstractEventLoop,
        on_done: Callable[[Continuation[T]], None],
    ) -> None:
        self._coroutine = coroutine
        self._loop = loop
        self._on_done = on_done
        self._error: BaseException | None = None
        self._cancel_requested = False
        self.cancelled = False
        self._resume_after(awaited)

    def _resume_after(self, awaited: Any) -> None:
        """Resume when `awaited` is done. It is a future, or None for asyncio.sleep(0)."""
        self._awaited = awaited
        if awaited is None:
            self._loop.call_soon(self._resume)
            return
        awaited._asyncio_future_blocking = False
        awaited.add_done_callback(self._resume)
        if self._cancel_requested and awaited.cancel():
            self._cancel_requested = False

    def _resume(self, _: object = None) -> None:
        self._awaited = None
        try:
            if self._cancel_requested:
                self._cancel_requested = False
                awaited = self._coroutine.throw(asyncio.CancelledError())
            else:
                awaited = self._coroutine.send(None)
        except StopIteration as done:
            self._result = done.value
        except asyncio.CancelledError:
            self.cancelled = True
        except Exception as error:
            self._error = error
        else:
            self._resume_after(awaited)
            return
        self._on_done(self)

    def result(self) -> T:
        """Return the coroutine's result or raise its exception.

        Call this method only after `on_done` was called, and not if `cancelled` is true.
        """
        if self._error is not None:
            raise self._error
        return self._result

    def cancel(self) -> None:
        """Cancel the awaited future, which raises CancelledError in the coroutine. The coroutine may suppress the
        error.
        """
        if self._awaited is None or not self._awaited.cancel():
            self._cancel_requested = True


def run(
    coroutine: Coroutine[Any, Any, T], loop: asyncio.AbstractEventLoop, on_done: Callable[[Continuation[T]], None]
) -> T | Continuation[T]:
    """Return the coroutine's result if it ends without suspending, else a Continuation that calls `on_done`.

    The coroutine has no current task. If code needs one (asyncio.timeout, most HTTP clients), await it with `in_task`.
    """
    try:
        awaited = coroutine.send(None)
    except StopIteration as done:
        return done.value  # type: ignore[no-any-return]
    return Continuation(coroutine, awaited, loop, on_done)


class LoopCall(Generic[T]):
    """An awaitable with which a coroutine in a worker thread lets the event loop run another coroutine."""

    __slots__ = ("coroutine",)

    def __init__(self, coroutine: Coroutine[Any, Any, T]) -> None:
        self.coroutine = coroutine

    def __await__(self) -> Generator[LoopCall[T], T, T]:
        return (yield self)


class _ThreadState(threading.local):
    loop: asyncio.AbstractEventLoop | None = None
    """The event loop for which this thread computes. None in the thread of the loop itself."""


_thread_state = _ThreadState()


@contextmanager
def in_worker(loop: asyncio.AbstractEventLoop) -> Iterator[None]:
    """Mark the current thread as a worker thread, so that `in_task` and `on_loop` run coroutines on the event loop."""
    _thread_state.loop = loop
    try:
        yield
    finally:
        _thread_state.loop = None


def worker_loop() -> asyncio.AbstractEventLoop | None:
    """Return the event loop for which this worker thread computes. Return None in the thread of the loop itself."""
    return _thread_state.loop


async def run_on_loop(call: LoopCall[T]) -> T:
    """Run the coroutine of a LoopCall on the event loop."""
    return await in_task(call.coroutine)


async def in_task(coroutine: Coroutine[Any, Any, T]) -> T:
    """Await the coroutine in the current task. Without a current task, start one."""
    if _thread_state.loop is not None:
        result: T = await LoopCall(coroutine)
        return result
    if asyncio.current_task() is not None:
        return await coroutine
    return await asyncio.get_running_loop().create_task(coroutine)


async def on_loop(coroutine: Coroutine[Any, Any, T]) -> T:
    """Await a coroutine that reads or changes shared state. In a worker thread, let the event loop run it."""
    if _thread_state.loop is None:
        return await coroutine
    result: T = await LoopCall(coroutine)
    return result
