"""Conversions under way: whoever needs the same object meanwhile waits for the same call."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from polykind.cache.cached_object import CachedObject, Representation

Make = Callable[[Sequence[CachedObject]], Awaitable[list[Representation]]]


class _Flight:
    """One batch on its way, for as long as somebody waits for it."""

    __slots__ = ("_task", "_waiting")

    def __init__(self, task: asyncio.Task[list[Representation]]) -> None:
        self._task = task
        self._waiting = 0

    async def land(self) -> list[Representation]:
        self._waiting += 1
        try:
            return await asyncio.shield(self._task)
        finally:
            self._waiting -= 1
            if not self._waiting and not self._task.done():
                self._task.cancel()


class Singleflight:
    """The batches under way of one version of a resource."""

    def __init__(self, make: Make, on_shared: Callable[[int], None] | None = None) -> None:
        self._make = make
        self._on_shared = on_shared
        self._under_way: dict[tuple[str, int], tuple[_Flight, int]] = {}

    async def forms(self, entries: Sequence[CachedObject]) -> list[Representation]:
        """The forms of the entries: what is under way is waited for, the rest goes off as one batch."""
        shared = [self._under_way.get((e.key, e.revision)) for e in entries]
        missing = [e for e, known in zip(entries, shared, strict=True) if known is None]
        if self._on_shared is not None and len(missing) < len(entries):
            self._on_shared(len(entries) - len(missing))
        own = iter(self._start(missing)) if missing else iter(())
        places = [known or next(own) for known in shared]
        landed: dict[_Flight, list[Representation]] = {}
        for flight in dict.fromkeys(flight for flight, _ in places):
            landed[flight] = await flight.land()
        return [landed[flight][index] for flight, index in places]

    def _start(self, entries: list[CachedObject]) -> list[tuple[_Flight, int]]:
        task = asyncio.get_running_loop().create_task(self._fly(entries))
        flight = _Flight(task)
        places = [(flight, index) for index in range(len(entries))]
        for entry, place in zip(entries, places, strict=True):
            self._under_way[entry.key, entry.revision] = place
        return places

    async def _fly(self, entries: list[CachedObject]) -> list[Representation]:
        try:
            return await self._make(entries)
        finally:
            for entry in entries:
                self._under_way.pop((entry.key, entry.revision), None)
