"""HTTP messages: requests, responses, response streams and Warning headers."""

from __future__ import annotations

import itertools
import os
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from time import monotonic
from typing import TYPE_CHECKING, Any, Protocol, overload

from polykind.operations.notes import Notes

if TYPE_CHECKING:
    from polykind.auth.user import User

JSON = b"application/json"
TEXT = b"text/plain; charset=utf-8"

Header = tuple[bytes, bytes]


class AuditIds:
    """Generates audit ids in the form of UUIDs, from a random prefix and a counter."""

    def __init__(self) -> None:
        seed = os.urandom(10).hex()
        self._prefix = f"{seed[:8]}-{seed[8:12]}-4{seed[12:15]}-a{seed[15:18]}-".encode()
        self._counter = itertools.count(int.from_bytes(os.urandom(4), "big"))

    def __call__(self) -> bytes:
        return self._prefix + b"%012x" % next(self._counter)


HTTP2 = "HTTP/2.0"


class QuotaCharge(Protocol):
    """The usage of quotas that is recorded for a request before its object is stored."""

    def sent(self) -> None:
        """Note that the write may have reached the store."""

    def confirm(self) -> None:
        """Note that the object is stored."""

    def reject(self) -> None:
        """Note that the store has rejected the write, and remove the usage."""

    def close(self) -> None:
        """End the request. Remove the usage if the object was not sent to the store."""


class Request:
    """One HTTP request with its complete body. `user` is set after authentication."""

    __slots__ = (
        "audit_id",
        "body",
        "charges",
        "client_chain",
        "deadline",
        "ended_by_router",
        "headers",
        "is_large",
        "method",
        "notes",
        "on_timeout",
        "path",
        "peer",
        "query",
        "timeout",
        "user",
    )

    protocol = "HTTP/1.1"
    """The version of HTTP, as Go writes it."""

    def __init__(self, method: str, path: str, query: str, headers: dict[bytes, bytes], body: bytes) -> None:
        self.method = method
        self.path = path
        """The path as the client sent it, percent-encoded."""
        self.query = query
        self.headers = headers
        """The value of each header by its lower-case name. Of most repeated headers, only the first value is kept.

        Repeated Impersonate-* headers are joined by NUL. If the request has such a header, the key `impersonate` is
        present, too. Repeated Transfer-Encoding and Sec-WebSocket-Protocol headers are joined by commas.
        """
        self.body = body
        self.audit_id = b""
        self.charges: list[QuotaCharge] | None = None
        """The usage of quotas that the request has recorded so far, or None if no quota concerns it."""
        self.client_chain: tuple[bytes, ...] = ()
        """The certificate that the client presented and its intermediates, in DER. Nothing has verified them."""
        self.peer = ""
        """The IP address of the connection's peer. Empty if unknown."""
        self.user: User | None = None
        self.timeout: float | None = None
        """The client's timeout in seconds, or None to use the server's timeout."""
        self.on_timeout: Callable[[float], None] | None = None
        """Tells the connection of the request's timeout, because the request may already be running."""
        self.deadline: float | None = None
        """The time.monotonic() at which the client's timeout ends, or None if the request has no timeout."""
        self.ended_by_router = False
        """True if the router calls `RequestContext.end`. The requests of controllers have no such end."""
        self.is_large = False
        """True if the garbage collector is off because the request holds a large object."""
        self.notes = Notes()

    def limit_time(self, seconds: float) -> None:
        """Let the request end after a number of seconds, if the server's timeout is not shorter."""
        self.timeout = seconds
        self.deadline = monotonic() + seconds
        if self.on_timeout is not None:
            self.on_timeout(seconds)

    def hold(self, charge: QuotaCharge) -> None:
        """Keep a charge until the end of the request."""
        if self.charges is None:
            self.charges = []
        self.charges.append(charge)

    def close_charges(self) -> None:
        """End all charges, because the request has ended or its write has lost a race."""
        charges, self.charges = self.charges, None
        for charge in charges or ():
            charge.close()

    def header(self, name: bytes, default: str = "") -> str:
        value = self.headers.get(name)
        return default if value is None else value.decode("latin-1")


class Http2Request(Request):
    """A request on an HTTP/2 connection."""

    __slots__ = ()

    protocol = HTTP2


_LIST_HEADERS = frozenset((b"transfer-encoding", b"sec-websocket-protocol"))
"""Headers whose repeated values are joined by commas."""


def add_repeated_header(headers: dict[bytes, bytes], name: bytes, value: bytes) -> None:
    """Add a header that is repeated or may be an Impersonate-* header to the headers of a request."""
    previous = headers.get(name)
    if previous is None:
        headers[name] = value
    elif name in _LIST_HEADERS:
        headers[name] = previous + b", " + value
    if name.startswith(b"impersonate-"):
        headers[b"impersonate"] = b""
        if previous is not None:
            # Values are not joined by commas, because the name of a group may contain a comma.
            headers[name] = previous + b"\0" + value


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


def encode_chunk(data: bytes) -> bytes:
    """Encode one chunk of a chunked body. The result can be sent to any number of clients."""
    return b"%x\r\n%b\r\n" % (len(data), data)


# ---------------------------------------------------------------------- warnings

_MAX_TOTAL_WARNINGS = 4096
_MAX_TRUNCATED_WARNING = 256


def warning_headers(texts: Iterable[str]) -> tuple[Header, ...]:
    """Return a Warning header for each distinct text, within kube-apiserver's limit of 4096 characters in all."""
    distinct = [t for t in dict.fromkeys(texts) if t]
    out, total = [], 0
    for index, text in enumerate(distinct):
        header = _warning_header(text)
        if header is None:
            continue
        total += len(text)
        if total > _MAX_TOTAL_WARNINGS:
            return _truncated_warnings(distinct, index)
        out.append(header)
    return tuple(out)


def _truncated_warnings(texts: list[str], overflow: int) -> tuple[Header, ...]:
    """Truncate each text to 256 characters and return the Warning headers.

    Return headers for the texts up to index `overflow`, and for later texts until the limit of 4096 is reached.
    """
    out, total = [], 0
    for number, text in enumerate(texts):
        if number > overflow and total >= _MAX_TOTAL_WARNINGS:
            break
        header = _warning_header(text[:_MAX_TRUNCATED_WARNING])
        if header is not None:
            total += len(text[:_MAX_TRUNCATED_WARNING])
            out.append(header)
    return tuple(out)


def _warning_header(text: str) -> Header | None:
    """Return the Warning header, or None for a text with control characters, which a header cannot contain."""
    if any(unicodedata.category(c) in ("Cc", "Cs") for c in text):
        return None
    quoted = text.replace("\\", "\\\\").replace('"', '\\"')
    return b"Warning", f'299 - "{quoted}"'.encode()
