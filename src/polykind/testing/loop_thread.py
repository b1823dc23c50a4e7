"""An event loop in its own thread, which runs the servers of tests."""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from functools import wraps
from typing import Any, TypeVar

import uvloop

T = TypeVar("T")

TIMEOUT_SECONDS = 60.0
"""The maximum time that `run` waits for a coroutine, in seconds. It normally takes less than a tenth of this time."""


class LoopThread:
    """A thread with a running event loop. `close` stops the loop and waits until the thread has ended."""

    def __init__(self, timeout: float = TIMEOUT_SECONDS) -> None:
        self._timeout = timeout
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, name="polykind-testing", daemon=True)
        self._thread.start()
        self._ready.wait()

    def run(self, work: Coroutine[Any, Any, T], *, extra: float | None = 0.0, caller: WaitingThread | None = None) -> T:
        """Run a coroutine in the loop's thread, and block the calling thread until the result is there.

        `extra` seconds are added to the timeout of this object; None means no timeout. While the calling thread waits,
        it runs the functions that `caller` wraps. Raise TimeoutError if the coroutine takes too long.
        """
        if threading.current_thread() is self._thread:
            work.close()
            raise RuntimeError("called from the server's own thread, which would wait for itself forever")
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        seconds = None if extra is None else self._timeout + extra
        try:
            (caller or WaitingThread()).wait(future, seconds)
            return future.result(0)
        except queue.Empty:
            name = getattr(work, "__qualname__", work)
            raise TimeoutError(f"{name} did not finish within {seconds:g} s") from None
        finally:
            future.cancel()

    async def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in the loop's thread, and return its result to a coroutine of any event loop."""
        if asyncio.get_running_loop() is self._loop:
            return await work
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._ending.set)
        self._thread.join()

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(self._main())

    async def _main(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._ending = asyncio.Event()
        self._ready.set()
        await self._ending.wait()


class WaitingThread:
    """A thread that waits for a coroutine in another thread, and meanwhile runs functions for that coroutine.

    Functions of a test need this. They may block, or send requests to the server whose loop runs the coroutine.
    """

    def __init__(self) -> None:
        self._functions: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()

    def wrap(self, function: Callable[..., T]) -> Callable[..., Awaitable[T]]:
        """Return an async function that calls `function` in the waiting thread."""

        @wraps(function)
        async def called(*args: Any) -> T:
            result: Future[T] = Future()

            def work() -> None:
                if not result.set_running_or_notify_cancel():
                    return
                try:
                    result.set_result(function(*args))
                except BaseException as error:
                    result.set_exception(error)

            self._functions.put(work)
            return await asyncio.wrap_future(result)

        return called

    def wait(self, future: Future[Any], seconds: float | None) -> None:
        """Run the wrapped functions until `future` is done. Raise queue.Empty if that takes longer than `seconds`."""
        future.add_done_callback(lambda _: self._functions.put(None))
        deadline = None if seconds is None else time.monotonic() + seconds
        left = seconds
        while (work := self._functions.get(timeout=left)) is not None:
            work()
            left = None if deadline is None else max(deadline - time.monotonic(), 0.0)
