"""The transport of streams to the client of an operation."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from polykind.http.framing import Framing
    from polykind.operations.responses import Header, Response, Sink, Stream


class Transport(Protocol):
    """Sends a stream to the client of an operation. Only watches and connections to nodes need it."""

    @property
    def path(self) -> str:
        """The path of the request, percent-encoded."""

    @property
    def upgrades(self) -> bool:
        """True if the client asks for another protocol on its connection."""

    @property
    def is_websocket(self) -> bool:
        """True if the client asks for a WebSocket."""

    def refusal(self) -> Response | None:
        """Return the response if the server refuses to open the WebSocket, else None."""

    def framing(self, *, compressed: bool) -> Framing:
        """Return the framing of a stream that is not a WebSocket."""

    def stream(
        self,
        start: Callable[[Sink], None],
        on_end: Callable[[], None],
        content_type: bytes,
        headers: tuple[Header, ...] = (),
    ) -> Stream:
        """Return a stream of events, as a WebSocket if the client asks for it."""
