"""Representations of stored objects at one served version."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Sequence
from time import monotonic
from typing import TYPE_CHECKING, Any

from polykind.cache.cached_object import CachedObject, Representation
from polykind.cache.resource_cache import ResourceCache
from polykind.codec import json_codec
from polykind.contract import JsonObject
from polykind.memory_policy import memory_policy
from polykind.operations.responses import JoinedParts
from polykind.resources.singleflight import Singleflight
from polykind.workers import INLINE_BYTES

if TYPE_CHECKING:
    from polykind.codec.table import TableFormat

_TIME_SLICE = 0.005
"""Seconds of work after which a long loop yields to the event loop."""
_PORTION_OBJECTS = 500
_PORTION_BYTES = 2 * 1024 * 1024
"""The limits of what a converter gets at once: two of its batches, which it converts concurrently."""


class Representer(ABC):
    """Returns stored objects at one version and converts objects to the storage version."""

    def __init__(
        self,
        cache: ResourceCache,
        version: str,
        api_version: str,
        list_kind: str,
        *,
        on_shared: Callable[[int], None] | None = None,
    ) -> None:
        self.cache = cache
        self.version = version
        self.api_version = api_version
        self.list_kind = list_kind
        self.hits = self.misses = 0
        """The numbers of cached representations used and of conversions needed since the last scrape."""
        self._singleflight = Singleflight(self._convert, on_shared)

    @property
    @abstractmethod
    def table(self) -> TableFormat:
        """The printer columns."""

    @property
    def has_many_columns(self) -> bool:
        """True if `table` takes long to compile and is not compiled yet."""
        return False

    # ------------------------------------------------------------------ storing

    @abstractmethod
    async def to_storage(self, obj: JsonObject) -> JsonObject:
        """Return the object at the storage version, ready to be encoded."""

    @property
    def stores_normalized(self) -> bool:
        """True if pruning and defaulting would not change the result of `to_storage`."""
        return False

    @property
    def adds_no_floats(self) -> bool:
        """True if neither defaults nor a conversion can add a float to an object on its way to the store."""
        return False

    async def convert(self, obj: JsonObject, api_version: str) -> JsonObject | None:
        """Return an object of this version at another apiVersion, or None if there is no such version.

        Raise APIError if the conversion fails.
        """
        return None

    async def convert_for_admission(self, obj: JsonObject, api_version: str) -> JsonObject | None:
        """Convert `obj`, which may have any version of this resource, to the version that a webhook's rules match."""
        return await self.convert(obj, api_version)

    # ------------------------------------------------------------------ showing

    @abstractmethod
    def show(self, cached: CachedObject) -> Representation | None:
        """Compute the representation of a cached object. Return None if this needs a call to a converter."""

    async def convert_many(self, objects: Sequence[CachedObject]) -> list[Representation]:
        """Compute the representations of objects that need a call to a converter."""
        raise NotImplementedError

    def known(self, cached: CachedObject) -> Representation | None:
        """Return the representation of a cached object if it has already been computed, else None."""
        if cached.schema_generation != self.cache.schema_generation:
            cached.invalidate(self.cache.schema_generation)
        if cached.normalized and cached.version == self.version:
            return cached
        representation = cached.representation(self.version)
        if representation is not None:
            self.hits += 1
        return representation

    def known_many(self, objects: Sequence[CachedObject]) -> list[Representation | None]:
        """Return for each object what `known` returns."""
        return [self.known(cached) for cached in objects]

    @property
    def value_period(self) -> Hashable:
        """A value that changes when an index of values of this version must be built again."""
        return 0

    def ready(self, cached: CachedObject) -> Representation | None:
        """Return the representation of a cached object. Return None if the caller has to await `view`.

        It converts the object, or reads a large object in a worker thread.
        """
        if len(cached.data) > INLINE_BYTES:
            return self.known(cached)
        return self.ready_at_once(cached)

    def ready_at_once(self, cached: CachedObject) -> Representation | None:
        """Return the representation of a cached object like `ready`, also if the object is large.

        For controllers, which read large objects in worker threads.
        """
        representation = self.known(cached)
        if representation is None:
            representation = self.show(cached)
            self._keep(cached, representation)
        return representation

    def _keep(self, cached: CachedObject, representation: Representation | None) -> None:
        if representation is cached:
            cached.normalized = True
        elif representation is not None:
            cached.add_representation(self.version, representation)

    async def _show_in_worker(self, cached: CachedObject) -> Representation | None:
        """Compute the representation of a large object in a worker thread. Return None if this needs a converter."""
        generation = self.cache.schema_generation
        workers = self.cache.workers
        memory_policy.begin_large()
        try:
            representation = await workers.run("", lambda: self.show(cached))
        finally:
            memory_policy.end_large()
        if generation == self.cache.schema_generation == cached.schema_generation:
            self._keep(cached, representation)
        return representation

    async def view(self, cached: CachedObject) -> Representation:
        """Return the representation of a cached object, converted if necessary."""
        representation = self.known(cached)
        return representation if representation is not None else (await self.view_many([cached]))[0]

    async def view_many(self, objects: Sequence[CachedObject]) -> list[Representation]:
        """Return the representations of cached objects. Concurrent requests share conversions of the same object."""
        representations: list[Representation | None] = []
        since = monotonic()
        for index, cached in enumerate(objects):
            representation = self.known(cached)
            if representation is None:
                large = len(cached.data) > INLINE_BYTES
                representation = await self._show_in_worker(cached) if large else self.ready(cached)
            representations.append(representation)
            # A cached representation takes no time, but computing one may take half a millisecond.
            if index % 16 == 15 and monotonic() - since > _TIME_SLICE:
                await self.cache.workers.turns.take("")
                since = monotonic()
        missing = [cached for cached, known in zip(objects, representations, strict=True) if known is None]
        self.misses += len(missing)
        converted = iter(await self._singleflight.convert(missing)) if missing else iter(())
        return [known or next(converted) for known in representations]

    @property
    def has_fallback(self) -> bool:
        """True if the server has opted in to survive an outage of the converter."""
        return False

    async def view_for_read(self, objects: Sequence[CachedObject], warn: Callable[[str], None]) -> list[Representation]:
        """Return the representations for a read, which may be those of an earlier conversion if the converter is down.

        `warn` is called with the text of a warning for the client.
        """
        return await self.view_many(objects)

    async def _convert(self, objects: Sequence[CachedObject]) -> list[Representation]:
        """Convert objects. Keep the results with their objects unless the CRD has changed meanwhile.

        Decoded objects take about six times as much memory as their JSON, so a long list is converted in portions.
        """
        converted: list[Representation] = []
        for portion in _portions(objects):
            generation = self.cache.schema_generation
            representations = await self.convert_many(portion)
            for cached, representation in zip(portion, representations, strict=True):
                if generation == self.cache.schema_generation == cached.schema_generation:
                    self._keep_converted(cached, representation)
            converted += representations
        return converted

    def _keep_converted(self, cached: CachedObject, representation: Representation) -> None:
        """Keep the result of a conversion with its object."""
        cached.add_representation(self.version, representation)

    def restamp(self, representation: Representation, revision: int) -> bytes:
        """Return the representation's bytes with another resourceVersion, as a DELETED event needs."""
        obj: Any = json_codec.decode(representation.data)
        obj["metadata"]["resourceVersion"] = str(revision)
        return json_codec.encode(obj)

    # ------------------------------------------------------------------ lists

    def list_metadata(self, revision: int, continuation: str, remaining: int) -> JsonObject:
        metadata: JsonObject = {"continue": continuation, "resourceVersion": str(revision)}
        if remaining:
            metadata["remainingItemCount"] = remaining
        return metadata

    def as_item(self, obj: JsonObject) -> JsonObject:
        """Return the object as it appears in the items of a list."""
        return obj

    def encode_item(self, data: bytes) -> bytes:
        """Return the JSON of an object as it appears in the items of a list."""
        return data

    def list_parts(
        self,
        items: Sequence[bytes],
        metadata: JsonObject,
        shorten: Callable[[bytes], bytes] | None = None,
        shorter_by: int = 0,
    ) -> JoinedParts:
        """Return the JSON of a list as parts to be joined. `shorten` removes `shorter_by` bytes from each item."""
        head = b'{"apiVersion":"%b","items":[' % self.api_version.encode()
        tail = b'],"kind":"%b","metadata":%b}\n' % (self.list_kind.encode(), json_codec.encode(metadata))
        return JoinedParts(head, items, b",", tail, shorten, shorter_by)


def _portions(objects: Sequence[CachedObject]) -> Iterator[Sequence[CachedObject]]:
    """Split objects into portions of limited size. A single object may be larger."""
    start = size = 0
    for index, cached in enumerate(objects):
        if index > start and (index - start >= _PORTION_OBJECTS or size + len(cached.data) > _PORTION_BYTES):
            yield objects[start:index]
            start, size = index, 0
        size += len(cached.data)
    yield objects[start:]
