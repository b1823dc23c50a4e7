"""Which old value a new one continues: by property, by key of a map, by the keys of a list of type map."""

from __future__ import annotations

from typing import Any

from polykind.schema.equality import deep_equal
from polykind.schema.node import ABSENT, SchemaNode


class Correlation:
    """A value with its predecessor in an update, as far as the schema can tell which that is."""

    __slots__ = ("_children", "_equal", "_keyed", "new", "node", "old")

    def __init__(self, new: Any, old: Any, node: SchemaNode) -> None:
        self.new, self.old, self.node = new, old, node
        self._children: dict[str | int, Correlation | None] = {}
        self._equal: bool | None = None
        self._keyed: dict[Any, Any] | None = None

    def key(self, name: str) -> Correlation | None:
        found = self._children.get(name, ABSENT)
        if found is ABSENT:
            found = self._children[name] = self._find_key(name)
        return found  # type: ignore[no-any-return]

    def index(self, at: int) -> Correlation | None:
        found = self._children.get(at, ABSENT)
        if found is ABSENT:
            found = self._children[at] = self._find_index(at)
        return found  # type: ignore[no-any-return]

    def unchanged(self) -> bool:
        """Whether nothing changed; a value that holds something without a schema always counts as changed."""
        if self._equal is None:
            self._equal = self._compare()
        return self._equal

    def _find_key(self, name: str) -> Correlation | None:
        if type(self.old) is not dict or type(self.new) is not dict or name not in self.old or name not in self.new:
            return None
        node = self.node.child(name)
        return Correlation(self.new[name], self.old[name], node) if node else None

    def _find_index(self, at: int) -> Correlation | None:
        node = self.node.items
        if type(self.old) is not list or type(self.new) is not list or not node or self.node.list_type != "map":
            return None
        if self._keyed is None:
            self._keyed = {}
            if self.node.types == ("array",) and self.node.list_map_keys:
                for item in self.old:
                    key = self._key_of(item)
                    if key is not None:
                        self._keyed.setdefault(key, item)
        key = self._key_of(self.new[at])
        old = self._keyed.get(key) if key is not None else None
        return Correlation(self.new[at], old, node) if old is not None else None

    def _key_of(self, item: Any) -> Any:
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
                    return deep_equal(old, new) if self._keyed is None else False
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
