"""The cache of one resource: its objects in key order, its recent changes, and its observers."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from polykind.cache.cached_object import CachedObject, parse_stored
from polykind.cache.sorted_objects import SortedObjects
from polykind.cache.value_index import MIN_OBJECTS, IndexQuery, ValueIndexes
from polykind.cache.watch_dispatch import WatchDispatch
from polykind.contract import HistoryEvent, KeyValue, StoreEvent
from polykind.workers import Workers

_MIN_SELECTIVITY = 8
"""If a selection leaves more than an eighth of the objects, a search through all of them takes no longer."""
WINDOW_EVENTS = 4096
WINDOW_BYTES = 8 * 1024 * 1024
"""The maximum size of the window of recent changes. Older changes are read from the store's history."""

CachedObjectFactory = Callable[[str, bytes, int, bool], CachedObject]
"""A function that builds a CachedObject: `parse_stored`, or a faster function with the same parameters and result."""


SchemaDigests = Callable[[], Mapping[str, str]]
"""A function that returns, for each version of a resource, a digest of its schema and of the code that applies it."""


class ObjectChange:
    """One change of an object: its state before and after. Watch channels cache the encoded event in `frames`."""

    __slots__ = ("frames", "new", "old", "revision")

    def __init__(self, revision: int, old: CachedObject | None, new: CachedObject | None) -> None:
        self.revision = revision
        self.old = old
        self.new = new
        self.frames: dict[object, bytes] | None = None

    @property
    def cached(self) -> CachedObject:
        """The object's new state, or its last state if it was deleted."""
        cached = self.new or self.old
        if cached is None:
            raise AssertionError("a change has neither an old nor a new state")
        return cached


class PendingWrite:
    """A write of this process. The cache builds the written object once: for its event, or before that for the writer.

    If the write fails, the cache does not expect its event any longer.
    """

    __slots__ = ("_build", "_cache", "_generation", "_key", "_second", "_written", "value")

    def __init__(
        self,
        cache: ResourceCache,
        key: str,
        value: bytes,
        build: CachedObjectFactory,
        generation: int | None,
        second: bytes | None,
    ) -> None:
        self._cache = cache
        self._key = key
        self.value = value
        self._build = build
        self._generation = generation
        self._second = second
        self._written: CachedObject | None = None

    def __enter__(self) -> PendingWrite:
        if self._generation is not None:
            self._cache._pending[self._key] = self
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        pending = self._cache._pending
        if kind is not None and pending.get(self._key) is self:
            del pending[self._key]

    def at(self, revision: int) -> CachedObject:
        """Return the object that the write has stored at this revision."""
        written = self._written
        if written is None or written.revision != revision:
            written = self._cache.get(self._key)
            if written is None or written.revision != revision:
                written = self._make(revision)
        return written

    def deliver(self, revision: int) -> CachedObject:
        """Return the object for the write's event, and expect the event of the second write."""
        if self._second is not None:
            self._cache._pending[self._key] = PendingWrite(
                self._cache, self._key, self._second, parse_stored, self._generation, None
            )
        written = self._written
        return written if written is not None and written.revision == revision else self._make(revision)

    def _make(self, revision: int) -> CachedObject:
        normalized = self._generation == self._cache.schema_generation
        build = self._build if normalized else parse_stored
        written = self._written = build(self._key, self.value, revision, normalized)
        written.schema_generation = self._cache.schema_generation
        return written


class CacheObserver(Protocol):
    """An object that is notified of a resource's changes, in order."""

    def on_changes(self, changes: list[ObjectChange]) -> None: ...

    def on_reset(self) -> None:
        """Read the resource again, because changes may have been missed."""


class ResourceCache:
    """All objects stored under one prefix, such as /registry/example.com/crontabs/."""

    def __init__(self, prefix: str, progress: Callable[[], int] | None = None, workers: Workers | None = None) -> None:
        self.prefix = prefix
        self.workers = workers or Workers()
        """The threads that compute the representations of large objects."""
        self._progress = progress
        self.loaded = False
        self._detached = False
        """True if the watch cache delivers no more events. The objects are then loaded again for each use."""
        self.events_received = 0
        """The number of events that the store has delivered for this resource since it was loaded first."""
        self.initializations = 0
        """The number of times that the objects were loaded from the store."""
        self.revision = 0
        """The cache contains the changes of all events up to this revision."""
        self.last_change = 0
        """The revision of the last change of this resource."""
        self.window_start = 0
        """The window contains all changes with higher revisions than this."""
        self.observers: list[CacheObserver] = []
        """Observers of all changes."""
        self.deliveries: set[asyncio.Future[None]] = set()
        """Changes of large objects that observers prepare in worker threads. A large write waits for them."""
        self.dispatch = WatchDispatch()
        """Observers of the changes of some objects."""
        self._objects = SortedObjects()
        self.indexes = ValueIndexes()
        self._window: deque[ObjectChange] = deque()
        self._window_bytes = 0
        self.schema_generation = 1
        """Incremented when the CRD's schema changes. Representations of earlier generations are invalid."""
        self.schema_digests: SchemaDigests | None = None
        """Returns the digests of the schemas of the current generation, or None if they are not known yet."""
        self.unmarked = 0
        """The number of objects that were loaded or changed since the last normalization marker, which covers the
        others.
        """
        self.uniform: tuple[str, int] | None = None
        """A version and a schema generation at which every object is its own representation, or None if that is not
        known. A list at this version needs to look at no object.
        """
        self._pending: dict[str, PendingWrite] = {}
        """The writes of this process whose events are expected, by key."""

    def __len__(self) -> int:
        return len(self._objects)

    @property
    def version_counts(self) -> dict[str, int]:
        """The number of objects stored at each version."""
        return self._objects.version_counts

    @property
    def observed_revision(self) -> int:
        """The newest revision of any resource that this server has observed."""
        return self.revision if self._progress is None else max(self.revision, self._progress())

    # ------------------------------------------------------------------ reading

    def get(self, key: str) -> CachedObject | None:
        return self._objects.get(key)

    def count(self, namespace: str | None) -> int:
        return self._objects.count(namespace)

    def data_size(self, namespace: str | None) -> int:
        """Return the total size of the JSON of the objects of a namespace (None: all namespaces)."""
        return self._objects.data_size(namespace)

    def snapshot(self, namespace: str | None, after: str = "", limit: int = 0) -> list[CachedObject]:
        """Return the objects of a namespace (None: all) with keys after `after`, at most `limit` (0: no limit)."""
        return self._objects.snapshot(namespace, after, limit)

    def view(self, namespace: str | None) -> Sequence[CachedObject]:
        """Return the objects of a namespace (None: all) as they are now, without a look at each of them."""
        return self._objects.view(namespace)

    def unordered(self) -> list[CachedObject]:
        """Return all objects in no particular order. This is faster than a snapshot."""
        return self._objects.unordered()

    def named(self, name: str, after: str = "") -> list[CachedObject]:
        """Return the objects with a name in all namespaces, in key order, with keys after `after`."""
        return self._objects.named(name, after)

    async def prepare_indexes(self, queries: list[IndexQuery]) -> None:
        """Build or update the indexes for a selection, unless the resource is so small that a search is faster."""
        if len(self._objects) >= MIN_OBJECTS:
            await self.indexes.prepare(queries, self._objects)

    def find(self, queries: list[IndexQuery], namespace: str | None, after: str) -> list[CachedObject] | None:
        """Return the objects of a namespace (None: all) with keys after `after` that can meet the requirements.

        Objects that do not meet them may be among the result. Return None if the indexes do not help.
        """
        keys = self.indexes.find(queries, self._objects.count(namespace) // _MIN_SELECTIVITY) if self.indexes else None
        if keys is None:
            return None
        if namespace is not None:
            prefix = f"{namespace}/"
            keys = {key for key in keys if key.startswith(prefix)}
        return [cached for key in sorted(keys) if key > after and (cached := self._objects.get(key)) is not None]

    def remaining(self, namespace: str | None, after: str) -> int:
        """Return the number of objects of a namespace (None: all) whose keys come after `after`."""
        return self._objects.remaining(namespace, after)

    def changes_after(self, revision: int) -> list[ObjectChange]:
        """Return the changes with higher revisions. `revision` must not be below `window_start`."""
        return [change for change in self._window if change.revision > revision]

    def past_changes(self, history: list[HistoryEvent]) -> list[ObjectChange]:
        """Convert past events from the store into changes, like those of the window."""
        changes = []
        for event in history:
            key = event.key[len(self.prefix) :]
            old = parse_stored(key, event.previous.value, event.previous.revision, False) if event.previous else None
            new = parse_stored(key, event.value, event.revision, False) if event.value is not None else None
            if old is not None or new is not None:
                changes.append(ObjectChange(event.revision, old, new))
        return changes

    # ------------------------------------------------------------------ writing

    def change_schema(self, digests: SchemaDigests) -> None:
        """Start a new schema generation, because the CRD's schema may have changed."""
        self.schema_generation += 1
        self.schema_digests = digests

    def writing(
        self,
        key: str,
        value: bytes,
        build: CachedObjectFactory = parse_stored,
        generation: int | None = None,
        second: bytes | None = None,
    ) -> PendingWrite:
        """Return the context in which this process writes `value`.

        `generation` is the schema generation for which the value is normalized, or None if it is not. Then the cached
        object need not be decoded: `build` makes it from the same bytes. `second` is the value of a write that follows
        in the same transaction.
        """
        return PendingWrite(self, key, value, build, generation, second)

    def parse(self, items: Sequence[KeyValue]) -> list[CachedObject]:
        """Build cached objects from stored key-value pairs of this resource."""
        start = len(self.prefix)
        return [parse_stored(key[start:], value, revision, False) for key, value, revision in items]

    def load(self, objects: SortedObjects | list[CachedObject], revision: int, unmarked: int = 0) -> None:
        """Replace all objects by those that the store has at a revision. No marker covers `unmarked` of them."""
        previous = self.version_counts
        self.indexes.clear()
        self._objects = objects if isinstance(objects, SortedObjects) else SortedObjects(objects)
        for version in previous:
            self.version_counts.setdefault(version, 0)
        self.revision = self.window_start = revision
        self.last_change = max(self.last_change, self._objects.last_change)
        self.unmarked = unmarked
        stored = [version for version, count in self.version_counts.items() if count]
        self.uniform = (stored[0], self.schema_generation) if len(stored) == 1 and not unmarked else None
        self._window.clear()
        self._window_bytes = 0
        self.initializations += 1
        self.loaded = not self._detached

    def detach(self) -> None:
        """Mark the objects as outdated forever, because the resource is no longer served.

        A request that began before may still write to the resource. It must not find an object that was replaced.
        """
        self._detached = True
        self.loaded = False

    def apply_events(self, events: list[StoreEvent], revision: int) -> None:
        """Apply a batch of store events, then notify the observers."""
        self.events_received += len(events)
        changes = []
        for event in events:
            if event.revision <= self.revision:
                # The objects were loaded at a newer revision than that of this event, so they contain this change.
                continue
            key = event.key[len(self.prefix) :]
            old = self._objects.get(key)
            if event.value is None:
                if old is None:
                    continue
                new = None
                self._objects.remove(old)
            else:
                new = self._put(key, event.value, event.revision)
            changes.append(ObjectChange(event.revision, old, new))
        self.revision = max(self.revision, revision)
        if not changes:
            return
        self.last_change = changes[-1].revision
        self.unmarked += len(changes)
        if self.indexes:
            self.indexes.on_changed([change.cached.key for change in changes])
        self._extend_window(changes)
        for observer in list(self.observers):
            observer.on_changes(changes)
        if self.dispatch.queries:
            self.dispatch.on_changes(changes)
        # Drop the encoded events: only the current observers need them, and WINDOW_BYTES does not include them.
        for change in changes:
            change.frames = None

    def _put(self, key: str, value: bytes, revision: int) -> CachedObject:
        """Replace an object by the one that the store has delivered."""
        pending = self._pending.pop(key, None) if self._pending else None
        if pending is not None and pending.value == value:
            new = pending.deliver(revision)
        else:
            new = parse_stored(key, value, revision, False)
        new.schema_generation = self.schema_generation
        uniform = (new.version, self.schema_generation) if new.normalized else None
        if uniform != self.uniform:
            self.uniform = uniform if not len(self._objects) else None
        self._objects.put(new)
        return new

    def _extend_window(self, changes: list[ObjectChange]) -> None:
        """Add changes to the window, and drop the oldest ones if it is too long or too large."""
        for change in changes:
            self._window.append(change)
            self._window_bytes += len(change.old.raw) if change.old else 0
        while len(self._window) > WINDOW_EVENTS or self._window_bytes > WINDOW_BYTES:
            dropped = self._window.popleft()
            self._window_bytes -= len(dropped.old.raw) if dropped.old else 0
            self.window_start = dropped.revision

    def reset(self) -> None:
        """Mark the objects as outdated because events were missed, and make the observers read the resource again."""
        self.loaded = False
        for observer in [*self.observers, *self.dispatch.queries]:
            observer.on_reset()
