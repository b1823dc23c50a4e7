"""Indexes of the objects of a resource by the value of a label or a field, for requests with selectors.

An index is built when a request needs it, is kept up to date, and is dropped when no request has used it for a while.
It holds keys, not objects: an index may name an object that has changed since, so the caller checks each object that it
gets. A change costs one entry in a set. The next lookup reads the new values.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Iterable
from time import monotonic
from typing import TYPE_CHECKING, Final, NamedTuple

from polykind.cache.cached_object import CachedObject

if TYPE_CHECKING:
    from polykind.cache.sorted_objects import SortedObjects

MIN_OBJECTS = 2000
"""The number of objects below which a search through all of them takes less than a millisecond."""
MAX_INDEXES = 6
"""The maximum number of indexes of one resource. An index takes about 60 bytes for each object."""
IDLE_SECONDS = 300.0
_MAX_DISTINCT_VALUES = 1000
_TIME_SLICE = 0.005
_KEYS_PER_CHECK = 32


class Unknown:
    """The type of UNKNOWN."""


UNKNOWN: Final = Unknown()
"""The value of an object's field that cannot be read without a conversion or another long computation."""

ValueOf = Callable[[CachedObject], str | Unknown | None]
"""A function that returns an object's value. None means that the object has no value."""


class IndexQuery(NamedTuple):
    """A requirement of a selector, as a query to an index."""

    id: Hashable
    """Identifies the label or field. Queries with equal ids use the same index."""
    value_of: ValueOf
    accepts: Callable[[str | None], bool]
    """True for the values that meet the requirement."""
    values: tuple[str | None, ...] | None
    """The accepted values, or None if there may be many."""
    label: str | None = None
    """The key of the label if `value_of` returns a stored label, else None."""


class ValueIndex:
    """The keys of all objects by their values of one label or field."""

    def __init__(self, value_of: ValueOf, objects: SortedObjects) -> None:
        self._value_of = value_of
        self._objects = objects
        self._clear()
        self.used = monotonic()

    def _clear(self) -> None:
        self._keys: dict[str | None, str | set[str]] = {}
        """By value: a key or several keys."""
        self._unknown: set[str] = set()
        self._unread: list[str] = self._objects.keys()
        """The keys that are still to be read for the first time. The index cannot be used until this list is empty."""
        self.pending: set[str] = set()
        """The keys of objects that have changed since their values were read."""
        self._entries = 0

    async def refresh(self) -> None:
        """Read the values of new and changed objects, yielding to the event loop."""
        if self._entries > 2 * len(self._objects) + MIN_OBJECTS:
            # Most entries name objects that have another value by now.
            self._clear()
        self.pending |= self._unknown
        self._unknown = set()
        since = monotonic()
        while self._unread or self.pending:
            if self._unread:
                part = self._unread[-_KEYS_PER_CHECK:]
                del self._unread[-_KEYS_PER_CHECK:]
            else:
                part = [self.pending.pop() for _ in range(min(_KEYS_PER_CHECK, len(self.pending)))]
            for key in part:
                self._read(key)
            if monotonic() - since > _TIME_SLICE:
                await asyncio.sleep(0)
                since = monotonic()
        self.used = since

    def _read(self, key: str) -> None:
        cached = self._objects.get(key)
        if cached is None:
            return
        value = self._value_of(cached)
        if isinstance(value, Unknown):
            self._unknown.add(key)
            return
        found = self._keys.get(value)
        if found is None:
            self._keys[value] = key
        elif isinstance(found, str):
            if found == key:
                return
            self._keys[value] = {found, key}
        else:
            before = len(found)
            found.add(key)
            self._entries += len(found) - before
            return
        self._entries += 1

    def find(self, query: IndexQuery, most: int) -> set[str] | None:
        """Return the keys of all objects that can meet a requirement. Return None if there are more than `most`."""
        if self._unread:
            return None
        if query.values is None:
            if len(self._keys) > _MAX_DISTINCT_VALUES:
                return None
            values: Iterable[str | None] = [value for value in self._keys if query.accepts(value)]
        else:
            values = query.values
        entries = [self._keys[value] for value in values if value in self._keys]
        count = sum(1 if isinstance(entry, str) else len(entry) for entry in entries)
        if count + len(self.pending) + len(self._unknown) > most:
            return None
        keys = self.pending | self._unknown
        for entry in entries:
            if isinstance(entry, str):
                keys.add(entry)
            else:
                keys |= entry
        return keys


class ValueIndexes(dict[Hashable, ValueIndex]):
    """The indexes of one resource, by the ids of their queries."""

    def on_changed(self, keys: Iterable[str]) -> None:
        """Note that objects have changed. A removed object needs no note, because a lookup does not find it."""
        for index in self.values():
            index.pending.update(keys)

    def drop_idle(self) -> None:
        """Drop the indexes that no request has used for some minutes."""
        now = monotonic()
        for key, index in list(self.items()):
            if now - index.used > IDLE_SECONDS:
                del self[key]

    async def prepare(self, queries: list[IndexQuery], objects: SortedObjects) -> None:
        """Bring the indexes for a selection up to date. If there is none, build the index of the first query."""
        indexes = [index for query in queries if (index := self.get(query.id)) is not None]
        if not indexes:
            first = queries[0]
            while len(self) >= MAX_INDEXES:
                del self[min(self, key=lambda key: self[key].used)]
            indexes = [ValueIndex(first.value_of, objects)]
            self[first.id] = indexes[0]
        for index in indexes:
            await index.refresh()

    def find(self, queries: list[IndexQuery], most: int) -> set[str] | None:
        """Return the keys of a few objects, among them all that meet the requirements. Return None if no index helps.

        An index does not help if it leaves more than `most` objects.
        """
        best: set[str] | None = None
        for query in queries:
            index = self.get(query.id)
            keys = index.find(query, len(best) if best is not None else most) if index is not None else None
            if keys is not None and (best is None or len(keys) < len(best)):
                best = keys
        return best
