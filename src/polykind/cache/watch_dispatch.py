"""Dispatch of changes to watches with selectors: a change costs nothing for the watches that it cannot concern."""

from __future__ import annotations

from collections.abc import Collection, Hashable
from typing import TYPE_CHECKING

from polykind.cache.value_index import IndexQuery, Unknown, ValueOf

if TYPE_CHECKING:
    from polykind.cache.resource_cache import CacheObserver, ObjectChange


class WatchDispatch:
    """Observers of one resource that want only the changes of objects with certain values of a label or field.

    An object has such a value before or after the change. Otherwise the change cannot cause an event for the observer.
    """

    def __init__(self) -> None:
        self._groups: dict[Hashable, _Group] = {}
        self._always: dict[Hashable, _Group] = {}
        """The groups to ask about every change."""
        self._by_label: dict[str, _Group] = {}
        """The other groups, by label. They accept only objects that have the label."""
        self.queries: dict[CacheObserver, IndexQuery] = {}
        """The queries by observer."""

    def add(self, observer: CacheObserver, query: IndexQuery) -> None:
        """Add an observer. The query must name the values that it accepts."""
        group = self._groups.get(query.id)
        if group is None:
            group = self._groups[query.id] = _Group(query.value_of)
        group.add(observer, query.values or ())
        self._place(query, group)
        self.queries[observer] = query

    def _place(self, query: IndexQuery, group: _Group) -> None:
        """Note the changes about which a group is to be asked."""
        if query.label is None or group.accepts_absence:
            self._always[query.id] = group
            if query.label is not None:
                self._by_label.pop(query.label, None)
        elif query.id not in self._always:
            self._by_label[query.label] = group

    def remove(self, observer: CacheObserver) -> None:
        """Remove an observer. Do nothing if it was not added."""
        query = self.queries.pop(observer, None)
        if query is not None:
            group = self._groups[query.id]
            group.remove(observer, query.values or ())
            if not group.observers:
                del self._groups[query.id]
                self._always.pop(query.id, None)
                self._by_label.pop(query.label or "", None)

    def on_changes(self, changes: list[ObjectChange]) -> None:
        """Pass changes to the observers that they may concern, in order."""
        concerned: dict[CacheObserver, list[ObjectChange]] = {}
        for change in changes:
            for group in self._groups_for(change):
                for observer in group.concerned(change):
                    concerned.setdefault(observer, []).append(change)
        for observer, its_changes in concerned.items():
            observer.on_changes(its_changes)

    def _groups_for(self, change: ObjectChange) -> list[_Group]:
        """Return the groups that a change may concern. Watches of labels that the object does not have cost nothing."""
        groups, by_label = list(self._always.values()), self._by_label
        if by_label:
            labels = {**((change.old and change.old.labels) or {}), **((change.new and change.new.labels) or {})}
            groups += [by_label[label] for label in labels if label in by_label]
        return groups


class _Group:
    """The observers that look at the same label or field."""

    def __init__(self, value_of: ValueOf) -> None:
        self._value_of = value_of
        self._by_value: dict[str | None, dict[CacheObserver, None]] = {}
        self.observers: dict[CacheObserver, None] = {}

    @property
    def accepts_absence(self) -> bool:
        """True if an observer wants the objects without a value."""
        return None in self._by_value

    def add(self, observer: CacheObserver, values: tuple[str | None, ...]) -> None:
        self.observers[observer] = None
        for value in values:
            self._by_value.setdefault(value, {})[observer] = None

    def remove(self, observer: CacheObserver, values: tuple[str | None, ...]) -> None:
        self.observers.pop(observer, None)
        for value in set(values):
            found = self._by_value.get(value, {})
            found.pop(observer, None)
            if not found:
                self._by_value.pop(value, None)

    def concerned(self, change: ObjectChange) -> Collection[CacheObserver]:
        """Return the observers that a change may concern: all of them if a value cannot be read."""
        states = [state for state in (change.old, change.new) if state is not None]
        values = [self._value_of(state) for state in states]
        found: dict[CacheObserver, None] = {}
        for value in values:
            if isinstance(value, Unknown):
                return self.observers
            found |= self._by_value.get(value, {})
        return found
