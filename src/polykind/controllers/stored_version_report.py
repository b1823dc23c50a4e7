"""The stored-version report: logs the objects that keep a version from being removed from its CRD."""

from __future__ import annotations

import asyncio
import logging

from polykind.cache.resource_cache import ResourceCache
from polykind.contract import JsonObject, StoreError
from polykind.crd.version_removal import ObjectCount, stored_version_blocker
from polykind.operations.backend import Backend

log = logging.getLogger("polykind.migrations")

_SLICE = 1000
"""The number of objects to search before yielding to the event loop."""


class StoredVersionReport:
    """Counts, after a rejected CRD update, the stored objects because of which a version cannot be removed."""

    def __init__(self, backend: Backend) -> None:
        self._loop = asyncio.get_running_loop()
        self._backend = backend
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, crd: JsonObject, versions: list[str]) -> None:
        """Start to count and log the objects stored at these versions of a CRD. May be called in a worker thread."""
        self._loop.call_soon_threadsafe(self._start, crd, versions)

    def _start(self, crd: JsonObject, versions: list[str]) -> None:
        task = self._loop.create_task(self._report(crd, versions))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _report(self, crd: JsonObject, versions: list[str]) -> None:
        name = crd["metadata"]["name"]
        resource = self._backend.registry.resource(crd["spec"]["group"], crd["spec"]["names"]["plural"])
        if resource is None:
            return
        try:
            await self._backend.cache.wait_until_fresh(resource.cache)
        except StoreError as error:
            log.warning("stored-version report: cannot list the objects of %s, giving up: %s", name, error)
            return
        for version in versions:
            count = resource.cache.version_counts.get(version, 0)
            stored = ObjectCount(count, await self._first_key(resource.cache, version) if count else "")
            log.warning(
                "version %s of %s cannot be removed yet: %s",
                version,
                name,
                stored_version_blocker(name, version, stored),
            )

    @staticmethod
    async def _first_key(cache: ResourceCache, version: str) -> str:
        after = ""
        while objects := cache.snapshot(None, after, _SLICE):
            for cached in objects:
                if cached.version == version:
                    return cached.key
            after = objects[-1].key
            await asyncio.sleep(0)
        return ""
