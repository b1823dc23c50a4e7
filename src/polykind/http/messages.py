"""HTTP messages: requests, chunks and Warning headers. Responses are in `operations/responses.py`."""

from __future__ import annotations

import itertools
import os
import unicodedata
from collections.abc import Callable, Iterable
from time import monotonic
from typing import TYPE_CHECKING

from polykind.golang.query import Query, parse_query
from polykind.operations.notes import Notes
from polykind.operations.responses import Header

if TYPE_CHECKING:
    from polykind.auth.user import User

TEXT = b"text/plain; charset=utf-8"


class AuditIds:
    """Generates audit ids in the form of UUIDs, from a random prefix and a counter."""

    def __init__(self) -> None:
        seed = os.urandom(10).hex()
        self._prefix = f"{seed[:8]}-{seed[8:12]}-4{seed[12:15]}-a{seed[15:18]}-".encode()
        self._counter = itertools.count(int.from_bytes(os.urandom(4), "big"))

    def __call__(self) -> bytes:
        return self._prefix + b"%012x" % next(self._counter)


HTTP2 = "HTTP/2.0"


class Request:
    """One HTTP request with its complete body. `user` is set after authentication."""

    __slots__ = (
        "audit_id",
        "body",
        "client_chain",
        "deadline",
        "decoded_path",
        "headers",
        "method",
        "notes",
        "on_timeout",
        "parsed_query",
        "path",
        "peer",
        "query",
        "segments",
        "timeout",
        "user",
    )

    protocol = "HTTP/1.1"
    """The version of HTTP, as Go writes it."""

    def __init__(self, method: str, path: str, query: str, headers: dict[bytes, bytes], body: bytes) -> None:
        self.method = method
        self.path = path
        """The path as the client sent it, percent-encoded."""
        self.decoded_path: str
        """The path without percent-encoding, and its segments. The first filter of the server sets them."""
        self.segments: list[str]
        self.query = query
        self.parsed_query: Query | None = None
        self.headers = headers
        """The value of each header by its lower-case name. Of most repeated headers, only the first value is kept.

        Repeated Impersonate-* headers are joined by NUL. If the request has such a header, the key `impersonate` is
        present, too. Repeated Transfer-Encoding and Sec-WebSocket-Protocol headers are joined by commas.
        """
        self.body = body
        self.audit_id = b""
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
        self.notes = Notes()

    def limit_time(self, seconds: float) -> None:
        """Let the request end after a number of seconds, if the server's timeout is not shorter."""
        self.timeout = seconds
        self.deadline = monotonic() + seconds
        if self.on_timeout is not None:
            self.on_timeout(seconds)

    @property
    def parameters(self) -> Query:
        """The parameters of the query. Callers must not change them."""
        if self.parsed_query is None:
            self.parsed_query = parse_query(self.query)
        return self.parsed_query

    @property
    def agent(self) -> bytes:
        """The client's program and version, or b"" if the client does not say."""
        return self.headers.get(b"user-agent", b"")

    @property
    def target(self) -> str:
        """The path and the query as the client sent them."""
        return f"{self.path}?{self.query}" if self.query else self.path

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
