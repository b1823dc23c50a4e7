"""The age of cached conversions. A converter may be fixed without a word, so no conversion is shown for ever.

A conversion is renewed in the background if it is read after half of its time, and is not shown after the end of it.
Sooner than that, all conversions of a CRD are dropped if its webhook was replaced, or if a client asks for it. While no
connection to the webhook is open, it may have been restarted: then a read first has some objects converted again, and
compares the results.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from polykind.webhook.presence import WebhookPresence

log = logging.getLogger("polykind.converters")

DEFAULT_TTL = 300.0
_RENEW_AFTER = 0.5
"""The part of its time after which a conversion is renewed if it is read."""
_PERIODS = 8
"""The number of parts of a conversion's time, after each of which indexes of converted values are built again."""
_CHECK_INTERVAL = 1.0
"""Seconds between two checks of a webhook to which no connection is open."""
_CHECK_SECONDS = 1.0
"""Seconds that a read waits for such a check."""
_RETRY_SECONDS = 5.0
"""Seconds without renewals after one that has failed."""
_CONCURRENCY = 4
"""The maximum number of renewals in progress, of all CRDs together."""


class RenewalObserver(Protocol):
    """Receives the numbers of renewed and of dropped conversions."""

    def conversions_renewed(self, crd: str, result: str, objects: int) -> None:
        """Count objects that were converted again in the background. `result` is unchanged, changed or failed."""

    def conversions_dropped(self, crd: str, reason: str) -> None:
        """Count that all cached conversions of a CRD were dropped. `reason` is replaced, changed or requested."""


class ConversionCaches:
    """The conversion caches of a server: their settings, and the work in the background that they share."""

    def __init__(self, ttl: float, monotonic: Callable[[], float], observer: RenewalObserver | None = None) -> None:
        """`ttl` is the number of seconds for which a conversion may be shown. If it is 0, none is cached."""
        self.ttl = ttl
        self.monotonic = monotonic
        self.observer = observer
        self.free = asyncio.Semaphore(_CONCURRENCY)
        """Limits the renewals in progress."""
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Start work in the background, which `close` cancels."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


class ConversionCache:
    """The age of the cached conversions of one CRD, for the lifetime of one state of the CRD's spec."""

    def __init__(self, crd_name: str, caches: ConversionCaches, presence: WebhookPresence | None) -> None:
        self.crd_name = crd_name
        self.caches = caches
        self._presence = presence
        self._replacements = presence.replacements if presence is not None else 0
        self._drops = 0
        self._valid_since = self._last = -math.inf
        self._retry_at = self._check_at = self._wait_until = -math.inf
        self._check: asyncio.Task[None] | None = None

    @property
    def enabled(self) -> bool:
        return self.caches.ttl > 0

    # ------------------------------------------------------------------ age

    def stamp(self) -> float:
        """Return the time at which a conversion begins. No two calls return the same time."""
        self._last = max(self.caches.monotonic(), math.nextafter(self._last, math.inf))
        return self._last

    def oldest_fresh(self) -> float:
        """Return the time since which a conversion can be shown without further ado."""
        presence = self._presence
        if presence is not None and (presence.replacements != self._replacements or not presence.connected):
            self.note_replacement()
            if self.is_uncertain():
                return math.inf
        return max(self._valid_since, self.caches.monotonic() - _RENEW_AFTER * self.caches.ttl)

    def oldest_shown(self) -> float:
        """Return the time before which no conversion may be shown."""
        return max(self._valid_since, self.caches.monotonic() - self.caches.ttl)

    def period(self) -> tuple[int, int]:
        """Return a value that changes when conversions are dropped, and several times in a conversion's lifetime."""
        ttl = self.caches.ttl
        return self._drops, int(self.caches.monotonic() * _PERIODS / ttl) if ttl else 0

    def drop(self, reason: str) -> None:
        """Drop all conversions that have begun until now. `reason` is replaced, changed or requested."""
        self._valid_since = self.stamp()
        self._drops += 1
        if self.caches.observer is not None:
            self.caches.observer.conversions_dropped(self.crd_name, reason)

    def note_replacement(self) -> None:
        """Drop all conversions if the webhook was replaced meanwhile."""
        presence = self._presence
        if presence is not None and presence.replacements != self._replacements:
            self._replacements = presence.replacements
            log.info("CRD %s: its webhook was replaced or moved, dropping the cached conversions", self.crd_name)
            self.drop("replaced")

    # ------------------------------------------------------------------ renewal

    def may_renew(self) -> bool:
        """False for some seconds after a renewal that has failed."""
        return self.caches.monotonic() >= self._retry_at

    def renewed(self, result: str, objects: int) -> None:
        """Count objects that were converted again. `result` is unchanged, changed or failed."""
        if result == "failed":
            self._retry_at = self.caches.monotonic() + min(_RETRY_SECONDS, self.caches.ttl / _PERIODS)
        if objects and self.caches.observer is not None:
            self.caches.observer.conversions_renewed(self.crd_name, result, objects)

    # ------------------------------------------------------------------ check

    def is_uncertain(self) -> bool:
        """True if the webhook may have been restarted, and reads should call `check`."""
        if self._presence is None or self._presence.connected:
            return False
        now = self.caches.monotonic()
        return now < self._wait_until if self._check is not None else now >= self._check_at

    async def check(self, compare: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Wait a moment for `compare`, which converts some objects again. Concurrent reads share one check."""
        if self._check is None:
            now = self.caches.monotonic()
            self._check_at, self._wait_until = now + _CHECK_INTERVAL, now + _CHECK_SECONDS
            self._check = self.caches.start(compare())
            self._check.add_done_callback(self._on_checked)
        await asyncio.wait({self._check}, timeout=_CHECK_SECONDS)

    def _on_checked(self, _: asyncio.Task[None]) -> None:
        self._check = None
