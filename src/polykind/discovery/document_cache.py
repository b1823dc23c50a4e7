"""An LRU cache of large documents."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Final, NamedTuple

_CAPACITY: Final = 8 * 1024 * 1024


class Document(NamedTuple):
    """A body and its ETag (without quotes)."""

    body: bytes
    etag: str


class DocumentCache:
    """A thread-safe LRU cache of documents by ETag. `capacity` is the maximum total size in bytes."""

    def __init__(self, capacity: int = _CAPACITY) -> None:
        self._capacity = capacity
        self._size = 0
        self._documents: OrderedDict[str, bytes] = OrderedDict()
        self._lock = Lock()

    def get(self, etag: str, build: Callable[[], bytes]) -> Document:
        """Return the document with `etag` from the cache, or call `build` and cache the result.

        A document that is larger than the capacity is not cached.
        """
        with self._lock:
            body = self._documents.get(etag)
            if body is not None:
                self._documents.move_to_end(etag)
                return Document(body, etag)
        body = build()
        with self._lock:
            if len(body) <= self._capacity and etag not in self._documents:
                self._documents[etag] = body
                self._size += len(body)
                while self._size > self._capacity:
                    _, dropped = self._documents.popitem(last=False)
                    self._size -= len(dropped)
        return Document(body, etag)
