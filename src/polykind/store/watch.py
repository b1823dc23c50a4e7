"""One watch of a store: a listener that is told what happens under a prefix, in order."""

from __future__ import annotations

import logging
from collections.abc import Callable

from polykind.contract import StoreError, StoreEvent, WatchListener

log = logging.getLogger(__name__)


class Watch:
    """One listener; everything up to `told` has reached it. Whatever it raises is its own affair."""

    __slots__ = ("_forget", "closed", "listener", "prefix", "told")

    def __init__(self, prefix: str, after: int, listener: WatchListener, forget: Callable[[Watch], None]) -> None:
        self.prefix = prefix
        self.told = after
        self.listener = listener
        self.closed = False
        self._forget = forget

    def close(self) -> None:
        self.closed = True
        self._forget(self)

    def theirs(self, events: list[StoreEvent]) -> list[StoreEvent]:
        """The events that it has not been told and that are under its prefix."""
        prefix, told = self.prefix, self.told
        return [event for event in events if event.revision > told and event.key.startswith(prefix)]

    def tell(self, events: list[StoreEvent], revision: int) -> None:
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
