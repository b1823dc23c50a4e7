"""The opening handshake of WebSockets (RFC 6455), with the rules of kube-apiserver's watches."""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from collections.abc import Callable

from polykind.http.messages import TEXT, Request
from polykind.http.websocket_frames import NORMAL_CLOSURE, encode_close
from polykind.operations.responses import Header, Response, Sink, Stream

_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_origin = re.compile(rb"(?:[A-Za-z][A-Za-z0-9+.-]*:|/)[^\x00-\x20\x7f]*").fullmatch
"""Matches an Origin that Go accepts as a request URI. An Origin of "null" does not match."""


def is_websocket(request: Request) -> bool:
    """True if the client asks for a WebSocket instead of an HTTP response."""
    headers = request.headers
    return (
        headers.get(b"upgrade", b"").lower() == b"websocket" and b"upgrade" in headers.get(b"connection", b"").lower()
    )


def subprotocols(request: Request) -> list[bytes]:
    """Return the subprotocols that the client offers."""
    header = request.headers.get(b"sec-websocket-protocol", b"").strip()
    return [name.strip() for name in header.split(b",")] if header else []


def refusal(request: Request) -> Response | None:
    """Return the response if kube-apiserver refuses the WebSocket handshake, else None.

    Watches define no subprotocols. The server accepts a client that offers one subprotocol, whatever it is, and rejects
    a client that offers several. An Origin header is required, even from a client that is not a browser.
    """
    if request.method != "GET":
        return Response(405, b"bad method", TEXT)
    if not request.headers.get(b"sec-websocket-key"):
        return Response(400, b"mismatch challenge/response", TEXT)
    if request.headers.get(b"sec-websocket-version") != b"13":
        return Response(400, b"missing or bad WebSocket Version", TEXT, ((b"Sec-WebSocket-Version", b"13"),))
    if not _origin(request.headers.get(b"origin", b"")):
        return Response(403, b"", b"")
    return Response(400, b"", b"") if len(subprotocols(request)) > 1 else None


class WebSocketStream(Stream):
    """A WebSocket that sends messages and ignores messages of the client. Call `refusal` before."""

    __slots__ = ()

    ending = encode_close(NORMAL_CLOSURE)

    def __init__(self, request: Request, start: Callable[[Sink], None], on_end: Callable[[], None]) -> None:
        super().__init__(start, on_end, b"", _handshake_headers(request))
        self.status = 101


def _handshake_headers(request: Request) -> tuple[Header, ...]:
    digest = hashlib.sha1(request.headers[b"sec-websocket-key"] + _GUID, usedforsecurity=False).digest()
    return (
        (b"Upgrade", b"websocket"),
        (b"Connection", b"Upgrade"),
        (b"Sec-WebSocket-Accept", b64encode(digest)),
        *((b"Sec-WebSocket-Protocol", name) for name in subprotocols(request)),
    )
