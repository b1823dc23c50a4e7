"""Sharing of running conversions: concurrent requests for the same object wait for the same call."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from polykind.cache.cached_object import CachedObject, Representation

ConvertBatch = Callable[[Sequence[CachedObject]], Awaitable[list[Representation]]]


class _Flight:
    """One batch of running conversions. The batch is cancelled when no request waits for it any more."""

    __slots__ = ("_task", "_waiters")

    def __init__(self, task: asyncio.Task[list[Representation]]) -> None:
        self._task = task
        self._waiters = 0

    async def wait(self) -> list[Representation]:
        self._waiters += 1
        try:
            return await asyncio.shield(self._task)
        finally:
            self._waiters -= 1
            if not self._waiters and not self._task.done():
                self._task.cancel()


class Singleflight:
    """The running conversions of one version of a resource."""

    def __init__(self, convert_batch: ConvertBatch, on_shared: Callable[[int], None] | None = None) -> None:
        self._convert_batch = convert_batch
        self._on_shared = on_shared
        """A function to call with the number of objects whose conversion was already running."""
        self._in_flight: dict[tuple[str, int], tuple[_Flight, int]] = {}

    async def convert(self, objects: Sequence[CachedObject]) -> list[Representation]:
        """Return the representations of cached objects. Convert objects without a running conversion as one batch."""
        shared = [self._in_flight.get((cached.key, cached.revision)) for cached in objects]
        missing = [cached for cached, known in zip(objects, shared, strict=True) if known is None]
        if self._on_shared is not None and len(missing) < len(objects):
            self._on_shared(len(objects) - len(missing))
        started = iter(self._start(missing)) if missing else iter(())
        places = [known or next(started) for known in shared]
        landed: dict[_Flight, list[Representation]] = {}
        for flight in dict.fromkeys(flight for flight, _ in places):
            landed[flight] = await flight.wait()
        return [landed[flight][index] for flight, index in places]

    def _start(self, objects: list[CachedObject]) -> list[tuple[_Flight, int]]:
        task = asyncio.get_running_loop().create_task(self._run(objects))
        flight = _Flight(task)
        places = [(flight, index) for index in range(len(objects))]
        for cached, place in zip(objects, places, strict=True):
            self._in_flight[cached.key, cached.revision] = place
        return places

    async def _run(self, objects: list[CachedObject]) -> list[Representation]:
        try:
            return await self._convert_batch(objects)
        finally:
            for cached in objects:
                self._in_flight.pop((cached.key, cached.revision), None)
