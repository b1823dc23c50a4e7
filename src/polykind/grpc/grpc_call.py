"""One gRPC call on a multiplexed HTTP/2 connection."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Protocol

CANCELLED, DEADLINE_EXCEEDED, UNAVAILABLE = 1, 4, 14
"""gRPC status codes."""


class GrpcError(Exception):
    """A failed gRPC call. `sent` is False if the server has certainly not processed the call."""

    def __init__(self, status: int, details: str, *, sent: bool = True) -> None:
        super().__init__(details)
        self.status = status
        self.details = details
        self.sent = sent


OnResponse = Callable[[bytes | GrpcError], None]
"""A function that is called with the response of a unary call, or with its error."""


class CallConnection(Protocol):
    """The methods of a connection that a call uses."""

    loop: asyncio.AbstractEventLoop

    def send(self, call: GrpcCall, data: bytes, last: bool) -> None: ...

    def reset(self, call: GrpcCall, error: GrpcError) -> None: ...


class GrpcCall:
    """One gRPC call. Both sides can send messages until one of them ends the call."""

    __slots__ = (
        "_connection",
        "_error",
        "_on_response",
        "_partial",
        "_waiter",
        "ended",
        "inbox",
        "received",
        "stream_id",
        "unsent",
        "window",
    )

    def __init__(
        self, connection: CallConnection, stream_id: int, window: int, on_response: OnResponse | None = None
    ) -> None:
        self._connection = connection
        self._partial = b""
        self._error: GrpcError | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._on_response = on_response
        """The function to call with the response of a unary call. None for a streaming call."""
        self.ended = False
        self.stream_id = stream_id
        self.window = window
        """The number of bytes that the server currently accepts for this call (HTTP/2 flow control)."""
        self.received = 0
        self.inbox: deque[bytes] = deque()
        self.unsent: tuple[bytes, bool] | None = None

    def send(self, message: bytes, *, last: bool = False) -> None:
        self._connection.send(self, b"\0" + len(message).to_bytes(4, "big") + message, last)

    async def read(self) -> bytes | None:
        """Return the next message, or None at the end. Raise GrpcError if the call failed."""
        while not self.inbox:
            if self.ended:
                if self._error is not None:
                    raise self._error
                return None
            self._waiter = self._connection.loop.create_future()
            await self._waiter
        return self.inbox.popleft()

    def cancel(self) -> None:
        self.fail(GrpcError(CANCELLED, "the call was cancelled"))

    def expire(self, timeout: float) -> None:
        """Fail the call with DEADLINE_EXCEEDED, because no response arrived within `timeout` seconds."""
        self.fail(GrpcError(DEADLINE_EXCEEDED, f"no response within {timeout:.3g} s"))

    def fail(self, error: GrpcError) -> None:
        """Reset the HTTP/2 stream and end the call with an error."""
        self._connection.reset(self, error)

    # Methods that the connection calls.

    def on_data(self, data: bytes) -> None:
        """Collect messages from received bytes. Each has a prefix of five bytes: a compression flag and the length."""
        if self._partial:
            data = self._partial + data
        at, end = 0, len(data)
        while end - at >= 5:
            message_end = at + 5 + int.from_bytes(data[at + 1 : at + 5], "big")
            if message_end > end:
                break
            self.inbox.append(data[at + 5 : message_end])
            at = message_end
        self._partial = data[at:] if at < end else b""
        if self.inbox and self._waiter is not None:
            self._wake()

    def on_end(self, error: GrpcError | None) -> None:
        if self.ended:
            return
        self.ended = True
        self._error = error
        if self._on_response is None:
            self._wake()
        elif error is not None:
            self._on_response(error)
        elif len(self.inbox) == 1:
            self._on_response(self.inbox.popleft())
        else:
            self._on_response(GrpcError(UNAVAILABLE, "the response is not exactly one message"))

    def _wake(self) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_result(None)
