"""Renewal of conversions in the background, for the objects that were read."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from itertools import islice
from time import perf_counter

from polykind.resources.conversion_cache import ConversionCache

log = logging.getLogger("polykind.converters")

_BATCH = 100


class Renewal:
    """The objects of one version whose conversions are to be renewed, in small batches.

    Between two batches it rests as long as a batch took, so that renewals leave half of the time to requests.
    """

    def __init__(self, renew: Callable[[Sequence[str]], Awaitable[None]], conversions: ConversionCache) -> None:
        """`renew` converts the objects with these keys again. It does not raise APIError."""
        self._renew = renew
        self._conversions = conversions
        self._due: dict[str, None] = {}
        self._task: asyncio.Task[None] | None = None

    def add(self, key: str) -> None:
        """Renew the conversion of an object soon, unless a renewal has just failed."""
        if not self._conversions.may_renew():
            return
        self._due[key] = None
        if self._task is None:
            try:
                self._task = self._conversions.caches.start(self._run())
            except RuntimeError:
                # A worker thread has no event loop. The next read on the loop starts the renewal.
                return

    async def _run(self) -> None:
        try:
            while self._due and self._conversions.may_renew():
                keys = list(islice(self._due, _BATCH))
                for key in keys:
                    del self._due[key]
                async with self._conversions.caches.free:
                    started = perf_counter()
                    await self._renew(keys)
                await asyncio.sleep(perf_counter() - started if self._due else 0)
        except Exception:
            log.exception("CRD %s: cannot renew its cached conversions", self._conversions.crd_name)
        finally:
            self._due.clear()
            self._task = None
