"""One gRPC call on a connection that carries many."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Protocol

CANCELLED, DEADLINE_EXCEEDED, UNAVAILABLE = 1, 4, 14
"""gRPC's numbers for how a call ended."""


class CallError(Exception):
    """A call that failed. `sent` is False if the peer has certainly not acted on it."""

    def __init__(self, status: int, details: str, *, sent: bool = True) -> None:
        super().__init__(details)
        self.status = status
        self.details = details
        self.sent = sent


Then = Callable[[bytes | CallError], None]
"""Who is told how a question was answered."""


class Carrier(Protocol):
    """What a call needs of its connection."""

    loop: asyncio.AbstractEventLoop

    def send(self, call: Call, data: bytes, last: bool) -> None: ...

    def give_up(self, call: Call, error: CallError) -> None: ...


class Call:
    """One call: messages go out and come in until either side ends it."""

    __slots__ = (
        "_connection",
        "_error",
        "_partial",
        "_then",
        "_waiter",
        "ended",
        "inbox",
        "number",
        "received",
        "unsent",
        "window",
    )

    def __init__(self, connection: Carrier, number: int, window: int, then: Then | None = None) -> None:
        self._connection = connection
        self._partial = b""
        self._error: CallError | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._then = then
        """For a question: who is told its only message, or why there is none."""
        self.ended = False
        self.number = number
        self.window = window
        """Bytes that the peer has room for."""
        self.received = 0
        self.inbox: deque[bytes] = deque()
        self.unsent: tuple[bytes, bool] | None = None

    def send(self, message: bytes, *, last: bool = False) -> None:
        self._connection.send(self, b"\0" + len(message).to_bytes(4, "big") + message, last)

    async def read(self) -> bytes | None:
        """The next message, None at the end. Raises CallError if the call did not end well."""
        while not self.inbox:
            if self.ended:
                if self._error is not None:
                    raise self._error
                return None
            self._waiter = self._connection.loop.create_future()
            await self._waiter
        return self.inbox.popleft()

    def cancel(self) -> None:
        self.fail(CallError(CANCELLED, "the call was given up"))

    def expire(self, patience: float) -> None:
        """Give it up for want of an answer."""
        self.fail(CallError(DEADLINE_EXCEEDED, f"no answer within {patience:.3g} s"))

    def fail(self, error: CallError) -> None:
        """Give it up, for a reason."""
        self._connection.give_up(self, error)

    # What the connection tells

    def take(self, data: bytes) -> None:
        """Bytes of messages, each with five bytes before it: whether it is compressed, and its length."""
        if self._partial:
            data = self._partial + data
        at, end = 0, len(data)
        while end - at >= 5:
            stop = at + 5 + int.from_bytes(data[at + 1 : at + 5], "big")
            if stop > end:
                break
            self.inbox.append(data[at + 5 : stop])
            at = stop
        self._partial = data[at:] if at < end else b""
        if self.inbox and self._waiter is not None:
            self._wake()

    def end(self, error: CallError | None) -> None:
        if self.ended:
            return
        self.ended = True
        self._error = error
        if self._then is None:
            self._wake()
        elif error is not None:
            self._then(error)
        elif len(self.inbox) == 1:
            self._then(self.inbox.popleft())
        else:
            self._then(CallError(UNAVAILABLE, "the answer is not one message"))

    def _wake(self) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_result(None)
