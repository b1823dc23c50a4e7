"""Conversion of many objects in few calls to a converter.

kube-apiserver sends one object per call, so a converter may support only one object, or may fail because of one object
of many. If a batch fails, it is therefore split in halves until the first failing object is alone. If both halves of a
failed batch succeed, later batches are smaller.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import NamedTuple

from polykind.contract import JsonObject
from polykind.conversion.conversion_errors import AttemptError, ConversionFailedError

_GROW_AFTER = 200
"""The number of full batches that must succeed before the batch size is doubled again."""


class EncodedObject(NamedTuple):
    """An object with its JSON encoding."""

    obj: JsonObject
    encoded: bytes


ConvertBatch = Callable[[Sequence[EncodedObject], str], Awaitable[list[JsonObject]]]
"""A function that converts one batch to an apiVersion. It raises AttemptError if the conversion fails."""


class LocatedError(Exception):
    """A failed conversion: `failure` is the error, and `obj` the first object that could not be converted."""

    def __init__(self, failure: AttemptError, obj: JsonObject) -> None:
        super().__init__(failure.message)
        self.failure = failure
        self.obj = obj


class Repair(NamedTuple):
    """A batch whose conversion failed although all its objects can be converted, in smaller batches."""

    failure: AttemptError
    objects: int

    def __str__(self) -> str:
        review = f" (review {self.failure.review})" if self.failure.review else ""
        return f"a review of {self.objects} objects failed: {self.failure.message}{review}"


class Batches:
    """Converts any number of objects in batches and keeps their order."""

    def __init__(
        self,
        convert_batch: ConvertBatch,
        encode: Callable[[JsonObject], bytes],
        *,
        max_objects: int = 250,
        max_bytes: int = 1_000_000,
        concurrency: int = 4,
        on_repair: Callable[[Repair], None] = lambda _: None,
    ) -> None:
        """`on_repair` is called when only smaller batches could be converted."""
        self._convert_batch = convert_batch
        self._encode = encode
        self._max_objects = max_objects
        self._max_bytes = max_bytes
        self._concurrency = concurrency
        self._batch_limit = max_objects
        self._successes = 0
        self._on_repair = on_repair
        self.repair: Repair | None = None
        """The last batch that had to be split, until one of its size succeeds."""

    async def convert_where_needed(
        self, objects: Sequence[JsonObject], to: str, address: Callable[[], str]
    ) -> list[JsonObject]:
        """Return all objects at the apiVersion `to`. The converter is called only for the objects that need it.

        Objects that already have this apiVersion are returned unchanged. Empty objects only get the new apiVersion.
        `address` returns the address of the converter for error messages. Raise ConversionFailedError if a conversion
        fails.
        """
        out = [{**obj, "apiVersion": to} if is_empty(obj) else obj for obj in objects]
        indexes = [i for i, obj in enumerate(out) if obj.get("apiVersion") != to]
        if indexes:
            try:
                converted = await self.convert([out[i] for i in indexes], to)
            except LocatedError as error:
                raise ConversionFailedError(error.failure, error.obj, to, address()) from error.failure
            for index, obj in zip(indexes, converted, strict=True):
                out[index] = obj
        return out

    async def convert(self, objects: Sequence[JsonObject], to: str) -> list[JsonObject]:
        """Convert all objects to the apiVersion `to`, in their order. Raise LocatedError for the first that fails."""
        if len(objects) == 1:
            return await self._convert_or_split([EncodedObject(objects[0], self._encode(objects[0]))], to)
        tasks: list[asyncio.Task[list[JsonObject]]] = []
        free = asyncio.Semaphore(self._concurrency)
        try:
            for batch in self._split(objects):
                await free.acquire()
                if any(task.done() and task.exception() for task in tasks):
                    break
                task = asyncio.create_task(self._convert_or_split(batch, to))
                task.add_done_callback(lambda _: free.release())
                tasks.append(task)
                await asyncio.sleep(0)  # Yield, because encoding the next batch takes milliseconds.
            return [obj for task in tasks for obj in await task]
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _split(self, objects: Sequence[JsonObject]) -> Iterator[list[EncodedObject]]:
        batch: list[EncodedObject] = []
        size = 0
        for obj in objects:
            item = EncodedObject(obj, self._encode(obj))
            if batch and (len(batch) >= self._batch_limit or size + len(item.encoded) > self._max_bytes):
                yield batch
                batch, size = [], 0
            batch.append(item)
            size += len(item.encoded)
        if batch:
            yield batch

    async def _convert_or_split(
        self, batch: list[EncodedObject], to: str, *, suspect: bool = False
    ) -> list[JsonObject]:
        """Convert a batch. If the conversion fails, convert its two halves separately.

        `suspect` is true if the batch is the second half of a failed batch whose first half succeeded. It then contains
        the failing object, so it is split without an attempt.
        """
        attempted = len(batch) == 1 or (len(batch) <= self._batch_limit and not suspect)
        failed: AttemptError | None = None
        if attempted:
            try:
                converted = await self._convert_batch(batch, to)
            except AttemptError as failure:
                if len(batch) == 1 or not failure.divisible:
                    raise LocatedError(failure, batch[0].obj) from None
                failed = failure
            else:
                self._record_success(len(batch))
                return converted
        half = len(batch) // 2
        converted = await self._convert_or_split(batch[:half], to)
        converted += await self._convert_or_split(batch[half:], to, suspect=attempted or suspect)
        if failed is not None:
            self._batch_limit, self._successes = min(self._batch_limit, half), 0
            if failed.cause != "Size":
                self.repair = Repair(failed, len(batch))
                self._on_repair(self.repair)
        return converted

    def _record_success(self, count: int) -> None:
        if self.repair is not None and count >= self.repair.objects:
            self.repair = None
        if count == self._batch_limit < self._max_objects:
            self._successes += 1
            if self._successes >= _GROW_AFTER:
                self._batch_limit, self._successes = min(self._max_objects, 2 * self._batch_limit), 0


def is_empty(obj: JsonObject) -> bool:
    """True if the object has only apiVersion and kind. As in kube-apiserver, the converter is not called for it."""
    return len(obj) == 2 and "apiVersion" in obj and "kind" in obj
