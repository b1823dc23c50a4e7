"""The rewriter of a migration: writes all objects of a resource again, at the storage version and with its schema."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from time import monotonic

from polykind import errors
from polykind.apis.storagemigration.state import Failures, GroupResource
from polykind.cache.cached_object import CachedObject, Encoded, Representation
from polykind.codec import json_codec
from polykind.contract import RevisionConflictError
from polykind.controllers.object_client import ObjectClient
from polykind.conversion.conversion_errors import ConversionFailedError
from polykind.operations.backend import Backend
from polykind.resources.resource import Resource, ServedVersion

_MAX_TIMEOUTS = 10
"""The number of consecutive failed calls after which the last attempt treats the converter as down.

Finding one failing object in a batch by halving the batch takes fewer calls.
"""
_BATCH_SIZE, _BATCH_BYTES = 64, 256 * 1024
"""The maximum number of objects in a batch and their maximum total size. A batch is converted in one call."""
_TIME_SLICE = 0.01
"""The maximum time in seconds that the rewriter works before it lets other tasks of the event loop run."""
RETRY_DELAYS = (0.5, 2.0, 5.0, 10.0)
"""The delays in seconds between attempts to rewrite the objects, if the converter cannot be called."""


class NotServedError(Exception):
    """The resource is not served any more."""


class _ConverterDownError(Exception):
    """The converter cannot be called at all."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class Rewriter:
    """Rewrites the objects of a resource until each is stored as the server would store it in a write now.

    Admission and validation are skipped, because an object that a newer schema rejects must be migrated, too. If
    another client writes an object first, its write is kept, and the rewriter checks all objects again.
    """

    def __init__(self, backend: Backend, target: GroupResource, check: Callable[[], None]) -> None:
        self._backend = backend
        self._client = ObjectClient(backend)
        self._target = target
        self._check = check
        """A function that raises an exception if the migration was deleted or the CRD was replaced."""
        self._conflicted = False
        self._splits_batches = False
        """True during the last attempt. Then even a batch whose call fails, for example by a timeout, is split in
        halves, because one object may be the cause.
        """
        self._timeouts = 0
        self.written = 0

    async def run(self) -> Failures:
        """Rewrite all objects, and return those that could not be rewritten, with their errors.

        If the converter cannot be called, wait and try again, and finally report all remaining objects as failed.
        """
        # A conversion that a fixed converter would not repeat must not be stored.
        self._served_resource().drop_conversions()
        for delay in RETRY_DELAYS:
            try:
                return await self._walk()
            except _ConverterDownError:
                await asyncio.sleep(delay)
        self._splits_batches = True
        try:
            return await self._walk()
        except _ConverterDownError as error:
            return self._all_failed(error.message)

    async def _walk(self) -> Failures:
        """Rewrite all objects in batches. Start again if the CRD changes or another client writes an object first."""
        while True:
            resource = self._served_resource()
            await self._backend.cache.wait_until_fresh(resource.cache)
            version = resource.storage_version()
            failures, after, self._conflicted = Failures(), "", False
            while objects := _limit_bytes(resource.cache.snapshot(None, after, _BATCH_SIZE)):
                self._check()
                if self._served_resource() is not resource or not resource.cache.loaded:
                    self._conflicted = True
                    break
                after = objects[-1].key
                await self._rewrite_batch(version, objects, failures)
                await asyncio.sleep(0)
            await self._backend.cache.wait_until_fresh(resource.cache)
            remaining = sum(count for name, count in resource.cache.version_counts.items() if name != resource.storage)
            # Repeat the loop if more objects than the failed ones are still at an old version: another replica, which
            # did not know the new storage version yet, may have written them.
            if not self._conflicted and remaining <= failures.count:
                self._record("failed", failures.count)
                return failures

    def _served_resource(self) -> Resource:
        resource = self._backend.registry.resource(*self._target)
        if resource is None:
            raise NotServedError
        return resource

    async def _rewrite_batch(self, version: ServedVersion, objects: Sequence[CachedObject], failures: Failures) -> None:
        storage, generation = version.resource.storage, version.cache.schema_generation
        encrypted_with_old_key = await self._find_stale(version.cache.prefix, objects)
        # Skip objects that were written at the storage version with the current schema and encryption key.
        stale = [
            e
            for e in objects
            if not (e.normalized and e.version == storage and e.schema_generation == generation)
            or e.key in encrypted_with_old_key
        ]
        pending: list[tuple[CachedObject, Encoded]] = []
        failed_before = failures.count
        slice_start = monotonic()
        for cached, representation in zip(stale, await self._convert(version, stale), strict=True):
            if isinstance(representation, errors.APIError):
                failures.add(cached.key, representation.message)
                continue
            stale_key = cached.key in encrypted_with_old_key
            if representation is not cached or stale_key:
                encoded = _encode(version, representation)
                if stale_key or encoded.served(cached.revision) != cached.raw:
                    pending.append((cached, encoded))
            if monotonic() - slice_start > _TIME_SLICE:
                await asyncio.sleep(0)
                slice_start = monotonic()
        written = sum(await asyncio.gather(*(self._put(version, cached, encoded) for cached, encoded in pending)))
        self.written += written
        self._conflicted = self._conflicted or written < len(pending)
        self._record("migrated", written)
        self._record("overtaken", len(pending) - written)
        self._record("current", len(objects) - len(pending) - failures.count + failed_before)

    async def _find_stale(self, prefix: str, objects: Sequence[CachedObject]) -> set[str]:
        """Return the keys of the objects whose values in the store are encrypted with an old key."""
        stale_values = self._backend.stale_values
        if stale_values is None:
            return set()
        found = await stale_values.find_stale([prefix + cached.key for cached in objects])
        return {key.removeprefix(prefix) for key in found}

    async def _convert(
        self, version: ServedVersion, objects: Sequence[CachedObject]
    ) -> list[Representation | errors.APIError]:
        """Convert objects to the storage version. For each object, return its representation or its error.

        If the conversion of several objects fails, convert the two halves separately to find the failing object.
        """
        if not objects:
            return []
        try:
            representations = await version.representer.view_many(objects)
            self._timeouts = 0
            return list(representations)
        except errors.APIError as error:
            if isinstance(error, ConversionFailedError) and not error.failure.divisible:
                self._timeouts += 1
                if not self._splits_batches or self._timeouts > _MAX_TIMEOUTS:
                    raise _ConverterDownError(error.message) from None
            if len(objects) == 1:
                return [error]
        half = len(objects) // 2
        return await self._convert(version, objects[:half]) + await self._convert(version, objects[half:])

    async def _put(self, version: ServedVersion, cached: CachedObject, encoded: Encoded) -> bool:
        """Replace a stored object. Return False if another client has written it first."""
        generation = version.schema_generation if version.representer.stores_normalized else None
        try:
            await self._client.replace_cached(
                version.cache, cached, encoded.stored(), generation=generation, build=encoded.cached_object
            )
        except RevisionConflictError:
            return False
        return True

    def _all_failed(self, message: str) -> Failures:
        """Return a failure with `message` for every object that is not stored at the storage version.

        Called if the converter is down.
        """
        failures, resource = Failures(), self._served_resource()
        for cached in resource.cache.snapshot(None):
            if cached.version != resource.storage:
                failures.add(cached.key, message)
        self._record("failed", failures.count)
        return failures

    def _record(self, result: str, count: int) -> None:
        if count:
            self._backend.metrics.migration_objects.of(*self._target, result).add(count)


def _encode(version: ServedVersion, representation: Representation) -> Encoded:
    obj = json_codec.decode(representation.data)
    version.codec.normalize(obj)
    return Encoded(obj)


def _limit_bytes(objects: Sequence[CachedObject]) -> Sequence[CachedObject]:
    """Return the first objects whose total size is at most _BATCH_BYTES, but at least one object if there is any."""
    size = 0
    for count, cached in enumerate(objects):
        size += len(cached.raw)
        if size > _BATCH_BYTES and count:
            return objects[:count]
    return objects
