"""One watch of a store: a listener that receives the events under a key prefix."""

from __future__ import annotations

import logging
from collections.abc import Callable

from polykind.contract import StoreError, StoreEvent, WatchListener

log = logging.getLogger(__name__)


class StoreWatch:
    """One listener that has received all events up to `delivered`. Exceptions of the listener are only logged."""

    __slots__ = ("_on_close", "closed", "delivered", "listener", "prefix")

    def __init__(
        self, prefix: str, after: int, listener: WatchListener, on_close: Callable[[StoreWatch], None]
    ) -> None:
        self.prefix = prefix
        self.delivered = after
        self.listener = listener
        self.closed = False
        self._on_close = on_close

    def close(self) -> None:
        self.closed = True
        self._on_close(self)

    def filter(self, events: list[StoreEvent]) -> list[StoreEvent]:
        """Return the events under the prefix that have not been delivered."""
        prefix, delivered = self.prefix, self.delivered
        return [event for event in events if event.revision > delivered and event.key.startswith(prefix)]

    def deliver(self, events: list[StoreEvent], revision: int) -> None:
        self.delivered = revision
        try:
            self.listener.on_events(events, revision)
        except Exception:
            log.exception(
                "store: a watch listener failed on the events up to revision %d, continuing with the next listener",
                revision,
            )

    def lose(self, error: StoreError) -> None:
        """End the watch with an error."""
        self.closed = True
        try:
            self.listener.on_lost(error)
        except Exception:
            log.exception("store: a watch listener failed when its watch was lost, continuing with the next listener")
