"""Watches: listeners that are told what the feed brings, and before that the past they asked for."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from polykind.contract import Change, Event, Listener, StoreError, Unavailable

log = logging.getLogger("polykind.etcd")

MOST_HELD = 50_000
"""Events that may come in while a watch reads the past."""

ReadPast = Callable[[str, int, int], Awaitable[list[Change]]]
"""The changes under a prefix in (after, until]."""


class Watch:
    """One listener; everything up to `told` has reached it. While it replays, what is new is held back."""

    __slots__ = ("_watches", "closed", "held", "listener", "prefix", "told")

    def __init__(self, watches: Watches, prefix: str, after: int, listener: Listener) -> None:
        self._watches = watches
        self.prefix = prefix
        self.told = after
        self.listener = listener
        self.closed = False
        self.held: list[Event] | None = None

    def close(self) -> None:
        self.closed = True
        self._watches.forget(self)

    def tell(self, events: list[Event], revision: int) -> None:
        self.told = revision
        try:
            self.listener.on_events(events, revision)
        except Exception:
            log.exception("a listener failed on the events up to revision %d", revision)

    def lose(self, error: StoreError) -> None:
        self.closed = True
        try:
            self.listener.on_lost(error)
        except Exception:
            log.exception("a listener failed on losing its watch")


class Watches:
    """All of them, on the event loop's thread."""

    def __init__(self, newest: int, read_past: ReadPast) -> None:
        self._newest = newest
        self._read_past = read_past
        self._watches: dict[Watch, asyncio.Task[None] | None] = {}

    def add(self, prefix: str, after: int, listener: Listener) -> Watch:
        watch = Watch(self, prefix, after, listener)
        self._watches[watch] = None
        if after < self._newest:
            watch.held = []
            self._watches[watch] = asyncio.get_running_loop().create_task(self._replay(watch, self._newest))
        return watch

    def forget(self, watch: Watch) -> None:
        replay = self._watches.pop(watch, None)
        if replay is not None and replay is not asyncio.current_task():
            replay.cancel()

    def tell(self, events: list[Event], revision: int) -> None:
        """The feed has moved. Watches that a listener adds meanwhile replay it, so they miss nothing."""
        self._newest = revision
        for watch in tuple(self._watches):
            if watch.closed or revision <= watch.told:
                continue
            prefix, told = watch.prefix, watch.told
            theirs = [event for event in events if event.revision > told and event.key.startswith(prefix)]
            if watch.held is None:
                watch.tell(theirs, revision)
            else:
                watch.held += theirs
                if len(watch.held) > MOST_HELD:
                    self._fail(watch, Unavailable("a watch fell too far behind while it read the past"))

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
        held, watch.held = watch.held or [], None
        events = [Event(change.key, change.value, change.revision) for change in past] + held
        watch.tell(events, self._newest)
