"""Watches: listeners told of each batch as it commits, and of the past they asked for before that."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from polykind.contract import StoreError, StoreEvent, UnavailableError, WatchListener
from polykind.store.sqlite.readers import Replay
from polykind.store.watch import Watch

ReadPast = Callable[[str, int, int], Awaitable[Replay]]
"""Reads writes under a prefix in (after, until], or the first part of them."""


class Watches:
    """All of them, on the event loop's thread. A watch is live, or replays until it has caught up."""

    def __init__(self, newest: int, read_past: ReadPast) -> None:
        self._newest = newest
        self._read_past = read_past
        self._live: dict[Watch, None] = {}
        self._replays: dict[Watch, asyncio.Task[None]] = {}

    def add(self, prefix: str, after: int, listener: WatchListener) -> Watch:
        watch = Watch(prefix, after, listener, self.forget)
        if after < self._newest:
            self._replays[watch] = asyncio.create_task(self._replay(watch))
        else:
            self._live[watch] = None
        return watch

    def forget(self, watch: Watch) -> None:
        self._live.pop(watch, None)
        replay = self._replays.pop(watch, None)
        if replay is not None and replay is not asyncio.current_task():
            replay.cancel()

    def tell(self, events: list[StoreEvent], revision: int) -> None:
        """A batch has committed. Watches that a listener adds meanwhile replay it, so they miss nothing."""
        self._newest = revision
        for watch in tuple(self._live):
            if watch.closed or revision <= watch.told:
                continue
            watch.tell(watch.theirs(events), revision)

    def close(self) -> None:
        for replay in self._replays.values():
            replay.cancel()
        lost = [*self._live, *self._replays]
        self._live.clear()
        self._replays.clear()
        for watch in lost:
            watch.lose(UnavailableError("the store was closed"))

    async def _replay(self, watch: Watch) -> None:
        """Tell the past from the log, batches that commit meanwhile included, until there is none left."""
        try:
            while watch.told < self._newest:
                past = await self._read_past(watch.prefix, watch.told, self._newest)
                watch.tell(past.events, past.revision)
                if watch.closed:
                    return
        except StoreError as error:
            self._replays.pop(watch, None)
            watch.lose(error)
            return
        # No await since the comparison: the next batch finds it live.
        self._replays.pop(watch, None)
        self._live[watch] = None
