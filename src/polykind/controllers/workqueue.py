"""A work queue. Each item is processed by one worker at a time and retried with exponential backoff."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Hashable, Iterable
from typing import Generic, TypeVar

from polykind import errors
from polykind.contract import StoreError

log = logging.getLogger("polykind.workqueue")

T = TypeVar("T", bound=Hashable)

_FIRST_DELAY, _MAX_DELAY = 0.05, 60.0
"""Seconds until the first retry, and the maximum delay. The delay doubles with each retry."""

Process = Callable[[T], Awaitable[float | None]]
"""A function that processes an item. It returns the seconds until the item is processed again, or None."""


class UnfinishedError(Exception):
    """An item waits for something that has not happened yet. It is retried as after an error, but nothing is logged."""


class WorkQueue(Generic[T]):
    """Processes items in the order of arrival with several workers. Two workers never process the same item at once."""

    def __init__(self, process: Process[T], workers: int = 16, max_delay: float = _MAX_DELAY) -> None:
        self._process = process
        self._workers = workers
        self._max_delay = max_delay
        self._due: dict[T, None] = {}
        self._processing: set[T] = set()
        self._requeue: set[T] = set()
        self._failures: dict[T, int] = {}
        self._timers: dict[T, asyncio.TimerHandle] = {}
        self._waiters: dict[T, list[asyncio.Future[None]]] = {}
        """The callers of `attempt` whose attempt has not begun."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._open = False

    def open(self) -> None:
        """Start processing, beginning with the items added so far."""
        self._open = True
        self._dispatch()

    def pause(self) -> None:
        """Cancel the workers and drop all items."""
        self._open = False
        for timer in self._timers.values():
            timer.cancel()
        for task in self._tasks:
            task.cancel()
        for waiters in self._waiters.values():
            _release(waiters)
        self._waiters = {}
        self._timers, self._due, self._requeue, self._failures = {}, {}, set(), {}

    async def close(self) -> None:
        self.pause()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def add(self, item: T) -> None:
        """Enqueue an item. If a worker is already processing the item, process it once more afterwards."""
        if item in self._processing:
            self._requeue.add(item)
            return
        self._due[item] = None
        self._dispatch()

    def is_pending(self, item: T) -> bool:
        """True if an item is being processed or waits for a worker."""
        return item in self._processing or item in self._due

    async def attempt(self, item: T) -> None:
        """Add an item, and wait until a worker has processed it or has failed to. Do nothing if the queue is paused."""
        if not self._open:
            return
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.setdefault(item, []).append(done)
        self.add(item)
        await done

    def add_after(self, item: T, seconds: float) -> None:
        """Add an item after a delay. The new delay replaces an earlier one of the same item."""
        timer = self._timers.pop(item, None)
        if timer is not None:
            timer.cancel()
        self._timers[item] = asyncio.get_running_loop().call_later(seconds, self._add_delayed, item)

    def _dispatch(self) -> None:
        while self._open and self._due and len(self._tasks) < self._workers:
            task = asyncio.get_running_loop().create_task(self._work())
            self._tasks.add(task)
            task.add_done_callback(self._on_worker_done)
            if len(self._tasks) >= len(self._due):
                return

    async def _work(self) -> None:
        while self._open and self._due:
            item = next(iter(self._due))
            del self._due[item]
            self._processing.add(item)
            waiters = self._waiters.pop(item, ())
            try:
                delay = await self._process(item)
            except UnfinishedError:
                self._retry(item, "")
            except (errors.APIError, StoreError) as error:
                self._retry(item, str(error))
            except Exception:
                log.exception("work queue: processing %s failed unexpectedly, retrying", item)
                self._retry(item, "unexpected error")
            else:
                self._failures.pop(item, None)
                if delay is not None:
                    self.add_after(item, delay)
            finally:
                self._processing.discard(item)
                _release(waiters)
                if item in self._requeue:
                    self._requeue.discard(item)
                    self._due[item] = None

    def _on_worker_done(self, task: asyncio.Task[None]) -> None:
        """Replace a worker that `pause` has cancelled, if the queue is open again."""
        self._tasks.discard(task)
        self._dispatch()

    def _retry(self, item: T, message: str) -> None:
        failures = self._failures[item] = self._failures.get(item, 0) + 1
        delay = min(self._max_delay, _FIRST_DELAY * 2 ** min(failures - 1, 20))
        if message:
            level = logging.WARNING if failures == 5 else logging.DEBUG
            log.log(level, "work queue: cannot process %s, retrying in %.1f s: %s", item, delay, message)
        self.add_after(item, delay)

    def _add_delayed(self, item: T) -> None:
        self._timers.pop(item, None)
        self.add(item)


def _release(waiters: Iterable[asyncio.Future[None]]) -> None:
    for waiter in waiters:
        if not waiter.done():
            waiter.set_result(None)
