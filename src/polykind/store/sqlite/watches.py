"""The watches of the SQLite store: past events from the log, then each batch as it is committed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from polykind.contract import StoreError, StoreEvent, UnavailableError, WatchListener
from polykind.store.sqlite.reader_pool import ReplayPage
from polykind.store.store_watch import StoreWatch

ReadPastEvents = Callable[[str, int, int], Awaitable[ReplayPage]]
"""Reads the events under a prefix in (after, until], or the first part of them."""


class Watches:
    """All watches of a store. A watch replays past events until it has caught up; then it is live."""

    def __init__(self, newest: int, read_past_events: ReadPastEvents) -> None:
        self._newest = newest
        self._read_past_events = read_past_events
        self._live: dict[StoreWatch, None] = {}
        self._replays: dict[StoreWatch, asyncio.Task[None]] = {}

    def add(self, prefix: str, after: int, listener: WatchListener) -> StoreWatch:
        watch = StoreWatch(prefix, after, listener, self.remove)
        if after < self._newest:
            self._replays[watch] = asyncio.create_task(self._replay(watch))
        else:
            self._live[watch] = None
        return watch

    def remove(self, watch: StoreWatch) -> None:
        self._live.pop(watch, None)
        replay = self._replays.pop(watch, None)
        if replay is not None and replay is not asyncio.current_task():
            replay.cancel()

    def publish(self, events: list[StoreEvent], revision: int) -> None:
        """Deliver a committed batch. Watches that a listener adds meanwhile replay the batch, so they miss nothing."""
        self._newest = revision
        for watch in tuple(self._live):
            if watch.closed or revision <= watch.delivered:
                continue
            watch.deliver(watch.filter(events), revision)

    def close(self) -> None:
        for replay in self._replays.values():
            replay.cancel()
        watches = [*self._live, *self._replays]
        self._live.clear()
        self._replays.clear()
        for watch in watches:
            watch.lose(UnavailableError("the store was closed"))

    async def _replay(self, watch: StoreWatch) -> None:
        """Deliver past events from the log, including batches committed meanwhile, until the watch has caught up."""
        try:
            while watch.delivered < self._newest:
                page = await self._read_past_events(watch.prefix, watch.delivered, self._newest)
                watch.deliver(page.events, page.revision)
                if watch.closed:
                    return
        except StoreError as error:
            self._replays.pop(watch, None)
            watch.lose(error)
            return
        # No await since the comparison, so no batch can be committed before the watch is live.
        self._replays.pop(watch, None)
        self._live[watch] = None
