"""Watches: listeners told of each batch as it commits, and of the past they asked for before that."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from polykind.contract import Event, Listener, StoreError, Unavailable
from polykind.store.sqlite.readers import Replay

_logger = logging.getLogger(__name__)

ReadPast = Callable[[str, int, int], Awaitable[Replay]]
"""Reads writes under a prefix in (after, until], or the first part of them."""


class Watch:
    """One listener; everything up to `told` has reached it."""

    __slots__ = ("_watches", "closed", "listener", "prefix", "told")

    def __init__(self, watches: Watches, prefix: str, after: int, listener: Listener) -> None:
        self._watches = watches
        self.prefix = prefix
        self.told = after
        self.listener = listener
        self.closed = False

    def close(self) -> None:
        self.closed = True
        self._watches.forget(self)

    def tell(self, events: list[Event], revision: int) -> None:
        self.told = revision
        try:
            self.listener.on_events(events, revision)
        except Exception:
            _logger.exception("a listener failed on the events up to revision %d", revision)

    def lose(self, error: StoreError) -> None:
        self.closed = True
        try:
            self.listener.on_lost(error)
        except Exception:
            _logger.exception("a listener failed on losing its watch")


class Watches:
    """All of them, on the event loop's thread. A watch is live, or replays until it has caught up."""

    def __init__(self, newest: int, read_past: ReadPast) -> None:
        self._newest = newest
        self._read_past = read_past
        self._live: dict[Watch, None] = {}
        self._replays: dict[Watch, asyncio.Task[None]] = {}

    def add(self, prefix: str, after: int, listener: Listener) -> Watch:
        watch = Watch(self, prefix, after, listener)
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

    def tell(self, events: list[Event], revision: int) -> None:
        """A batch has committed. Watches that a listener adds meanwhile replay it, so they miss nothing."""
        self._newest = revision
        for watch in tuple(self._live):
            if watch.closed or revision <= watch.told:
                continue
            prefix, told = watch.prefix, watch.told
            theirs = [event for event in events if event.revision > told and event.key.startswith(prefix)]
            watch.tell(theirs, revision)

    def close(self) -> None:
        for replay in self._replays.values():
            replay.cancel()
        lost = [*self._live, *self._replays]
        self._live.clear()
        self._replays.clear()
        for watch in lost:
            watch.lose(Unavailable("the store was closed"))

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
