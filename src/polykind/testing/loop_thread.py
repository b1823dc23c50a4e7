"""An event loop in its own thread, which runs the servers of tests."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
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

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in the loop's thread, and block the calling thread until the result is there."""
        if threading.current_thread() is self._thread:
            work.close()
            raise RuntimeError("called from the server's own thread, which would wait for itself forever")
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result(self._timeout)
        except TimeoutError:
            name = getattr(work, "__qualname__", work)
            raise TimeoutError(f"{name} did not finish within {self._timeout:g} s") from None
        finally:
            future.cancel()

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
