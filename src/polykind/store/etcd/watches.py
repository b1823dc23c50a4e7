"""Watches: listeners that are told what the feed brings, and before that the past they asked for."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from polykind.contract import HistoryEvent, StoreError, StoreEvent, UnavailableError, WatchListener
from polykind.store.watch import Watch

MOST_HELD = 50_000
"""Events that may come in while a watch reads the past."""

ReadPast = Callable[[str, int, int], Awaitable[list[HistoryEvent]]]
"""The changes under a prefix in (after, until]."""


class Watches:
    """All of them, on the event loop's thread. While one replays, what is new to it is held back."""

    def __init__(self, newest: int, read_past: ReadPast) -> None:
        self._newest = newest
        self._read_past = read_past
        self._watches: dict[Watch, asyncio.Task[None] | None] = {}
        self._held: dict[Watch, list[StoreEvent]] = {}

    def add(self, prefix: str, after: int, listener: WatchListener) -> Watch:
        watch = Watch(prefix, after, listener, self.forget)
        self._watches[watch] = None
        if after < self._newest:
            self._held[watch] = []
            self._watches[watch] = asyncio.get_running_loop().create_task(self._replay(watch, self._newest))
        return watch

    def forget(self, watch: Watch) -> None:
        self._held.pop(watch, None)
        replay = self._watches.pop(watch, None)
        if replay is not None and replay is not asyncio.current_task():
            replay.cancel()

    def tell(self, events: list[StoreEvent], revision: int) -> None:
        """The feed has moved. Watches that a listener adds meanwhile replay it, so they miss nothing."""
        self._newest = revision
        for watch in tuple(self._watches):
            if watch.closed or revision <= watch.told:
                continue
            held = self._held.get(watch)
            if held is None:
                watch.tell(watch.theirs(events), revision)
            else:
                held += watch.theirs(events)
                if len(held) > MOST_HELD:
                    self._fail(watch, UnavailableError("a watch fell too far behind while it read the past"))

    def lose(self, error: StoreError) -> None:
        """Nothing more will come."""
        for watch in tuple(self._watches):
            self._fail(watch, error)

    def _fail(self, watch: Watch, error: StoreError) -> None:
        self.forget(watch)
        watch.lose(error)

    async def _replay(self, watch: Watch, until: int) -> None:
        """Tell the past, then what came meanwhile."""
        try:
            past = await self._read_past(watch.prefix, watch.told, until)
        except StoreError as error:
            self._fail(watch, error)
            return
        if watch.closed:
            return
        # No await from here on: nothing can come between.
        self._watches[watch] = None
        events = [StoreEvent(change.key, change.value, change.revision) for change in past] + self._held.pop(watch)
        watch.tell(events, self._newest)
