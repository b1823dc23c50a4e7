"""Requests to an API server at a limited rate. They wait as long as the server asks for (429, Retry-After)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from polykind.cluster.cluster_client import ClusterClient, StatusError, UnreachableError
from polykind.contract import JsonObject

log = logging.getLogger("polykind.migrate")

_ATTEMPTS = 6
_MAX_WAIT = 60.0
_SLOWEST = 1.0
_BUSY = frozenset((429, 503, 504))


class PacedClient:
    """A client that starts at most `rate` requests per second (0: no limit).

    After a 429 response, the rate is halved; each success raises it by 2% until it is back. So a server with API
    Priority and Fairness is not asked again and again while its queues are full.
    """

    def __init__(
        self,
        cluster: ClusterClient,
        rate: float = 0.0,
        *,
        now: Callable[[], float] | None = None,
        sleep: Callable[[float], Awaitable[Any]] = asyncio.sleep,
    ) -> None:
        self.cluster = cluster
        self.throttled = 0
        """The number of responses that asked to wait."""
        self._rate = self._current = rate
        self._now = now or (lambda: asyncio.get_running_loop().time())
        self._sleep = sleep
        self._next = 0.0

    @property
    def current_rate(self) -> float:
        return self._current

    async def send(
        self, method: str, path: str, body: object = None, content_type: str = "", accept: str = ""
    ) -> JsonObject:
        """Send a request. Retry it if the server is busy or unreachable. Raise ClusterError if it fails in the end."""
        wait = 0.5
        for attempt in range(1, _ATTEMPTS + 1):
            await self._pace()
            try:
                response = await self.cluster.request(method, path, body, content_type=content_type, accept=accept)
            except StatusError as error:
                if error.status not in _BUSY or attempt == _ATTEMPTS:
                    raise
                wait = min(error.retry_after or wait * 2, _MAX_WAIT)
                if error.status == 429:
                    self.throttled += 1
                    self._current = max(self._current / 2, min(_SLOWEST, self._rate))
                reason = str(error)
            except UnreachableError as error:
                if attempt == _ATTEMPTS:
                    raise
                wait, reason = min(wait * 2, _MAX_WAIT), str(error)
            else:
                self._current = min(self._current * 1.02, self._rate)
                return response
            log.info("%s %s: waiting %.1f s: %s", method, path, wait, reason)
            self._next = max(self._next, self._now() + wait)
            await self._sleep(wait)
        raise AssertionError("unreachable")

    async def _pace(self) -> None:
        if not self._rate:
            return
        now = self._now()
        start = max(now, self._next)
        self._next = start + 1.0 / self._current
        if start > now:
            await self._sleep(start - now)
