"""Correlation of a new value with the old value that it replaces. Validation ratcheting needs this (KEP-4008)."""

from __future__ import annotations

from typing import Any

from polykind.schema.equality import deep_equal
from polykind.schema.node import ABSENT, SchemaNode


class Correlation:
    """A new value, and the old value at the same place in the old object.

    Values are correlated by property and by map key. Items of lists of type map are correlated by the list's keys.
    """

    __slots__ = ("_children", "_equal", "_old_items", "new", "node", "old")

    def __init__(self, new: Any, old: Any, node: SchemaNode) -> None:
        self.new, self.old, self.node = new, old, node
        self._children: dict[str | int, Correlation | None] = {}
        self._equal: bool | None = None
        self._old_items: dict[Any, Any] | None = None

    def key(self, name: str) -> Correlation | None:
        """Return the correlation of a property or map key. Return None if the old value does not have the key."""
        child = self._children.get(name, ABSENT)
        if child is ABSENT:
            child = self._children[name] = self._correlate_key(name)
        return child  # type: ignore[no-any-return]

    def index(self, at: int) -> Correlation | None:
        """Return the correlation of a list item. Return None if no old item corresponds to it."""
        child = self._children.get(at, ABSENT)
        if child is ABSENT:
            child = self._children[at] = self._correlate_index(at)
        return child  # type: ignore[no-any-return]

    def unchanged(self) -> bool:
        """True if the new value equals the old one. False if the value contains parts without a schema."""
        if self._equal is None:
            self._equal = self._compare()
        return self._equal

    def _correlate_key(self, name: str) -> Correlation | None:
        if type(self.old) is not dict or type(self.new) is not dict or name not in self.old or name not in self.new:
            return None
        node = self.node.child(name)
        return Correlation(self.new[name], self.old[name], node) if node else None

    def _correlate_index(self, at: int) -> Correlation | None:
        node = self.node.items
        if type(self.old) is not list or type(self.new) is not list or not node or self.node.list_type != "map":
            return None
        if self._old_items is None:
            self._old_items = {}
            if self.node.types == ("array",) and self.node.list_map_keys:
                for item in self.old:
                    key = self._list_map_key(item)
                    if key is not None:
                        self._old_items.setdefault(key, item)
        key = self._list_map_key(self.new[at])
        old = self._old_items.get(key) if key is not None else None
        return Correlation(self.new[at], old, node) if old is not None else None

    def _list_map_key(self, item: Any) -> Any:
        """Return the values of the list map keys of an item. Return None if one is missing or not a scalar."""
        if type(item) is not dict:
            return None
        key = []
        for name in self.node.list_map_keys:
            value = item.get(name)
            if type(value) not in (str, int, float, bool):
                return None
            key.append((type(value), value))
        return tuple(key)

    def _compare(self) -> bool:
        new, old = self.new, self.old
        if new is None or old is None:
            return new is old
        if type(new) is list and type(old) is list:
            if len(new) != len(old):
                return False
            for at in range(len(new)):
                child = self.index(at)
                if child is None:
                    return deep_equal(old, new) if self._old_items is None else False
                if not child.unchanged():
                    return False
            return True
        if type(new) is dict and type(old) is dict:
            if len(new) != len(old):
                return False
            for name in new:
                child = self.key(name)
                if child is None or not child.unchanged():
                    return False
            return True
        return deep_equal(old, new)
