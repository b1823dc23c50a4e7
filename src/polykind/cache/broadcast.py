"""Broadcasts of a watch channel: events are sent to all watchers, a few watchers at a time."""

from __future__ import annotations

import asyncio
from typing import Generic, Protocol, TypeVar

WATCHERS_PER_TURN = 32
"""The number of watchers that an iteration of the event loop writes to, which takes less than a millisecond."""

EncodedEvent = tuple[int, bytes]
"""The revision of an event, and the event encoded and framed."""


class Receiver(Protocol):
    """A watcher that receives encoded events."""

    after: int
    """Events up to this revision are not sent."""

    def deliver(self, chunk: bytes, /) -> None: ...


R = TypeVar("R", bound=Receiver)


class Broadcast(Generic[R]):
    """Sends events to the watchers of a channel in turns, so that other requests do not wait for thousands of writes.

    Events that are added before the last turn wait. Then they are sent together: the cost of a delivery is the write to
    the connection, with its TLS record and its system call, not its bytes.
    """

    __slots__ = ("_events", "_joined", "_receivers", "_remaining", "_waiting")

    def __init__(self, receivers: set[R]) -> None:
        self._receivers = receivers
        """The receivers of new events. A receiver that is removed from this set gets no further event."""
        self._waiting: list[EncodedEvent] = []
        self._events: list[EncodedEvent] = []
        """The events that are being sent to `_remaining`."""
        self._joined = b""
        self._remaining: list[R] = []

    @property
    def first_unsent(self) -> int:
        """The revision of the first event that some receivers have not received, or 0 if there is none."""
        return self._events[0][0] if self._events else 0

    def send(self, events: list[EncodedEvent]) -> None:
        """Send events after all events that were added before."""
        self._waiting += events
        if self._events:
            return
        self._begin()
        if len(self._remaining) <= WATCHERS_PER_TURN:
            self._send_to(WATCHERS_PER_TURN)
        else:
            asyncio.get_running_loop().call_soon(self._take_turn)

    def flush(self) -> None:
        """Send all events now."""
        while self._events:
            self._send_to(len(self._remaining))

    def _begin(self) -> None:
        self._events, self._waiting = self._waiting, []
        self._joined = self._events[0][1] if len(self._events) == 1 else b"".join([data for _, data in self._events])
        self._remaining = list(self._receivers)

    def _take_turn(self) -> None:
        if self._events:
            self._send_to(WATCHERS_PER_TURN)
            if self._events:
                asyncio.get_running_loop().call_soon(self._take_turn)

    def _send_to(self, count: int) -> None:
        first_revision, joined, receivers = self._events[0][0], self._joined, self._receivers
        turn = self._remaining[-count:]
        del self._remaining[-count:]
        for receiver in turn:
            if receiver not in receivers:
                continue
            if receiver.after < first_revision:
                receiver.deliver(joined)
            else:
                for revision, data in self._events:
                    if revision > receiver.after:
                        receiver.deliver(data)
        if not self._remaining:
            self._events, self._joined = [], b""
            if self._waiting:
                self._begin()
