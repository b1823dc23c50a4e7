"""Normalization markers: they tell the next start of the server which stored objects need no pruning and defaulting.

To find out that a stored object is normalized, the server has to decode it, prune and default it with the schema of its
version, and encode it again. For a large resource, this takes ten times as long as a list. So the server saves what it
has found out in one key for each resource, beside the keys of Kubernetes: "all objects with a revision up to R are
normalized for the schemas with these digests, except for these keys". This is a statement about bytes that the server
has read, so it does not matter which program wrote them. A later write of an object has a higher revision.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Iterable

import msgspec

from polykind.cache.cached_object import (
    UNREAD_LABELS,
    CachedObject,
    IrregularObject,
    match_head,
    parse_normalized,
    parse_stored,
    uid_place,
)
from polykind.cache.resource_cache import ResourceCache
from polykind.contract import KeyValue, Store, StoreError

log = logging.getLogger("polykind.cache")

MIN_UNMARKED = 1000
"""The number of objects below which a marker is not worth a write, because they are decoded within a tenth of a second.
"""
MAX_EXCEPTIONS = 1000
_UNMARKED_PERCENT = 5
_MAX_BACKOFF = 6
_SLICE = 5_000
_NO_HEAD = b"\0no object was read yet"
"""No value starts with this text. The values that stand for damaged ones have other texts after the NUL."""


def may_have_owners(value: bytes) -> bool:
    """True if the JSON of an object may contain owner references or a deletion timestamp."""
    return b'"ownerReferences"' in value or b'"deletionTimestamp"' in value


class NormalizationMarker(msgspec.Struct):
    """The content of a marker."""

    revision: int
    digests: dict[str, str]
    """The digests of the schemas, by the version at which the objects are stored."""
    exceptions: list[str]
    """The keys of objects that are not known to be normalized."""
    has_owners: bool = True
    """False if no object has owner references or is being deleted. The garbage collector can then ignore them."""
    irregular: list[str] | None = None
    """The keys of irregular objects, or None if there are many. A load reads nothing in the JSON of the others."""


_decode = msgspec.json.Decoder(NormalizationMarker).decode


class StoredObjectParser:
    """Builds the cached objects of a resource from stored bytes. Those that a marker covers are normalized."""

    def __init__(
        self, cache: ResourceCache, marker: NormalizationMarker | None = None, versions: frozenset[str] = frozenset()
    ) -> None:
        """`versions` are the stored versions whose schemas have not changed since the marker was written."""
        self._start = len(cache.prefix)
        self._schema_generation = cache.schema_generation
        self._revision = marker.revision if marker is not None and versions else 0
        self._exceptions = frozenset(marker.exceptions if marker is not None else ())
        irregular = marker.irregular if marker is not None else None
        self._parsed = self._exceptions.union(irregular) if irregular is not None else None
        """The keys of objects that must be parsed, or None if all objects must be."""
        self._versions = versions

    def __call__(self, items: list[KeyValue]) -> list[CachedObject]:
        """Build the cached objects of a few items, in the same order."""
        if self._parsed is not None:
            return self._splice(items, self._parsed)
        start = self._start
        return [self._parse(key[start:], value, revision) for key, value, revision in items]

    def _splice(self, items: list[KeyValue], parsed: frozenset[str]) -> list[CachedObject]:
        """Insert the resourceVersion before the `uid` of each object, and leave the labels unread.

        Objects that the marker does not cover are parsed, and values that are not JSON because they are damaged.
        """
        start, covered, generation = self._start, self._revision, self._schema_generation
        head, version, normalized = _NO_HEAD, "", False
        found: list[CachedObject] = []
        for key, value, revision in items:
            key = key[start:]
            if not value.startswith(head) and (match := match_head(value)) is not None:
                head, version = match[0], sys.intern(match[1].decode())
                normalized = version in self._versions
            if revision > covered or key in parsed or not value.startswith(head):
                found.append(self._parse(key, value, revision))
                continue
            at = uid_place(value, len(head))
            found.append(
                CachedObject(
                    b'%b,"resourceVersion":"%d"%b' % (value[:at], revision, value[at:].rstrip(b"\n")),
                    UNREAD_LABELS,
                    key=key,
                    revision=revision,
                    version=version,
                    normalized=normalized,
                    schema_generation=generation,
                )
            )
        return found

    def _parse(self, key: str, value: bytes, revision: int) -> CachedObject:
        if revision <= self._revision and key not in self._exceptions:
            cached = parse_normalized(key, value, revision)
            if cached.version not in self._versions:
                cached.normalized = False
        else:
            cached = parse_stored(key, value, revision, False)
        cached.schema_generation = self._schema_generation
        return cached


class NormalizationMarkers:
    """Reads and writes the markers of all resources."""

    def __init__(self, store: Store, prefix: str) -> None:
        self._store = store
        self._prefix = prefix
        self._folder = f"{prefix}_polykind/normalized/"
        self._markers: dict[str, NormalizationMarker] = {}
        """The markers in the store, by key."""
        self._failures: dict[ResourceCache, tuple[int, int]] = {}
        """By resource: the number of failed attempts, and the rounds to wait until the next one."""

    def _key(self, cache: ResourceCache) -> str:
        return self._folder + cache.prefix[len(self._prefix) :].rstrip("/")

    def covers(self, cache: ResourceCache) -> bool:
        """True if the resource has a marker, so that it had many objects when the marker was written."""
        return cache.schema_digests is not None and self._key(cache) in self._markers

    async def parser(self, cache: ResourceCache) -> StoredObjectParser:
        """Return the parser for the stored objects of a resource, with its marker if there is a valid one."""
        digests, parser = cache.schema_digests, StoredObjectParser(cache)
        marker = self._markers.get(self._key(cache))
        if marker is None or digests is None:
            return parser
        current = await asyncio.to_thread(digests)
        if cache.schema_digests is not digests:
            # The CRD has just changed.
            return parser
        same = frozenset(version for version, digest in marker.digests.items() if current.get(version) == digest)
        return StoredObjectParser(cache, marker, same)

    async def read_all(self) -> None:
        """Read the markers of all resources. Later loads use these markers, so that they need no further read."""
        self._markers.clear()
        page = await self._store.scan(self._folder)
        while True:
            for item in page.items:
                try:
                    marker = _decode(item.value)
                except msgspec.MsgspecError:
                    log.warning("watch cache: ignoring the unreadable normalization marker %s", item.key)
                    continue
                # A replica that has not yet noticed that etcd was restored from a backup could mark revisions of the
                # future.
                if marker.revision < item.revision:
                    self._markers[item.key] = marker
            if page.last:
                return
            page = await self._store.scan(self._folder, after=page.items[-1].key)

    def ownerless_revision(self, cache: ResourceCache) -> int:
        """Return a revision up to which no object of the resource has owners or is being deleted, or 0 if unknown."""
        marker = self._markers.get(self._key(cache))
        return 0 if marker is None or marker.has_owners else marker.revision

    async def write_due(self, caches: Iterable[ResourceCache]) -> None:
        """Write a marker for each resource with many objects that no marker covers."""
        previous, self._failures = self._failures, {}
        for cache in [cache for cache in caches if _is_due(cache)]:
            failures, wait = previous.get(cache, (0, 0))
            if wait:
                self._failures[cache] = failures, wait - 1
                continue
            try:
                if not await self._write(cache):
                    # Clients have not read most objects yet, or most objects were stored unpruned by another program.
                    self._failures[cache] = failures + 1, 2 ** min(failures, _MAX_BACKOFF)
            except StoreError as error:
                log.info("watch cache: cannot write the normalization marker of %s: %s", cache.prefix, error)

    async def _write(self, cache: ResourceCache) -> bool:
        """Write a marker. Return False if too many objects of the resource are not known to be normalized."""
        digests, generation = cache.schema_digests, cache.schema_generation
        if digests is None:
            return False
        current = await asyncio.to_thread(digests)
        revision, unmarked, objects = cache.revision, cache.unmarked, cache.unordered()
        exceptions: list[str] = []
        has_owners = False
        ownerless = self.ownerless_revision(cache)
        irregular: list[str] = []
        for start in range(0, len(objects), _SLICE):
            part = objects[start : start + _SLICE]
            exceptions += [
                cached.key
                for cached in part
                if not cached.normalized or cached.schema_generation != generation or cached.version not in current
            ]
            if len(exceptions) > MAX_EXCEPTIONS:
                return False
            has_owners = has_owners or any(may_have_owners(c.data) for c in part if c.revision > ownerless)
            irregular += [cached.key for cached in part if isinstance(cached, IrregularObject)]
            await asyncio.sleep(0)
        if cache.schema_digests is not digests or not cache.loaded:
            return False
        few = irregular if len(irregular) <= MAX_EXCEPTIONS else None
        marker = NormalizationMarker(revision, dict(current), exceptions, has_owners, few)
        await self._store.put(self._key(cache), msgspec.json.encode(marker), expect=None)
        self._markers[self._key(cache)] = marker
        cache.unmarked -= unmarked
        return True


def _is_due(cache: ResourceCache) -> bool:
    """True if a marker would save the next start from decoding many objects."""
    return (
        cache.loaded
        and cache.schema_digests is not None
        and cache.unmarked >= max(MIN_UNMARKED, len(cache) * _UNMARKED_PERCENT // 100)
    )
