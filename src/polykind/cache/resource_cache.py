"""The cache of one resource: its objects in key order, its recent changes, and the watches on it."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Protocol

from polykind.cache.cached_object import CachedObject, parse_stored
from polykind.contract import HistoryEvent, KeyValue, StoreEvent

WINDOW_EVENTS = 4096
WINDOW_BYTES = 8 * 1024 * 1024
"""What is remembered of the past for watches that resume; older events are read from the store."""


CachedObjectFactory = Callable[[str, bytes, int, bool], CachedObject]
"""An entry of its key, what is stored, the revision, and whether that is clean: `parse`, or what gives the same."""


class ObjectChange:
    """One change: what was there before and what is there now. Watch frames made of it are kept with it."""

    __slots__ = ("frames", "new", "old", "revision")

    def __init__(self, revision: int, old: CachedObject | None, new: CachedObject | None) -> None:
        self.revision = revision
        self.old = old
        self.new = new
        self.frames: dict[object, bytes] | None = None

    @property
    def cached(self) -> CachedObject:
        entry = self.new or self.old
        if entry is None:
            raise AssertionError("a change of nothing")
        return entry


class CacheObserver(Protocol):
    """Who is told of each change, in order."""

    def on_changes(self, occurrences: list[ObjectChange]) -> None: ...

    def on_reset(self) -> None:
        """Changes may have been missed: begin again."""


class ResourceCache:
    """Everything stored under one prefix such as /registry/example.com/crontabs/."""

    def __init__(self, prefix: str, progress: Callable[[], int] | None = None) -> None:
        self.prefix = prefix
        self._progress = progress
        self.loaded = False
        self.revision = 0
        """Everything up to here has been seen."""
        self.last_change = 0
        """The revision of the last change of this resource."""
        self.window_start = 0
        """Changes above this revision are in the window."""
        self.observers: list[CacheObserver] = []
        self.version_counts: dict[str, int] = {}
        """How many objects are stored at each version."""
        self._entries: dict[str, CachedObject] = {}
        self._names: dict[str, list[str]] = {}
        self._namespaces: list[str] = []
        self._window: deque[ObjectChange] = deque()
        self._window_bytes = 0
        self.schema_generation = 1
        """Counts the states of the resource's definition: what was made of an entry in another epoch is void."""
        self._trusted: dict[str, tuple[bytes, int, CachedObjectFactory]] = {}

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def observed_revision(self) -> int:
        """Everything up to here has been seen, including what was written to other resources since."""
        return self.revision if self._progress is None else max(self.revision, self._progress())

    # ------------------------------------------------------------------ reading

    def get(self, key: str) -> CachedObject | None:
        return self._entries.get(key)

    def count(self, namespace: str | None) -> int:
        if namespace is None:
            return len(self._entries)
        return len(self._names.get(namespace, ()))

    def scan(self, namespace: str | None, after: str = "") -> Iterator[CachedObject]:
        """The entries in the order of their keys, those after the key `after` only."""
        if namespace is not None:
            names = self._names.get(namespace, [])
            prefix = f"{namespace}/" if namespace else ""
            start = bisect_right(names, after[len(prefix) :]) if after.startswith(prefix) and after else 0
            for name in names[start:] if start else names:
                yield self._entries[prefix + name]
            return
        for space in self._namespaces:
            prefix = space
            if after and prefix and prefix <= after and not after.startswith(prefix):
                continue
            yield from self.scan(prefix.rstrip("/"), after if after.startswith(prefix) else "")

    def snapshot(self, namespace: str | None, after: str = "", limit: int = 0) -> list[CachedObject]:
        """The entries as they stand, at most `limit` of them (0: all)."""
        found = self.scan(namespace, after)
        return list(islice(found, limit)) if limit else list(found)

    def remaining(self, namespace: str | None, after: str) -> int:
        """How many entries come after a key."""
        if namespace is not None:
            prefix = f"{namespace}/" if namespace else ""
            names = self._names.get(namespace, [])
            return len(names) - bisect_right(names, after[len(prefix) :])
        return sum(
            self.remaining(space.rstrip("/"), after) if after.startswith(space) else self.count(space.rstrip("/"))
            for space in self._namespaces
            if space > after or after.startswith(space)
        )

    def changes_after(self, after: int) -> list[ObjectChange]:
        """The changes above a revision; only for revisions not below `since`."""
        return [o for o in self._window if o.revision > after]

    # ------------------------------------------------------------------ following

    def expect_write(self, key: str, value: bytes, epoch: int, make: CachedObjectFactory = parse_stored) -> None:
        """This process is about to write these bytes: they have passed their version's schema of that epoch.

        `make` is for who can make the entry of them with less trouble.
        """
        self._trusted[key] = (value, epoch, make)

    def cancel_expected_write(self, key: str) -> None:
        self._trusted.pop(key, None)

    def parse(self, items: Sequence[KeyValue]) -> list[CachedObject]:
        """What the store holds, as entries."""
        start = len(self.prefix)
        return [parse_stored(key[start:], value, written, False) for key, value, written in items]

    def load(self, entries: list[CachedObject], revision: int) -> None:
        """Begin with what the store holds at a revision."""
        self._entries = {entry.key: entry for entry in entries}
        names: dict[str, list[str]] = {}
        self.version_counts = dict.fromkeys(self.version_counts, 0)
        for entry in entries:
            names.setdefault(entry.namespace, []).append(entry.name)
            self.version_counts[entry.version] = self.version_counts.get(entry.version, 0) + 1
        for listed in names.values():
            listed.sort()
        self._names = names
        self._namespaces = sorted(f"{n}/" if n else "" for n in names)
        self.revision = self.window_start = revision
        self.last_change = max(self.last_change, max((e.revision for e in entries), default=0))
        self._window.clear()
        self._window_bytes = 0
        self.loaded = True

    def apply_events(self, events: list[StoreEvent], revision: int) -> None:
        """Take in a batch of changes, then tell the observers."""
        occurrences = []
        for event in events:
            if event.revision <= self.revision:
                continue  # Already read: the store was ahead of its own watch when this was loaded.
            key = event.key[len(self.prefix) :]
            old = self._entries.get(key)
            if event.value is None:
                if old is None:
                    continue
                new = None
                self._forget(old)
            else:
                trusted = self._trusted.pop(key, None) if self._trusted else None
                if trusted is not None and trusted[1] == self.schema_generation and trusted[0] == event.value:
                    new = trusted[2](key, event.value, event.revision, True)
                else:
                    new = parse_stored(key, event.value, event.revision, False)
                new.schema_generation = self.schema_generation
                if old is None:
                    self._remember(new)
                else:
                    self._entries[key] = new
                    if old.version != new.version:
                        self.version_counts[old.version] -= 1
                        self.version_counts[new.version] = self.version_counts.get(new.version, 0) + 1
            occurrences.append(ObjectChange(event.revision, old, new))
        self.revision = max(self.revision, revision)
        if not occurrences:
            return
        self.last_change = occurrences[-1].revision
        for occurrence in occurrences:
            self._window.append(occurrence)
            self._window_bytes += len(occurrence.old.raw) if occurrence.old else 0
        while len(self._window) > WINDOW_EVENTS or self._window_bytes > WINDOW_BYTES:
            gone = self._window.popleft()
            self._window_bytes -= len(gone.old.raw) if gone.old else 0
            self.window_start = gone.revision
        for observer in list(self.observers):
            observer.on_changes(occurrences)
        # Frames are for those who are told now; the window would keep them beyond its bound.
        for occurrence in occurrences:
            occurrence.frames = None

    def reset(self) -> None:
        """Changes were missed: what is here is not to be trusted until it has been read anew."""
        self.loaded = False
        for observer in list(self.observers):
            observer.on_reset()

    def _remember(self, entry: CachedObject) -> None:
        self._entries[entry.key] = entry
        self.version_counts[entry.version] = self.version_counts.get(entry.version, 0) + 1
        names = self._names.get(entry.namespace)
        if names is None:
            names = self._names[entry.namespace] = []
            insort(self._namespaces, f"{entry.namespace}/" if entry.namespace else "")
        if not names or names[-1] < entry.name:
            names.append(entry.name)
        else:
            insort(names, entry.name)

    def _forget(self, entry: CachedObject) -> None:
        del self._entries[entry.key]
        self.version_counts[entry.version] -= 1
        names = self._names[entry.namespace]
        del names[bisect_left(names, entry.name)]
        if not names:
            del self._names[entry.namespace]
            self._namespaces.remove(f"{entry.namespace}/" if entry.namespace else "")

    def past_changes(self, changes: list[HistoryEvent]) -> list[ObjectChange]:
        """Past changes read from the store, in the shape of the window's."""
        occurrences = []
        for change in changes:
            key = change.key[len(self.prefix) :]
            old = parse_stored(key, change.previous.value, change.previous.revision, False) if change.previous else None
            new = parse_stored(key, change.value, change.revision, False) if change.value is not None else None
            if old is not None or new is not None:
                occurrences.append(ObjectChange(change.revision, old, new))
        return occurrences
