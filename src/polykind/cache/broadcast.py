"""Broadcasts of a watch channel: events are sent to all watchers, a few watchers at a time."""

from __future__ import annotations

import asyncio
from time import perf_counter
from typing import Generic, Protocol, TypeVar

WATCHERS_PER_TURN = 32
"""The number of watchers that an iteration of the event loop writes to, which takes less than a millisecond."""

REST_FACTOR = 2
"""A round with several turns is followed by a rest of this many times the duration of its turns.

So the watchers of a busy resource leave two thirds of the event loop's time to other requests, and the events of a rest
are sent together.
"""
MAX_REST_SECONDS = 0.02

EncodedEvent = tuple[int, bytes]
"""The revision of an event, and the event encoded and framed."""


class Receiver(Protocol):
    """A watcher that receives encoded events."""

    after: int
    """Events up to this revision are not sent."""
    delivered: int
    """The revision of the last event that the broadcast has sent to this receiver."""

    def deliver(self, chunk: bytes, /) -> None: ...


R = TypeVar("R", bound=Receiver)


class Broadcast(Generic[R]):
    """Sends events to the watchers of a channel in turns, so that other requests do not wait for thousands of writes.

    A round sends events to every receiver. Events that are added during a round of several turns, or during the rest
    after it, wait for the next round. Then they are sent together: the cost of a delivery is the write to the
    connection, with its TLS record and its system call, not its bytes.
    """

    __slots__ = ("_events", "_joined", "_receivers", "_remaining", "_rest", "_spent", "_waiting")

    def __init__(self, receivers: set[R]) -> None:
        self._receivers = receivers
        """The receivers of new events. A receiver that is removed from this set gets no further event."""
        self._waiting: list[EncodedEvent] = []
        """The events of the next round."""
        self._events: list[EncodedEvent] = []
        """The events that are being sent to `_remaining`."""
        self._joined = b""
        self._remaining: list[R] = []
        self._spent = 0.0
        """The duration of the turns of the current round, in seconds."""
        self._rest: asyncio.TimerHandle | None = None
        """The end of the rest after a round with several turns."""

    @property
    def first_unsent(self) -> int:
        """The revision of the first event that some receivers have not received, or 0 if there is none."""
        if self._events:
            return self._events[0][0]
        return self._waiting[0][0] if self._waiting else 0

    def send(self, events: list[EncodedEvent]) -> None:
        """Send events after all events that were added before."""
        self._waiting += events
        if not self._events and self._rest is None:
            self._start_round()

    def flush(self) -> None:
        """Send all events now."""
        self._stop_rest()
        if not self._events:
            self._take_waiting()
        while self._events:
            self._send_to(len(self._remaining))
            self._take_waiting()

    def _start_round(self) -> None:
        self._take_waiting()
        if len(self._remaining) <= WATCHERS_PER_TURN:
            self._send_to(WATCHERS_PER_TURN)
        else:
            self._spent = 0.0
            asyncio.get_running_loop().call_soon(self._take_turn)

    def _take_waiting(self) -> None:
        self._events, self._waiting = self._waiting, []
        self._joined = b"".join([data for _, data in self._events])
        self._remaining = list(self._receivers) if self._events else []

    def _take_turn(self) -> None:
        if not self._events:
            return
        began = perf_counter()
        self._send_to(WATCHERS_PER_TURN)
        self._spent += perf_counter() - began
        loop = asyncio.get_running_loop()
        if self._events:
            loop.call_soon(self._take_turn)
        else:
            self._rest = loop.call_later(min(self._spent * REST_FACTOR, MAX_REST_SECONDS), self._end_rest)

    def _end_rest(self) -> None:
        self._stop_rest()
        if self._waiting:
            self._start_round()

    def _stop_rest(self) -> None:
        if self._rest is not None:
            self._rest.cancel()
            self._rest = None

    def _send_to(self, count: int) -> None:
        """Send the events of the round to the next `count` receivers."""
        first_revision, last_revision = self._events[0][0], self._events[-1][0]
        joined, receivers = self._joined, self._receivers
        turn = self._remaining[-count:]
        del self._remaining[-count:]
        for receiver in turn:
            if receiver not in receivers:
                continue
            receiver.delivered = last_revision
            if receiver.after < first_revision:
                receiver.deliver(joined)
            else:
                for revision, data in self._events:
                    if revision > receiver.after:
                        receiver.deliver(data)
        if not self._remaining:
            self._events, self._joined = [], b""
