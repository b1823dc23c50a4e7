"""The transport of a request: how its client receives a stream, by HTTP or over a WebSocket."""

from __future__ import annotations

from collections.abc import Callable

from polykind.http.framing import Framing, stream_framing
from polykind.http.messages import Request
from polykind.http.websocket import WebSocketStream, is_websocket, refusal
from polykind.operations.responses import Header, Response, Sink, Stream


class HttpTransport:
    """The connection, or the stream of an HTTP/2 connection, on which a request has arrived."""

    __slots__ = ("_request",)

    def __init__(self, request: Request) -> None:
        self._request = request

    @property
    def path(self) -> str:
        return self._request.path

    @property
    def upgrades(self) -> bool:
        return b"upgrade" in self._request.headers

    @property
    def is_websocket(self) -> bool:
        return is_websocket(self._request)

    def refusal(self) -> Response | None:
        return refusal(self._request)

    def framing(self, *, compressed: bool) -> Framing:
        return stream_framing(self._request, compressed=compressed)

    def stream(
        self,
        start: Callable[[Sink], None],
        on_end: Callable[[], None],
        content_type: bytes,
        headers: tuple[Header, ...] = (),
    ) -> Stream:
        if self.is_websocket:
            return WebSocketStream(self._request, start, on_end)
        return Stream(start, on_end, content_type, headers)
