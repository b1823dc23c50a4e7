"""A job that the leader runs until it succeeds."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from polykind.contract import Leadership

_RETRY_DELAY = 1.0
"""Seconds between two attempts of a job."""


class LeaderJob:
    """Calls `attempt`, which returns True on success, when this replica becomes the leader, until it succeeds."""

    def __init__(self, leadership: Leadership, attempt: Callable[[], Awaitable[bool]]) -> None:
        self._leadership = leadership
        self._attempt = attempt
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """If this replica is the leader, return after the first attempt, so that the server starts with its results."""
        self._leadership.subscribe(self._on_leadership)
        if self._leadership.leading and not await self._attempt():
            self._on_leadership(True)

    async def close(self) -> None:
        self._on_leadership(False)
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)

    def _on_leadership(self, leading: bool) -> None:
        if self._task is not None:
            self._task.cancel()
        if leading:
            self._task = asyncio.get_running_loop().create_task(self._retry())

    async def _retry(self) -> None:
        while True:
            if await self._attempt():
                return
            await asyncio.sleep(_RETRY_DELAY)
