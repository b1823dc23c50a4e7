"""A request as it arrives: what the parser makes of a client's bytes, within limits."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Protocol

import httptools

from polykind import errors
from polykind.http.messages import Request

if TYPE_CHECKING:
    from polykind.http.listener import Limits

_I = ord("i")
_token = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}").fullmatch


def _is_known(method: bytes) -> bool:
    """Whether the parser knows a method."""
    try:
        httptools.HttpRequestParser(None).feed_data(method + b" /")
    except httptools.HttpParserInvalidMethodError:
        return False
    return True


class RequestReceiver(Protocol):
    """Who is told of what arrives."""

    def on_arrival(self) -> None:
        """A request begins to arrive."""

    def on_expectation(self) -> None:
        """The client waits to be told to go on with the body."""

    def on_request(self, request: Request, keep_alive: bool) -> None:
        """A request has arrived whole."""

    def on_refusal(self, error: errors.APIError, status: int) -> None:
        """What arrives cannot be read any further."""


class RequestParser:
    """The request that is arriving on one connection. Its methods are those that httptools' parser calls."""

    __slots__ = (
        "_body",
        "_body_size",
        "_head_size",
        "_headers",
        "_limits",
        "_method",
        "_parser",
        "_receiver",
        "_url",
        "over",
        "under_way",
    )

    def __init__(self, limits: Limits, receiver: RequestReceiver) -> None:
        self._limits = limits
        self._receiver = receiver
        self._parser = httptools.HttpRequestParser(self)
        self._method = b""
        """That of the request, if it is one that the parser does not know."""
        self._url = b""
        self._headers: dict[bytes, bytes] = {}
        self._body: list[bytes] = []
        self._head_size = 0
        self._body_size = 0
        self.under_way = False
        """Part of a request is in."""
        self.over = False
        """Nothing more is read: what came was refused, or is no HTTP any more."""

    def feed(self, data: bytes) -> None:
        if self.over:
            return
        begins = not self.under_way
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            # Nobody is obliged to switch protocols: the request is answered as it stands, then the connection closes.
            self.over = True
        except httptools.HttpParserInvalidMethodError as error:
            method, space, rest = data.partition(b" ")
            if not (begins and space and _token(method)) or _is_known(method):
                self._refuse(errors.BadRequestError(f"malformed HTTP request: {error}"))
                return
            # To the parser it is another method; it is told by its own name.
            self._method = method
            self._parser = httptools.HttpRequestParser(self)
            self.feed(b"REPORT " + rest)
        except (httptools.HttpParserError, ValueError) as error:
            self._refuse(errors.BadRequestError(f"malformed HTTP request: {error}"))

    def _refuse(self, error: errors.APIError, status: int = 0) -> None:
        if not self.over:
            self.over = True
            self._receiver.on_refusal(error, status or error.code)

    def _refuse_head(self) -> None:
        self._refuse(errors.RequestTooLargeError("the head of the request is too large"), status=431)

    def _refuse_body(self) -> None:
        self._refuse(errors.RequestTooLargeError(f"Request entity too large: limit is {self._limits.body}"))

    # ------------------------------------------------------------------ the parser's side

    def on_message_begin(self) -> None:
        self._url = b""
        self._headers = {}
        self._body = []
        self._head_size = self._body_size = 0
        self.under_way = True
        self._receiver.on_arrival()

    def on_url(self, url: bytes) -> None:
        self._url += url
        self._head_size += len(url)
        if self._head_size > self._limits.head:
            self._refuse_head()

    def on_header(self, name: bytes, value: bytes) -> None:
        self._head_size += len(name) + len(value)
        if self._head_size > self._limits.head:
            self._refuse_head()
        name = name.lower()
        if name in self._headers or name[0] == _I:
            self._take_odd(name, value)
        else:
            self._headers[name] = value

    def _take_odd(self, name: bytes, value: bytes) -> None:
        """A header that is repeated, or maybe one of impersonation: then it is marked that there are such."""
        known = self._headers.get(name)
        if known is None:
            self._headers[name] = value
        if name.startswith(b"impersonate-"):
            self._headers[b"impersonate"] = b""
            if known is not None:
                # Not by commas: a group's name may have some.
                self._headers[name] = known + b"\0" + value

    def on_headers_complete(self) -> None:
        length = self._headers.get(b"content-length")
        if length is not None and length.isdigit() and int(length) > self._limits.body:
            self._refuse_body()
        elif b"expect" in self._headers and not self.over and self._waits():
            self._receiver.on_expectation()

    def _waits(self) -> bool:
        """Whether the client waits to be told to go on: one that has nothing more to send does not."""
        headers = self._headers
        more = headers.get(b"content-length", b"0") != b"0" or b"transfer-encoding" in headers
        return more and headers[b"expect"].lower() == b"100-continue"

    def on_body(self, body: bytes) -> None:
        self._body_size += len(body)
        if self._body_size > self._limits.body:
            self._refuse_body()
        elif not self.over:
            self._body.append(body)

    def on_message_complete(self) -> None:
        self.under_way = False
        if self.over:
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
