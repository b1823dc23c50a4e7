"""The objects of one resource in memory: by key, and sorted in blocks that readers and writers share.

A snapshot of a million objects as one list touches each of them, which holds the event loop for tens of milliseconds.
A view copies the list of blocks only. A writer that changes a block after that replaces it with a copy.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, chain
from operator import attrgetter
from typing import overload

from polykind.cache.cached_object import CachedObject

MAX_BLOCK = 1000

Block = list[CachedObject]

_key_of = attrgetter("key")
_data_of = attrgetter("data")
_revision_of = attrgetter("revision")
_version_of = attrgetter("version")


def _first_key(block: Block) -> str:
    return block[0].key


class SortedObjects:
    """Cached objects, sorted by key within their namespaces."""

    def __init__(self, objects: Iterable[CachedObject] = ()) -> None:
        self.version_counts: dict[str, int] = {}
        """The number of objects stored at each version."""
        self.last_change = 0
        """The highest revision of an object that was ever added."""
        self._by_key: dict[str, CachedObject] = {}
        self._by_namespace: dict[str, SortedBlocks] = {}
        self._data_sizes: dict[str, int] = {}
        """The total size of the objects' JSON by namespace."""
        self._prefixes: list[str] = []
        """The namespaces in the order of their keys, each with a slash. The prefix of cluster-scoped objects is empty.
        """
        for cached in objects:
            self.put(cached)

    def __len__(self) -> int:
        return len(self._by_key)

    def get(self, key: str) -> CachedObject | None:
        return self._by_key.get(key)

    def count(self, namespace: str | None) -> int:
        """Return the number of objects of a namespace (None: all namespaces)."""
        return len(self._by_key) if namespace is None else len(self._by_namespace.get(namespace, ()))

    def data_size(self, namespace: str | None) -> int:
        """Return the total size of the JSON of the objects of a namespace (None: all namespaces)."""
        return sum(self._data_sizes.values()) if namespace is None else self._data_sizes.get(namespace, 0)

    def keys(self) -> list[str]:
        """Return all keys in no particular order."""
        return list(self._by_key)

    def unordered(self) -> list[CachedObject]:
        """Return all objects in no particular order."""
        return list(self._by_key.values())

    def snapshot(self, namespace: str | None, after: str = "", limit: int = 0) -> list[CachedObject]:
        """Return the objects of a namespace (None: all) with keys after `after`, at most `limit` (0: no limit)."""
        if namespace is not None:
            objects = self._by_namespace.get(namespace)
            return objects.after(after, limit) if objects is not None else []
        found: list[CachedObject] = []
        first = max(bisect_right(self._prefixes, after) - 1, 0) if after else 0
        for prefix in self._prefixes[first:]:
            found += self.snapshot(prefix.rstrip("/"), after, limit - len(found) if limit else 0)
            if limit and len(found) == limit:
                break
        return found

    def view(self, namespace: str | None) -> Sequence[CachedObject]:
        """Return the objects of a namespace (None: all) as they are now, without a look at each of them."""
        prefixes = self._prefixes if namespace is None else [namespace]
        found = (self._by_namespace.get(prefix.rstrip("/")) for prefix in prefixes)
        return ObjectsView(chain.from_iterable(blocks.view() for blocks in found if blocks is not None))

    def named(self, name: str, after: str = "") -> list[CachedObject]:
        """Return the objects with a name in all namespaces, in key order, with keys after `after`."""
        keys = (prefix + name for prefix in self._prefixes)
        return [cached for key in keys if key > after and (cached := self._by_key.get(key)) is not None]

    def remaining(self, namespace: str | None, after: str) -> int:
        """Return the number of objects of a namespace (None: all) whose keys come after `after`."""
        if namespace is not None:
            objects = self._by_namespace.get(namespace)
            return objects.count_after(after) if objects is not None else 0
        first = max(bisect_right(self._prefixes, after) - 1, 0)
        if not self._prefixes[first:]:
            return 0
        rest = sum(self.count(prefix.rstrip("/")) for prefix in self._prefixes[first + 1 :])
        return rest + self.remaining(self._prefixes[first].rstrip("/"), after)

    def put_sorted(self, objects: list[CachedObject]) -> None:
        """Add objects that are sorted by key, unless a newer state of the same object is there.

        The load of a large resource adds thousands of objects at a time, most of them in one namespace. In the usual
        case they follow all objects of that namespace.
        """
        if not objects:
            return
        first, last, namespace = objects[0], objects[-1], objects[0].namespace
        present = self._by_namespace.get(namespace)
        if last.namespace != namespace or (present and present.last_key >= first.key):
            for cached in objects:
                current = self._by_key.get(cached.key)
                if current is None or current.revision < cached.revision:
                    self.put(cached)
            return
        self._add_namespace(namespace).extend(objects)
        self._by_key.update(zip(map(_key_of, objects), objects, strict=True))
        self._data_sizes[namespace] += sum(map(len, map(_data_of, objects)))
        self.last_change = max(self.last_change, *map(_revision_of, objects))
        for version, count in Counter(map(_version_of, objects)).items():
            self.version_counts[version] = self.version_counts.get(version, 0) + count

    def _add_namespace(self, namespace: str) -> SortedBlocks:
        """Return the objects of a namespace. Add the namespace if it has none yet."""
        objects = self._by_namespace.get(namespace)
        if objects is None:
            objects = self._by_namespace[namespace] = SortedBlocks()
            self._data_sizes[namespace] = 0
            insort(self._prefixes, f"{namespace}/" if namespace else "")
        return objects

    def put(self, cached: CachedObject) -> CachedObject | None:
        """Add an object, or replace the object with the same key. Return the replaced object."""
        old, namespace = self._by_key.get(cached.key), cached.namespace
        self._by_key[cached.key] = cached
        self.version_counts[cached.version] = self.version_counts.get(cached.version, 0) + 1
        self.last_change = max(self.last_change, cached.revision)
        objects = self._add_namespace(namespace)
        self._data_sizes[namespace] += len(cached.data)
        if old is not None:
            self._data_sizes[namespace] -= len(old.data)
            self.version_counts[old.version] -= 1
        objects.put(cached)
        return old

    def remove(self, cached: CachedObject) -> None:
        del self._by_key[cached.key]
        self.version_counts[cached.version] -= 1
        namespace = cached.namespace
        objects = self._by_namespace[namespace]
        objects.remove(cached)
        self._data_sizes[namespace] -= len(cached.data)
        if not objects:
            del self._by_namespace[namespace], self._data_sizes[namespace]
            self._prefixes.remove(f"{namespace}/" if namespace else "")


class SortedBlocks:
    """The objects of one namespace, sorted by key. No block is empty."""

    __slots__ = ("_blocks", "_len", "_unshared")

    def __init__(self) -> None:
        self._blocks: list[Block] = []
        self._len = 0
        self._unshared: set[int] | None = None
        """The ids of blocks that no view contains, or None if there are none."""

    def __len__(self) -> int:
        return self._len

    @property
    def last_key(self) -> str:
        """The key of the last object. There must be one."""
        return self._blocks[-1][-1].key

    def view(self) -> list[Block]:
        """Return the blocks as they are now. Later changes do not affect them."""
        self._unshared = None
        return self._blocks[:]

    def after(self, key: str, limit: int) -> list[CachedObject]:
        """Return the objects whose keys come after `key`, at most `limit` (0: all)."""
        found: list[CachedObject] = []
        index = self._block_of(key) if key else 0
        for block in self._blocks[index:]:
            start = bisect_right(block, key, key=_key_of) if key and not found else 0
            found += block[start : start + limit - len(found)] if limit else block[start:]
            if limit and len(found) == limit:
                break
        return found

    def count_after(self, key: str) -> int:
        """Return the number of objects whose keys come after `key`."""
        if not self._blocks:
            return 0
        index = self._block_of(key)
        block = self._blocks[index]
        return len(block) - bisect_right(block, key, key=_key_of) + sum(map(len, self._blocks[index + 1 :]))

    def extend(self, objects: Block) -> None:
        """Add objects that come after all others, sorted by key."""
        if self._blocks and len(self._blocks[-1]) + len(objects) <= MAX_BLOCK:
            self._writable(len(self._blocks) - 1).extend(objects)
        else:
            self._blocks += (objects[start : start + MAX_BLOCK] for start in range(0, len(objects), MAX_BLOCK))
        self._len += len(objects)

    def put(self, cached: CachedObject) -> None:
        """Add an object, or replace the object with the same key."""
        if not self._blocks:
            self.extend([cached])
            return
        index = self._block_of(cached.key)
        block = self._writable(index)
        at = bisect_left(block, cached.key, key=_key_of)
        if at < len(block) and block[at].key == cached.key:
            block[at] = cached
            return
        block.insert(at, cached)
        self._len += 1
        if len(block) > MAX_BLOCK:
            self._blocks.insert(index + 1, block[MAX_BLOCK // 2 :])
            del block[MAX_BLOCK // 2 :]

    def remove(self, cached: CachedObject) -> None:
        """Remove an object, which must be there."""
        index = self._block_of(cached.key)
        block = self._writable(index)
        del block[bisect_left(block, cached.key, key=_key_of)]
        self._len -= 1
        if not block:
            del self._blocks[index]
            self._unshared = None

    def _block_of(self, key: str) -> int:
        """Return the index of the block in which a key is or would be."""
        return max(bisect_right(self._blocks, key, key=_first_key) - 1, 0)

    def _writable(self, index: int) -> Block:
        """Return a block that no view contains. Replace the block with a copy if necessary."""
        block = self._blocks[index]
        if self._unshared is None:
            self._unshared = set()
        if id(block) not in self._unshared:
            block = self._blocks[index] = block[:]
            self._unshared.add(id(block))
        return block


class ObjectsView(Sequence[CachedObject]):
    """Objects in blocks, as a sequence."""

    __slots__ = ("_blocks", "_starts")

    def __init__(self, blocks: Iterable[Block]) -> None:
        self._blocks = list(blocks)
        self._starts = list(accumulate(map(len, self._blocks), initial=0))

    def __len__(self) -> int:
        return self._starts[-1]

    @overload
    def __getitem__(self, index: int) -> CachedObject: ...
    @overload
    def __getitem__(self, index: slice) -> list[CachedObject]: ...
    def __getitem__(self, index: int | slice) -> CachedObject | list[CachedObject]:
        if isinstance(index, int):
            at = range(len(self))[index]
            number = bisect_right(self._starts, at) - 1
            return self._blocks[number][at - self._starts[number]]
        start, stop, step = index.indices(len(self))
        if step != 1:
            return list(self)[index]
        found: list[CachedObject] = []
        number = bisect_right(self._starts, start) - 1
        while start + len(found) < stop:
            first = self._starts[number]
            found += self._blocks[number][start + len(found) - first : stop - first]
            number += 1
        return found

    def __iter__(self) -> Iterator[CachedObject]:
        return chain.from_iterable(self._blocks)
