"""A queue of things to look at: each at most once at a time, again later if looking failed."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

from polykind import errors
from polykind.contract import StoreError

log = logging.getLogger("polykind.workqueue")

T = TypeVar("T", bound=Hashable)

_FIRST, _LONGEST = 0.05, 60.0
"""Seconds until the first retry, doubled at each further one, and the most that come of it."""


class WorkQueue(Generic[T]):
    """Items are looked at in the order they came, some at the same time, none twice at the same time."""

    def __init__(self, look: Callable[[T], Awaitable[None]], workers: int = 16) -> None:
        self._look = look
        self._workers = workers
        self._due: dict[T, None] = {}
        self._busy: set[T] = set()
        self._again: set[T] = set()
        self._failures: dict[T, int] = {}
        self._timers: dict[T, asyncio.TimerHandle] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._open = False

    def open(self) -> None:
        """Begin to work; what was added before has waited."""
        self._open = True
        self._dispatch()

    def pause(self) -> None:
        """Stop working and forget what is due."""
        self._open = False
        for timer in self._timers.values():
            timer.cancel()
        for task in self._tasks:
            task.cancel()
        self._timers, self._due, self._again, self._failures = {}, {}, set(), {}

    async def close(self) -> None:
        self.pause()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def add(self, item: T) -> None:
        """Look at an item, once more if it is being looked at now."""
        if item in self._busy:
            self._again.add(item)
            return
        self._due[item] = None
        self._dispatch()

    def later(self, item: T, seconds: float) -> None:
        """Look at an item when some time has passed."""
        before = self._timers.pop(item, None)
        if before is not None:
            before.cancel()
        self._timers[item] = asyncio.get_running_loop().call_later(seconds, self._retry, item)

    def _dispatch(self) -> None:
        while self._open and self._due and len(self._tasks) < self._workers:
            task = asyncio.get_running_loop().create_task(self._work())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            if len(self._tasks) >= len(self._due):
                return

    async def _work(self) -> None:
        while self._open and self._due:
            item = next(iter(self._due))
            del self._due[item]
            self._busy.add(item)
            try:
                await self._look(item)
            except (errors.APIError, StoreError) as error:
                self._failed(item, str(error))
            except Exception:
                log.exception("looking at %s failed", item)
                self._failed(item, "an error of our own")
            else:
                self._failures.pop(item, None)
            finally:
                self._busy.discard(item)
            if item in self._again:
                self._again.discard(item)
                self._due[item] = None

    def _failed(self, item: T, why: str) -> None:
        failures = self._failures[item] = self._failures.get(item, 0) + 1
        wait = min(_LONGEST, _FIRST * 2 ** (failures - 1))
        log.log(logging.WARNING if failures == 5 else logging.DEBUG, "%s: %s; again in %.1f s", item, why, wait)
        self.later(item, wait)

    def _retry(self, item: T) -> None:
        self._timers.pop(item, None)
        self.add(item)
