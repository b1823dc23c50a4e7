"""The watches of the etcd store: past events first, then the events of the shared watch."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from polykind.contract import HistoryEvent, StoreError, StoreEvent, UnavailableError, WatchListener
from polykind.store.store_watch import StoreWatch

MAX_BUFFERED_EVENTS = 50_000
"""The maximum number of events that are buffered while a watch reads past events."""

ReadPastEvents = Callable[[str, int, int], Awaitable[list[HistoryEvent]]]
"""Reads the events under a prefix in (after, until]."""


class Watches:
    """All watches of a store. New events are buffered while a watch replays past events."""

    def __init__(self, newest: int, read_past_events: ReadPastEvents) -> None:
        self._newest = newest
        self._read_past_events = read_past_events
        self._watches: dict[StoreWatch, asyncio.Task[None] | None] = {}
        self._buffered: dict[StoreWatch, list[StoreEvent]] = {}

    def add(self, prefix: str, after: int, listener: WatchListener) -> StoreWatch:
        watch = StoreWatch(prefix, after, listener, self.remove)
        self._watches[watch] = None
        if after < self._newest:
            self._buffered[watch] = []
            self._watches[watch] = asyncio.get_running_loop().create_task(self._replay(watch, self._newest))
        return watch

    def remove(self, watch: StoreWatch) -> None:
        self._buffered.pop(watch, None)
        replay = self._watches.pop(watch, None)
        if replay is not None and replay is not asyncio.current_task():
            replay.cancel()

    def publish(self, events: list[StoreEvent], revision: int) -> None:
        """Deliver new events. Watches that a listener adds meanwhile replay them, so they miss nothing."""
        self._newest = revision
        for watch in tuple(self._watches):
            if watch.closed or revision <= watch.delivered:
                continue
            buffered = self._buffered.get(watch)
            if buffered is None:
                watch.deliver(watch.filter(events), revision)
            else:
                buffered += watch.filter(events)
                if len(buffered) > MAX_BUFFERED_EVENTS:
                    self._fail(watch, UnavailableError("a watch fell too far behind while it read past events"))

    def lose(self, error: StoreError) -> None:
        """End all watches with an error."""
        for watch in tuple(self._watches):
            self._fail(watch, error)

    def _fail(self, watch: StoreWatch, error: StoreError) -> None:
        self.remove(watch)
        watch.lose(error)

    async def _replay(self, watch: StoreWatch, until: int) -> None:
        """Deliver past events, then the buffered ones."""
        try:
            past = await self._read_past_events(watch.prefix, watch.delivered, until)
        except StoreError as error:
            self._fail(watch, error)
            return
        if watch.closed:
            return
        # No await from here on, so no event can arrive between replaying and going live.
        self._watches[watch] = None
        events = [StoreEvent(event.key, event.value, event.revision) for event in past] + self._buffered.pop(watch)
        watch.deliver(events, self._newest)
