"""Objects that are still stored at a version which somebody wants to remove: the log tells of them."""

from __future__ import annotations

import asyncio
import logging

from polykind.cache.resource_cache import ResourceCache
from polykind.contract import JsonObject, StoreError
from polykind.migration.removal import Found, leftovers
from polykind.verbs.context import Backend

log = logging.getLogger("polykind.migrations")

_SLICE = 1000
"""Objects that are looked at before others get their turn."""


class StoredVersionReport:
    """Counts them, beside the request that was refused because of them."""

    def __init__(self, api: Backend) -> None:
        self._api = api
        self._counting: set[asyncio.Task[None]] = set()

    def tell(self, crd: JsonObject, versions: list[str]) -> None:
        """Say what keeps versions of a definition from being removed."""
        task = asyncio.get_running_loop().create_task(self._count(crd, versions))
        self._counting.add(task)
        task.add_done_callback(self._counting.discard)

    async def close(self) -> None:
        for task in self._counting:
            task.cancel()
        await asyncio.gather(*self._counting, return_exceptions=True)

    async def _count(self, crd: JsonObject, versions: list[str]) -> None:
        name = crd["metadata"]["name"]
        kind = self._api.registry.kind(crd["spec"]["group"], crd["spec"]["names"]["plural"])
        if kind is None:
            return
        try:
            await self._api.cache.wait_until_fresh(kind.cache)
        except StoreError as error:
            log.warning("what is stored of %s could not be counted: %s", name, error)
            return
        for version in versions:
            count = kind.cache.version_counts.get(version, 0)
            stored = Found(count, await self._first(kind.cache, version) if count else "")
            log.warning("version %s of %s cannot be removed yet: %s", version, name, leftovers(name, version, stored))

    @staticmethod
    async def _first(cache: ResourceCache, version: str) -> str:
        after = ""
        while entries := cache.snapshot(None, after, _SLICE):
            for entry in entries:
                if entry.version == version:
                    return entry.key
            after = entries[-1].key
            await asyncio.sleep(0)
        return ""
