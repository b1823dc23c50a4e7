"""Rewriting all objects of a resource as they would be written now: at its storage version, by its schema."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from time import monotonic

from polykind import errors
from polykind.cache.cached_object import CachedObject, Representation
from polykind.codec import json_codec
from polykind.contract import RevisionConflictError
from polykind.conversion.failure import ConversionFailedError
from polykind.migration.failures import Failures
from polykind.migration.order import GroupResource
from polykind.resources.encoding import Encoded
from polykind.resources.resource import Resource, ServedVersion
from polykind.verbs.context import Backend

_ENOUGH = 10
"""So often in a row a converter may fail to answer before it is given up: more than one object among a batch takes."""
_BATCH, _BYTES = 64, 256 * 1024
"""Objects, and bytes of them, that are converted in one call and share the store's commits."""
_TURN = 0.01
"""How many seconds of work are done before others get their turn."""
PAUSES = (0.5, 2.0, 5.0, 10.0)
"""Seconds between two attempts to go on while a converter cannot be called."""


class Vanished(Exception):
    """The resource is not served any more."""


class _OutOfReach(Exception):
    """The converter cannot be called at all."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class Rewriting:
    """One walk, or several, over the objects of a resource.

    Nobody is asked about what is written and nothing of it is judged: an object that has become invalid meanwhile is
    stored already. Who writes or deletes an object meanwhile has done the work.
    """

    def __init__(self, api: Backend, resource: GroupResource, check: Callable[[], None]) -> None:
        self._api = api
        self._resource = resource
        self._check = check
        """Raises if the work is not wanted any more."""
        self._overtaken = False
        self._insists = False
        """Whether a converter that does not answer is asked for less and less: one object may be at fault."""
        self._unanswered = 0
        self.written = 0

    async def run(self) -> Failures:
        """Rewrite what must be; what could not be."""
        for pause in PAUSES:
            try:
                return await self._whole()
            except _OutOfReach:
                await asyncio.sleep(pause)
        self._insists = True
        try:
            return await self._whole()
        except _OutOfReach as reason:
            return self._left_behind(reason.why)

    async def _whole(self) -> Failures:
        """Walk over all of it, from the beginning whenever the definition has changed or others were faster."""
        while True:
            kind = self._kind()
            await self._api.cache.wait_until_fresh(kind.cache)
            version = kind.storage_version()
            failures, after, self._overtaken = Failures(), "", False
            while entries := _first_of(kind.cache.snapshot(None, after, _BATCH)):
                self._check()
                if self._kind() is not kind or not kind.cache.loaded:
                    self._overtaken = True
                    break
                after = entries[-1].key
                await self._batch(version, entries, failures)
                await asyncio.sleep(0)
            await self._api.cache.wait_until_fresh(kind.cache)
            others = sum(number for name, number in kind.cache.version_counts.items() if name != kind.storage)
            # A replica that has not heard of the storage version yet may have written behind our back.
            if not self._overtaken and others <= failures.count:
                self._count("failed", failures.count)
                return failures

    def _kind(self) -> Resource:
        kind = self._api.registry.kind(*self._resource)
        if kind is None:
            raise Vanished
        return kind

    async def _batch(self, version: ServedVersion, entries: Sequence[CachedObject], failures: Failures) -> None:
        storage, epoch = version.resource.storage, version.cache.schema_generation
        # What was written through today's schema is as it would be written again.
        stale = [e for e in entries if not (e.normalized and e.version == storage and e.schema_generation == epoch)]
        due: list[tuple[CachedObject, Encoded]] = []
        failed = failures.count
        turn = monotonic()
        for entry, form in zip(stale, await self._forms(version, stale), strict=True):
            if isinstance(form, errors.APIError):
                failures.add(entry.key, form.message)
                continue
            if form is not entry:
                encoded = _encoded(version, form)
                if encoded.served(entry.revision) != entry.raw:
                    due.append((entry, encoded))
            if monotonic() - turn > _TURN:
                await asyncio.sleep(0)
                turn = monotonic()
        written = sum(await asyncio.gather(*(self._put(version, entry, encoded) for entry, encoded in due)))
        self.written += written
        self._overtaken = self._overtaken or written < len(due)
        self._count("migrated", written)
        self._count("overtaken", len(due) - written)
        self._count("current", len(entries) - len(due) - failures.count + failed)

    async def _forms(
        self, version: ServedVersion, entries: Sequence[CachedObject]
    ) -> list[Representation | errors.APIError]:
        """The objects at the storage version, or why one cannot be had: it is found by halves."""
        if not entries:
            return []
        try:
            forms = await version.representer.view_many(entries)
            self._unanswered = 0
            return list(forms)
        except errors.APIError as error:
            if isinstance(error, ConversionFailedError) and not error.failure.divisible:
                self._unanswered += 1
                if not self._insists or self._unanswered > _ENOUGH:
                    raise _OutOfReach(error.message) from None
            if len(entries) == 1:
                return [error]
        half = len(entries) // 2
        return await self._forms(version, entries[:half]) + await self._forms(version, entries[half:])

    async def _put(self, version: ServedVersion, entry: CachedObject, encoded: Encoded) -> bool:
        """Write over an entry; False if somebody else has been faster."""
        cache, value = version.cache, encoded.stored()
        if version.representer.stores_normalized:
            cache.expect_write(entry.key, value, version.schema_generation, encoded.entry)
        try:
            await self._api.store.put(cache.prefix + entry.key, value, expect=entry.revision)
        except BaseException as error:
            cache.cancel_expected_write(entry.key)
            if isinstance(error, RevisionConflictError):
                return False
            raise
        return True

    def _left_behind(self, why: str) -> Failures:
        """All that is stored at other versions, when no converter can be had."""
        failures, kind = Failures(), self._kind()
        for entry in kind.cache.scan(None):
            if entry.version != kind.storage:
                failures.add(entry.key, why)
        self._count("failed", failures.count)
        return failures

    def _count(self, result: str, number: int) -> None:
        if number:
            self._api.metrics.migration_objects.of(*self._resource, result).add(number)


def _encoded(version: ServedVersion, form: Representation) -> Encoded:
    obj = json_codec.decode(form.data)
    version.codec.normalize(obj)
    return Encoded(obj)


def _first_of(entries: Sequence[CachedObject]) -> Sequence[CachedObject]:
    """As many as are not too large together, one at least."""
    size = 0
    for number, entry in enumerate(entries):
        size += len(entry.raw)
        if size > _BYTES and number:
            return entries[:number]
    return entries
