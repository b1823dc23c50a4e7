"""A cache for what clients send: bounded in bytes, so that no client can fill the memory with different texts.

Everything in the server that remembers a result by a text, a token or an object of a request uses this class.
docs/decisions/0060 has the reasons and figures.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import fields, is_dataclass
from functools import wraps
from sys import getsizeof
from threading import Lock
from typing import Any, Final, Generic, TypeVar, TypeVarTuple, Unpack

import msgspec

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
Arguments = TypeVarTuple("Arguments")

ENTRY_BYTES: Final = 200
"""The approximate memory of an entry besides its key and its value."""
MAX_KEY_BYTES: Final = 2048
"""The default for the size of the longest key that is kept. Longer texts hardly ever repeat."""


def memory_of(value: object, most: int = 1 << 62) -> int:
    """Return the approximate memory of a value with all its parts, as if it shared no part with another value.

    Parts beyond `most` bytes are not counted.
    """
    total, unread = 0, [value]
    while unread and total <= most:
        part = unread.pop()
        total += getsizeof(part)
        if isinstance(part, tuple | list | frozenset | set):
            unread.extend(part)
        elif isinstance(part, Mapping):
            unread.extend(part.keys())
            unread.extend(part.values())
        elif isinstance(part, msgspec.Struct):
            unread.extend(getattr(part, name) for name in part.__struct_fields__)
        elif is_dataclass(part):
            unread.extend(getattr(part, field.name) for field in fields(part))
    return total


class BoundedCache(dict[K, V | None], Generic[K, V]):
    """A thread-safe cache of at most `max_bytes`. Read with `cache[key]`, which is None for an unknown key.

    An assignment counts the memory of the key and the `cost` of the value. A key above `max_key_bytes`, or an entry
    above half of the cache, is not kept. Two generations make a hit as fast as that of a dictionary: the entries
    used since the last change of generation are in this dictionary, the others in `_older`. When the first fill half
    of the cache, the others, which are those unused for longest, are dropped.
    """

    __slots__ = ("_bytes", "_cost", "_lock", "_max_key_bytes", "_older", "max_bytes")

    def __init__(
        self, max_bytes: int, *, max_key_bytes: int = MAX_KEY_BYTES, cost: Callable[[V], int] = memory_of
    ) -> None:
        super().__init__()
        self.max_bytes = max_bytes
        self._max_key_bytes = max_key_bytes
        self._cost = cost
        self._lock = Lock()
        self._bytes = 0
        """The bytes of the entries in this dictionary."""
        self._older: dict[K, V | None] = {}

    def __missing__(self, key: K) -> V | None:
        value = self._older.get(key)
        if value is not None:
            self[key] = value
        return value

    def __setitem__(self, key: K, value: V | None) -> None:
        key_bytes = memory_of(key, self._max_key_bytes)
        if value is None or key_bytes > self._max_key_bytes:
            return
        size = key_bytes + self._cost(value) + ENTRY_BYTES
        half = self.max_bytes // 2
        if size > half:
            return
        with self._lock:
            if self._bytes + size > half:
                self._older, self._bytes = dict(self), 0
                super().clear()
            replaced = self.get(key)
            self._bytes += size - (0 if replaced is None else key_bytes + self._cost(replaced) + ENTRY_BYTES)
            super().__setitem__(key, value)

    def clear(self) -> None:
        """Forget all entries."""
        with self._lock:
            super().clear()
            self._older, self._bytes = {}, 0


def remember(
    max_bytes: int, *, max_key_bytes: int = MAX_KEY_BYTES, cost: Callable[[Any], int] = memory_of
) -> Callable[[Callable[[Unpack[Arguments]], V]], Callable[[Unpack[Arguments]], V]]:
    """Return a decorator that keeps the results of a function, except None, in a `BoundedCache` by its arguments."""

    def decorate(function: Callable[[Unpack[Arguments]], V]) -> Callable[[Unpack[Arguments]], V]:
        results: BoundedCache[tuple[Any, ...], V] = BoundedCache(max_bytes, max_key_bytes=max_key_bytes, cost=cost)

        @wraps(function)
        def find(*args: *Arguments) -> V:
            result = results[args]
            if result is None:
                result = results[args] = function(*args)
            return result

        return find

    return decorate
