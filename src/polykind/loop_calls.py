"""Calls from worker threads to the event loop.

A coroutine that runs in a worker thread awaits `on_loop` for what must run on the event loop: reads and changes of
shared state, and calls of webhooks. On the event loop itself, `on_loop` simply awaits.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Generator, Iterator
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

T = TypeVar("T")


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
    """Mark the current thread as a worker thread, so that `on_loop` runs coroutines on the event loop."""
    _thread_state.loop = loop
    try:
        yield
    finally:
        _thread_state.loop = None


def worker_loop() -> asyncio.AbstractEventLoop | None:
    """Return the event loop for which this worker thread computes. Return None in the thread of the loop itself."""
    return _thread_state.loop


async def on_loop(coroutine: Coroutine[Any, Any, T]) -> T:
    """Await a coroutine that reads or changes shared state. In a worker thread, let the event loop run it."""
    if _thread_state.loop is None:
        return await coroutine
    result: T = await LoopCall(coroutine)
    return result
