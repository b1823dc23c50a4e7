"""Work that only the leader does: a task while this replica leads, and a job until it succeeds."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from polykind.contract import Leadership

_RETRY_DELAY = 1.0
"""Seconds between two attempts of a job."""


class LeaderTask:
    """Runs `work` from the moment when this replica becomes the leader until it is no longer the leader."""

    def __init__(self, leadership: Leadership, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._leadership = leadership
        self._work = work
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._leadership.subscribe(self._on_leadership)
        self._on_leadership(self._leadership.leading)

    async def close(self) -> None:
        self._on_leadership(False)
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)

    def _on_leadership(self, leading: bool) -> None:
        if self._task is not None:
            self._task.cancel()
        if leading:
            self._task = asyncio.get_running_loop().create_task(self._work())


class LeaderJob:
    """Calls `attempt`, which returns True on success, when this replica becomes the leader, until it succeeds."""

    def __init__(self, leadership: Leadership, attempt: Callable[[], Awaitable[bool]]) -> None:
        self._leadership = leadership
        self._attempt = attempt
        self._attempted = False
        self._task = LeaderTask(leadership, self._retry)

    async def start(self) -> None:
        """If this replica is the leader, return after the first attempt, so that the server starts with its results."""
        self._attempted = self._leadership.leading and await self._attempt()
        self._task.start()

    async def close(self) -> None:
        await self._task.close()

    async def _retry(self) -> None:
        if self._attempted:
            # The attempt at the start was successful. A later term of this replica needs another one.
            self._attempted = False
            return
        while True:
            if await self._attempt():
                return
            await asyncio.sleep(_RETRY_DELAY)
