"""One client's watch: initial events, then the events of its channel, bookmarks and the timeout."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from itertools import chain
from time import monotonic
from typing import TYPE_CHECKING

from polykind.operations.responses import Sink

if TYPE_CHECKING:
    from polykind.cache.watch_channel import WatchChannel

log = logging.getLogger("polykind.watch")

_CHUNK_BYTES = 128 * 1024
_TURN_SECONDS = 0.005
"""The longest time for which a watch encodes initial events before other requests can run."""
_MAX_PENDING_BYTES = 8 * 1024 * 1024
"""The maximum size of the events that wait while a client reads its initial events. Then it is disconnected."""
_FINAL_BOOKMARK_SECONDS = 2.0
"""Seconds before the end of a watch at which it sends a last bookmark, as kube-apiserver does."""


class Watcher:
    """One client's watch. Events that arrive before the initial events have been sent wait in `_pending`."""

    def __init__(
        self, channel: WatchChannel, after: int, bookmarks: bool, timeout: float, interval: float, user: str = ""
    ) -> None:
        self.after = after
        """Events up to this revision are not sent: the client has seen them, or the initial events include them."""
        self.delivered = 0
        """The revision of the last event that was sent, or waits behind the initial events."""
        self.initial_events: Iterable[bytes | Callable[[], bytes | None]] = ()
        """Events to send first. A function encodes a large event, in a worker thread.

        A change that is no event for this watch is empty, or None as the result of a function.
        """
        self._channel = channel
        self._sink: Sink | None = None
        self._pending: list[bytes] | None = []
        self._pending_size = 0
        self._bookmarks = bookmarks
        self._interval = interval
        self._timers: list[asyncio.TimerHandle] = []
        self._task: asyncio.Task[None] | None = None
        self._timeout = timeout
        self._user = user
        self._finished = False

    def start(self, sink: Sink) -> None:
        """Send the initial events, then the pending events. Called when the head of the response has been sent."""
        self._sink = sink
        loop = asyncio.get_running_loop()
        self._task = loop.create_task(self._catch_up(sink))
        if self._finished:
            return
        self._timers.append(loop.call_later(self._timeout, self.finish))
        if self._bookmarks:
            if self._timeout > _FINAL_BOOKMARK_SECONDS:
                self._timers.append(loop.call_later(self._timeout - _FINAL_BOOKMARK_SECONDS, self._send_bookmark))
            self._timers.append(loop.call_later(self._interval, self._tick))

    async def _catch_up(self, sink: Sink) -> None:
        try:
            batch: list[bytes] = []
            size, turn = 0, monotonic()
            for event in self.initial_events:
                data = event if isinstance(event, bytes) else await self._channel.compute(event)
                if data:
                    batch.append(data)
                    size += len(data)
                if size > _CHUNK_BYTES:
                    sink.send(await self._framed(batch))
                    batch, size = [], 0
                    await sink.drained()
                elif monotonic() - turn <= _TURN_SECONDS:
                    continue
                await self._channel.take_turn(self._user)
                turn = monotonic()
            if batch:
                sink.send(await self._framed(batch))
            self.initial_events = ()
            while self._pending:
                pending, self._pending, self._pending_size = self._pending, [], 0
                for index, data in enumerate(pending):
                    sink.send(data)
                    if index % 64 == 63:
                        await sink.drained()
            self._pending = None
            if self._finished:
                sink.finish()
        except ConnectionError:
            pass
        except Exception:
            log.exception("watch: cannot encode the initial events, closing the connection")
            sink.abort()

    async def _framed(self, batch: list[bytes]) -> bytes:
        framing = self._channel.framing
        return await asyncio.to_thread(framing.frame, batch) if framing.compresses else framing.frame(batch)

    def has_initial_events(self) -> bool:
        """True if there is at least one initial event. This encodes the first event."""
        events = iter(self.initial_events)
        head = next(events, None)
        self.initial_events = () if head is None else chain((head,), events)
        return head is not None

    def deliver(self, chunk: bytes) -> None:
        """Send framed events, or keep them until the initial events have been sent."""
        if self._pending is not None:
            self._pending.append(chunk)
            self._pending_size += len(chunk)
            if self._pending_size > _MAX_PENDING_BYTES:
                self._disconnect()
        elif self._sink is not None:
            self._sink.send(chunk)

    def _disconnect(self) -> None:
        log.info(
            "watch: closing a connection whose client reads too slowly: over %d bytes wait behind its initial events",
            _MAX_PENDING_BYTES,
        )
        self._pending, self._pending_size, self.initial_events = [], 0, ()
        if self._sink is not None:
            self._sink.abort()
        self.finish()

    def finish(self) -> None:
        """End the stream normally after all pending events."""
        self._finished = True
        self._stop()
        if self._pending is None and self._sink is not None:
            self._sink.finish()

    def on_end(self) -> None:
        """Clean up after the stream has ended or the client has disconnected."""
        self._finished = True
        self._stop()
        # The task refers to this watcher. Break the cycle, so that the events of the task are freed now.
        task, self._task = self._task, None
        if task is not None:
            task.cancel()

    def _stop(self) -> None:
        for timer in self._timers:
            timer.cancel()
        self._timers = []
        self._channel.leave(self)

    def _send_bookmark(self) -> None:
        projection = self._channel.projection
        if projection.unsupported:
            self.finish()
        elif self._pending is None and not self._finished:
            # Other watchers may still wait for events that this one has received. Its bookmark must not go back.
            revision = max(self._channel.delivered_revision, self.delivered, self.after)
            data = projection.bookmark(revision, False)
            self.deliver(self._channel.framing.frame([projection.event("BOOKMARK", data)]))

    def _tick(self) -> None:
        self._send_bookmark()
        self._timers.append(asyncio.get_running_loop().call_later(self._interval, self._tick))
