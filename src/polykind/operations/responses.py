"""Responses: a status and a body in a media type, complete or as a stream. A server sends them by HTTP."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, overload

JSON = b"application/json"

Header = tuple[bytes, bytes]


class LazyItems(Sequence[bytes]):
    """Byte strings that are read from objects when they are sent. Their total length is known without a look at them.

    A look at each of a million objects takes a tenth of a second, because they are not in the processor's cache.
    """

    __slots__ = ("_objects", "_read", "size")

    def __init__(self, objects: Sequence[Any], read: Callable[[Any], bytes], size: int) -> None:
        self._objects = objects
        self._read = read
        self.size = size

    def __len__(self) -> int:
        return len(self._objects)

    @overload
    def __getitem__(self, index: int) -> bytes: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[bytes]: ...
    def __getitem__(self, index: int | slice) -> bytes | Sequence[bytes]:
        if isinstance(index, slice):
            return list(map(self._read, self._objects[index]))
        return self._read(self._objects[index])

    def __iter__(self) -> Iterator[bytes]:
        return map(self._read, self._objects)


def total_size(items: Sequence[bytes]) -> int:
    """Return the total length of byte strings."""
    return items.size if isinstance(items, LazyItems) else sum(map(len, items))


class JoinedParts:
    """A body whose items are joined while it is sent, so that the responses to several clients share the items."""

    __slots__ = ("_head", "_items", "_separator", "_shorten", "_tail", "size")

    _ITEMS_PER_PART = 64
    _MAX_JOINED_BYTES = 256 * 1024
    """Longer parts are not joined: a client that does not read would keep a copy of many long items."""

    def __init__(
        self,
        head: bytes,
        items: Sequence[bytes],
        separator: bytes,
        tail: bytes,
        shorten: Callable[[bytes], bytes] | None = None,
        shorter_by: int = 0,
    ) -> None:
        """`shorten` is a function that removes `shorter_by` bytes from each item before it is sent."""
        self._shorten = shorten
        self._head = head
        self._items = items
        self._separator = separator
        self._tail = tail
        self.size = len(head) + total_size(items) + len(separator) * max(0, len(items) - 1) + len(tail)
        self.size -= shorter_by * len(items)

    def __iter__(self) -> Iterator[bytes]:
        yield self._head
        items, step = self._items, self._ITEMS_PER_PART
        for start in range(0, len(items), step):
            part_items = items[start : start + step]
            if sum(map(len, part_items)) > self._MAX_JOINED_BYTES:
                yield from self._separate(part_items, is_first=not start)
                continue
            part = self._separator.join(map(self._shorten, part_items) if self._shorten else part_items)
            yield self._separator + part if start else part
        yield self._tail

    def _separate(self, items: Sequence[bytes], *, is_first: bool) -> Iterator[bytes]:
        for index, item in enumerate(items):
            if index or not is_first:
                yield self._separator
            yield self._shorten(item) if self._shorten else item


Body = Sequence[bytes] | JoinedParts
"""A body that is sent in parts."""


def body_size(body: bytes | Body) -> int:
    """Return the length of a body in bytes."""
    if isinstance(body, bytes):
        return len(body)
    return body.size if isinstance(body, JoinedParts) else sum(map(len, body))


class Response:
    """A complete response. `body` is one byte string or several. The server sends a long body in pieces."""

    __slots__ = ("body", "content_type", "headers", "status")

    def __init__(
        self,
        status: int,
        body: bytes | Body = b"",
        content_type: bytes = JSON,
        headers: tuple[Header, ...] = (),
    ) -> None:
        self.status = status
        self.body = body
        self.content_type = content_type
        self.headers = headers


class Sink(Protocol):
    """The connection, or the stream of an HTTP/2 connection, that a response stream writes to."""

    def send(self, chunk: bytes) -> None:
        """Queue framed data (see `framing`) without blocking. End the response if the client reads too slowly."""

    def send_part(self, data: bytes) -> None:
        """Queue data that is not framed yet."""

    async def drained(self) -> None:
        """Wait until the client has read most of the queued data."""

    def finish(self) -> None:
        """End the stream normally."""

    def abort(self) -> None:
        """End the response at once, so that the client knows that it is incomplete."""


class Stream:
    """A response that is sent in parts, chunked in HTTP/1.1.

    The server calls `start` after sending the head and `on_end` when the stream has ended.
    """

    __slots__ = ("content_type", "headers", "on_end", "start", "status")

    ending = b"0\r\n\r\n"
    """The bytes that end the stream after the last event in HTTP/1.1."""

    def __init__(
        self,
        start: Callable[[Sink], None],
        on_end: Callable[[], None],
        content_type: bytes = JSON,
        headers: tuple[Header, ...] = (),
    ) -> None:
        self.status = 200
        self.start = start
        self.on_end = on_end
        self.content_type = content_type
        self.headers = headers


class BodyStream(Stream):
    """A stream whose body is encoded while it is sent, such as a compressed list."""
