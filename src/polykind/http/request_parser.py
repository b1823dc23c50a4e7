"""The HTTP/1.1 request parser of one connection, with limits on head and body."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Protocol

import httptools

from polykind import errors
from polykind.http.messages import Request, add_repeated_header

if TYPE_CHECKING:
    from polykind.http.listener import Limits

_I = ord("i")
_token = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}").fullmatch


class ProtocolError(errors.APIError):
    """A violation of HTTP. Like Go's HTTP server, the server responds in plain text."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code

    def encode(self) -> bytes:
        return self.message.encode()


_MAX_PARTS = 100
"""The number of parts of a body that are kept apart. Further parts are appended to one buffer: a list of a million
chunks would take far more memory than the body.
"""
_MAX_OVERHEAD = 16
"""The number of received bytes for each byte of a body, beyond the longest head. A chunk of one byte takes 6 bytes."""
_VERSIONS = frozenset(("1.0", "1.1"))
is_host = re.compile(rb"[A-Za-z0-9!$%&'()*+,\-.:;=\[\]_~]*").fullmatch
"""Matches the hosts that Go's HTTP server accepts."""


def _is_known(method: bytes) -> bool:
    """True if httptools supports the method."""
    try:
        httptools.HttpRequestParser(None).feed_data(method + b" /")
    except httptools.HttpParserInvalidMethodError:
        return False
    return True


class RequestReceiver(Protocol):
    """The receiver of parsed requests."""

    def on_begin(self) -> None:
        """Handle the arrival of a request's first byte."""

    def on_expect_continue(self) -> None:
        """Handle a client that waits for 100 Continue before it sends the body."""

    def on_request(self, request: Request, keep_alive: bool) -> None:
        """Handle a complete request."""

    def on_rejected(self, error: errors.APIError, status: int) -> None:
        """Handle a request that is malformed or too large. The parser ignores all further data."""


class RequestParser:
    """Parses the requests of one connection. httptools calls the `on_...` methods."""

    __slots__ = (
        "_body",
        "_body_size",
        "_fed_size",
        "_has_repeated_host",
        "_head_size",
        "_headers",
        "_limits",
        "_method",
        "_parser",
        "_receiver",
        "_url",
        "_valid_host",
        "in_request",
        "stopped",
    )

    def __init__(self, limits: Limits, receiver: RequestReceiver) -> None:
        self._limits = limits
        self._receiver = receiver
        self._parser = httptools.HttpRequestParser(self)
        self._method = b""
        """The request's method if httptools does not support it, else b""."""
        self._url = b""
        self._headers: dict[bytes, bytes] = {}
        self._body: list[bytes | bytearray] = []
        self._head_size = 0
        self._body_size = 0
        self._fed_size = 0
        """The number of bytes of the current request that have arrived, for a request that arrives in several parts."""
        self._has_repeated_host = False
        self._valid_host = b""
        self.in_request = False
        """True if a part of a request has arrived, but not the whole request."""
        self.stopped = False
        """True if parsing has ended: a request was rejected, or the client asked for another protocol."""

    def close(self) -> None:
        """End the parsing when the connection is lost.

        The references to httptools and to the receiver are parts of cycles. Without them, the memory of the connection
        is freed at once, and not by a later garbage collection: TLS has a buffer of 256 KB for each connection.
        """
        self.stopped = True
        del self._parser, self._receiver

    @property
    def missing_body_bytes(self) -> int:
        """The number of bytes that are missing from a body with a Content-Length, else 0."""
        length = self._headers.get(b"content-length", b"") if self.in_request else b""
        return int(length) - self._body_size if length.isdigit() and not self.stopped else 0

    @property
    def awaits_body(self) -> bool:
        """True if the rest of a request's body has not arrived yet."""
        return self.in_request and not self.stopped and self._has_body()

    def feed(self, data: bytes) -> None:
        if self.stopped:
            return
        at_start = not self.in_request
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            # The server may accept the upgrade to a WebSocket. Otherwise ignore the Upgrade header, as RFC 9110 allows,
            # and close the connection after the response.
            self.stopped = True
        except httptools.HttpParserInvalidMethodError as error:
            method, space, rest = data.partition(b" ")
            if not (at_start and space and _token(method)) or _is_known(method):
                self._reject(errors.BadRequestError(f"malformed HTTP request: {error}"))
                return
            # httptools rejects unknown methods, so parse the request with a known one and restore the method later.
            self._method = method
            self._parser = httptools.HttpRequestParser(self)
            self.feed(b"REPORT " + rest)
        except (httptools.HttpParserError, ValueError) as error:
            self._reject(errors.BadRequestError(f"malformed HTTP request: {error}"))
        if self.in_request:
            self._fed_size += len(data)
            if self._fed_size > self._limits.max_head_bytes + _MAX_OVERHEAD * self._body_size:
                self._reject_overhead()

    def _reject_overhead(self) -> None:
        """Reject a head without end, or chunks whose sizes and extensions are much longer than their data.

        httptools collects a header until it is complete, and ignores the extensions of chunks.
        """
        if b"transfer-encoding" in self._headers:
            self._reject(errors.BadRequestError("http: chunked encoding contains too much non-data"))
        else:
            self._reject_head()

    def _reject(self, error: errors.APIError, status: int = 0) -> None:
        if not self.stopped:
            self.stopped = True
            self._receiver.on_rejected(error, status or error.code)

    def _reject_head(self) -> None:
        self._reject(errors.RequestTooLargeError("the head of the request is too large"), status=431)

    def _reject_body(self) -> None:
        self._reject(errors.RequestTooLargeError(f"Request entity too large: limit is {self._limits.max_body_bytes}"))

    # ------------------------------------------------------------------ called by httptools

    def on_message_begin(self) -> None:
        self._url = b""
        self._headers = {}
        self._body = []
        self._has_repeated_host = False
        self._head_size = self._body_size = self._fed_size = 0
        self.in_request = True
        self._receiver.on_begin()

    def on_url(self, url: bytes) -> None:
        self._url += url
        self._head_size += len(url)
        if self._head_size > self._limits.max_head_bytes:
            self._reject_head()

    def on_header(self, name: bytes, value: bytes) -> None:
        self._head_size += len(name) + len(value)
        if self._head_size > self._limits.max_head_bytes:
            self._reject_head()
        name = name.lower()
        if name in self._headers or name[0] == _I:
            self._has_repeated_host = self._has_repeated_host or name == b"host"
            add_repeated_header(self._headers, name, value)
        else:
            self._headers[name] = value

    def on_headers_complete(self) -> None:
        headers = self._headers
        # The head of most requests has the same Host as the previous one and nothing unusual.
        is_usual = headers.get(b"host") == self._valid_host and not (
            self._has_repeated_host or b"transfer-encoding" in headers or self._parser.get_http_version() != "1.1"
        )
        if not is_usual and (error := self._protocol_error()):
            self._reject(error)
            return
        length = self._headers.get(b"content-length")
        if length is not None and length.isdigit() and int(length) > self._limits.max_body_bytes:
            self._reject_body()
        elif b"expect" in self._headers and not self.stopped:
            if self._headers[b"expect"].lower() != b"100-continue":
                self._reject(ProtocolError(417, ""))
            elif self._has_body():
                self._receiver.on_expect_continue()

    def _protocol_error(self) -> ProtocolError | None:
        """Return the error for a request head that can be parsed but that Go's HTTP server rejects, else None."""
        headers = self._headers
        host, version = headers.get(b"host"), self._parser.get_http_version()
        if version not in _VERSIONS and headers:
            return ProtocolError(505, "505 HTTP Version Not Supported: unsupported protocol version")
        if self._has_repeated_host or version not in _VERSIONS:
            return ProtocolError(400, "400 Bad Request")
        if b"transfer-encoding" in headers and headers[b"transfer-encoding"].lower() != b"chunked":
            return ProtocolError(501, "Unsupported transfer encoding")
        if host is None and version != "1.0":
            return ProtocolError(400, "400 Bad Request: missing required Host header")
        if host is not None and host != self._valid_host:
            if not is_host(host):
                return ProtocolError(400, "400 Bad Request: malformed Host header")
            self._valid_host = host
        return None

    def _has_body(self) -> bool:
        headers = self._headers
        return headers.get(b"content-length", b"0") != b"0" or b"transfer-encoding" in headers

    def on_body(self, body: bytes) -> None:
        self._body_size += len(body)
        if self._body_size > self._limits.max_body_bytes:
            self._reject_body()
        elif not self.stopped:
            parts = self._body
            if len(parts) < _MAX_PARTS:
                parts.append(body)
            elif len(parts) == _MAX_PARTS:
                parts.append(bytearray(body))
            else:
                parts[-1] += body

    def on_message_complete(self) -> None:
        self.in_request = False
        if self.stopped:
            return
        parser = self._parser
        path, _, query = self._url.partition(b"?")
        request = Request(
            (self._method or parser.get_method()).decode("latin-1"),
            path.decode("latin-1"),
            query.decode("latin-1"),
            self._headers,
            b"".join(self._body),
        )
        self._body, self._method = [], b""
        self._receiver.on_request(request, parser.should_keep_alive() and not parser.should_upgrade())
