"""What is sent back: a whole answer, or a stream that goes on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

JSON = b"application/json"
TEXT = b"text/plain; charset=utf-8"


class Response:
    """A whole answer. `body` is one piece or several; a long one is sent piece by piece as the client takes it."""

    __slots__ = ("body", "content_type", "headers", "status")

    def __init__(
        self,
        status: int,
        body: bytes | Sequence[bytes] = b"",
        content_type: bytes = JSON,
        headers: tuple[tuple[bytes, bytes], ...] = (),
    ) -> None:
        self.status = status
        self.body = body
        self.content_type = content_type
        self.headers = headers


class Sink(Protocol):
    """Where a stream writes: the client's connection."""

    def send(self, frame: bytes) -> None:
        """Queue one framed chunk (see `frame`); never blocks. A client that does not keep up is cut off."""

    async def drained(self) -> None:
        """Wait until the client has taken most of what was sent."""

    def finish(self) -> None:
        """End the stream cleanly."""

    def abort(self) -> None:
        """Cut the connection."""


class Stream:
    """An answer that goes on: once its head is sent, `begin` is called with the sink, and `ended` when it is over."""

    __slots__ = ("begin", "content_type", "ended", "headers", "status")

    def __init__(
        self,
        begin: Callable[[Sink], None],
        ended: Callable[[], None],
        content_type: bytes = JSON,
        headers: tuple[tuple[bytes, bytes], ...] = (),
    ) -> None:
        self.status = 200
        self.begin = begin
        self.ended = ended
        self.content_type = content_type
        self.headers = headers


def frame(data: bytes) -> bytes:
    """One chunk of a chunked body. Made once, it can be sent to any number of clients."""
    return b"%x\r\n%b\r\n" % (len(data), data)
