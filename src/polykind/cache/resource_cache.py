"""The cache of one resource: its objects in key order, its recent changes, and its observers."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Protocol

from polykind.cache.cached_object import CachedObject, parse_stored
from polykind.contract import HistoryEvent, KeyValue, StoreEvent
from polykind.workers import Workers

WINDOW_EVENTS = 4096
WINDOW_BYTES = 8 * 1024 * 1024
"""The maximum size of the window of recent changes. Older changes are read from the store's history."""

CachedObjectFactory = Callable[[str, bytes, int, bool], CachedObject]
"""A function that builds a CachedObject: `parse_stored`, or a faster function with the same parameters and result."""


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
        self.revision = 0
        """The cache contains the changes of all events up to this revision."""
        self.last_change = 0
        """The revision of the last change of this resource."""
        self.window_start = 0
        """The window contains all changes with higher revisions than this."""
        self.observers: list[CacheObserver] = []
        self.version_counts: dict[str, int] = {}
        """The number of objects stored at each version."""
        self._objects: dict[str, CachedObject] = {}
        self._names: dict[str, list[str]] = {}
        self._namespaces: list[str] = []
        self._window: deque[ObjectChange] = deque()
        self._window_bytes = 0
        self.schema_generation = 1
        """Incremented when the CRD's schema changes. Representations of earlier generations are invalid."""
        self._expected_writes: dict[str, tuple[bytes, int, CachedObjectFactory]] = {}

    def __len__(self) -> int:
        return len(self._objects)

    @property
    def observed_revision(self) -> int:
        """The newest revision of any resource that this server has observed."""
        return self.revision if self._progress is None else max(self.revision, self._progress())

    # ------------------------------------------------------------------ reading

    def get(self, key: str) -> CachedObject | None:
        return self._objects.get(key)

    def count(self, namespace: str | None) -> int:
        if namespace is None:
            return len(self._objects)
        return len(self._names.get(namespace, ()))

    def scan(self, namespace: str | None, after: str = "") -> Iterator[CachedObject]:
        """Yield the objects of a namespace (None: all namespaces) in key order, starting after the key `after`."""
        if namespace is not None:
            names = self._names.get(namespace, [])
            prefix = f"{namespace}/" if namespace else ""
            start = bisect_right(names, after[len(prefix) :]) if after.startswith(prefix) and after else 0
            for name in names[start:] if start else names:
                yield self._objects[prefix + name]
            return
        for prefix in self._namespaces:
            if after and prefix and prefix <= after and not after.startswith(prefix):
                continue
            yield from self.scan(prefix.rstrip("/"), after if after.startswith(prefix) else "")

    def snapshot(self, namespace: str | None, after: str = "", limit: int = 0) -> list[CachedObject]:
        """Return the objects of a namespace (None: all) with keys after `after`, at most `limit` (0: no limit)."""
        objects = self.scan(namespace, after)
        return list(islice(objects, limit)) if limit else list(objects)

    def remaining(self, namespace: str | None, after: str) -> int:
        """Return the number of objects of a namespace (None: all) whose keys come after `after`."""
        if namespace is not None:
            prefix = f"{namespace}/" if namespace else ""
            names = self._names.get(namespace, [])
            return len(names) - bisect_right(names, after[len(prefix) :])
        return sum(
            self.remaining(space.rstrip("/"), after) if after.startswith(space) else self.count(space.rstrip("/"))
            for space in self._namespaces
            if space > after or after.startswith(space)
        )

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

    def expect_write(
        self, key: str, value: bytes, schema_generation: int, build: CachedObjectFactory = parse_stored
    ) -> None:
        """Announce that this process is about to write `value`, which is normalized for this schema generation.

        When the store delivers an event with the same bytes, the cache calls `build` and sets `normalized`.
        """
        self._expected_writes[key] = (value, schema_generation, build)

    def cancel_expected_write(self, key: str) -> None:
        self._expected_writes.pop(key, None)

    def parse(self, items: Sequence[KeyValue]) -> list[CachedObject]:
        """Build cached objects from stored key-value pairs of this resource."""
        start = len(self.prefix)
        return [parse_stored(key[start:], value, revision, False) for key, value, revision in items]

    def load(self, objects: list[CachedObject], revision: int) -> None:
        """Replace all objects by those that the store has at a revision."""
        self._objects = {cached.key: cached for cached in objects}
        names_by_namespace: dict[str, list[str]] = {}
        self.version_counts = dict.fromkeys(self.version_counts, 0)
        for cached in objects:
            names_by_namespace.setdefault(cached.namespace, []).append(cached.name)
            self.version_counts[cached.version] = self.version_counts.get(cached.version, 0) + 1
        for names in names_by_namespace.values():
            names.sort()
        self._names = names_by_namespace
        self._namespaces = sorted(f"{n}/" if n else "" for n in names_by_namespace)
        self.revision = self.window_start = revision
        self.last_change = max(self.last_change, max((cached.revision for cached in objects), default=0))
        self._window.clear()
        self._window_bytes = 0
        self.loaded = True

    def apply_events(self, events: list[StoreEvent], revision: int) -> None:
        """Apply a batch of store events, then notify the observers."""
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
                self._remove(old)
            else:
                expected = self._expected_writes.pop(key, None) if self._expected_writes else None
                if expected is not None and expected[1] == self.schema_generation and expected[0] == event.value:
                    new = expected[2](key, event.value, event.revision, True)
                else:
                    new = parse_stored(key, event.value, event.revision, False)
                new.schema_generation = self.schema_generation
                if old is None:
                    self._add(new)
                else:
                    self._objects[key] = new
                    if old.version != new.version:
                        self.version_counts[old.version] -= 1
                        self.version_counts[new.version] = self.version_counts.get(new.version, 0) + 1
            changes.append(ObjectChange(event.revision, old, new))
        self.revision = max(self.revision, revision)
        if not changes:
            return
        self.last_change = changes[-1].revision
        for change in changes:
            self._window.append(change)
            self._window_bytes += len(change.old.raw) if change.old else 0
        while len(self._window) > WINDOW_EVENTS or self._window_bytes > WINDOW_BYTES:
            dropped = self._window.popleft()
            self._window_bytes -= len(dropped.old.raw) if dropped.old else 0
            self.window_start = dropped.revision
        for observer in list(self.observers):
            observer.on_changes(changes)
        # Drop the encoded events: only the current observers need them, and WINDOW_BYTES does not include them.
        for change in changes:
            change.frames = None

    def reset(self) -> None:
        """Mark the objects as outdated because events were missed, and make the observers read the resource again."""
        self.loaded = False
        for observer in list(self.observers):
            observer.on_reset()

    def _add(self, cached: CachedObject) -> None:
        self._objects[cached.key] = cached
        self.version_counts[cached.version] = self.version_counts.get(cached.version, 0) + 1
        names = self._names.get(cached.namespace)
        if names is None:
            names = self._names[cached.namespace] = []
            insort(self._namespaces, f"{cached.namespace}/" if cached.namespace else "")
        if not names or names[-1] < cached.name:
            names.append(cached.name)
        else:
            insort(names, cached.name)

    def _remove(self, cached: CachedObject) -> None:
        del self._objects[cached.key]
        self.version_counts[cached.version] -= 1
        names = self._names[cached.namespace]
        del names[bisect_left(names, cached.name)]
        if not names:
            del self._names[cached.namespace]
            self._namespaces.remove(f"{cached.namespace}/" if cached.namespace else "")
