"""Many objects in few calls: cut into batches, some at a time, and halved where a batch fails.

The reference sends one object a call. A converter that can do only that, or trips over one object of many, must not be
worse off here: a failed batch is halved until the first object at fault stands alone. If its halves succeed, smaller
batches are sent from then on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import NamedTuple

from polykind.contract import JsonObject
from polykind.conversion.failure import Failure

_AGAIN_AFTER = 200
"""So many full batches must succeed before larger ones are tried again."""


class Item(NamedTuple):
    """An object and its encoding."""

    obj: JsonObject
    encoded: bytes


Attempt = Callable[[Sequence[Item], str], Awaitable[list[JsonObject]]]
"""Converts a few objects, or raises Failure."""


class Located(Exception):
    """A failure and the first object that it befell."""

    def __init__(self, failure: Failure, obj: JsonObject) -> None:
        super().__init__(failure.said)
        self.failure = failure
        self.obj = obj


class Batches:
    """Runs an attempt over any number of objects, keeping their order."""

    def __init__(
        self,
        attempt: Attempt,
        encode: Callable[[JsonObject], bytes],
        *,
        most_objects: int = 250,
        most_bytes: int = 1_000_000,
        in_flight: int = 4,
    ) -> None:
        self._attempt = attempt
        self._encode = encode
        self._most_objects = most_objects
        self._most_bytes = most_bytes
        self._in_flight = in_flight
        self._limit = most_objects
        self._streak = 0

    async def convert(self, objects: Sequence[JsonObject], to: str) -> list[JsonObject]:
        """All objects converted. Raises Located for the first, in their order, that cannot be."""
        if len(objects) == 1:
            return await self._part([Item(objects[0], self._encode(objects[0]))], to)
        running: list[asyncio.Task[list[JsonObject]]] = []
        free = asyncio.Semaphore(self._in_flight)
        try:
            for part in self._cut(objects):
                await free.acquire()
                if any(task.done() and task.exception() for task in running):
                    break
                task = asyncio.create_task(self._part(part, to))
                task.add_done_callback(lambda _: free.release())
                running.append(task)
                await asyncio.sleep(0)  # encoding the next batch takes milliseconds
            return [obj for task in running for obj in await task]
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)

    def _cut(self, objects: Sequence[JsonObject]) -> Iterator[list[Item]]:
        part: list[Item] = []
        size = 0
        for obj in objects:
            item = Item(obj, self._encode(obj))
            if part and (len(part) >= self._limit or size + len(item.encoded) > self._most_bytes):
                yield part
                part, size = [], 0
            part.append(item)
            size += len(item.encoded)
        if part:
            yield part

    async def _part(self, part: list[Item], to: str, *, suspect: bool = False) -> list[JsonObject]:
        """A batch converted, if need be by halves. A suspect one is halved at once: the half before it had no fault."""
        tried = len(part) == 1 or (len(part) <= self._limit and not suspect)
        if tried:
            try:
                converted = await self._attempt(part, to)
            except Failure as failure:
                if len(part) == 1 or not failure.divisible:
                    raise Located(failure, part[0].obj) from None
            else:
                self._succeeded(len(part))
                return converted
        half = len(part) // 2
        converted = await self._part(part[:half], to)
        converted += await self._part(part[half:], to, suspect=tried or suspect)
        if tried:
            self._limit, self._streak = min(self._limit, half), 0
        return converted

    def _succeeded(self, count: int) -> None:
        if count == self._limit < self._most_objects:
            self._streak += 1
            if self._streak >= _AGAIN_AFTER:
                self._limit, self._streak = min(self._most_objects, 2 * self._limit), 0
