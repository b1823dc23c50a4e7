"""An informer for one resource: first a list of all objects, then every change. It lists again if it missed changes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from polykind.cache.resource_cache import ObjectChange, ResourceCache
from polykind.cache.watch_cache import WatchCache

_RELIST_DELAY = 1.0
"""Seconds between two attempts to list the resource again."""


class Informer:
    """Calls `on_list` after the first list and after each relist, and `on_changes` for every batch of changes."""

    def __init__(
        self,
        cache: WatchCache,
        objects: ResourceCache,
        on_list: Callable[[], None],
        on_changes: Callable[[list[ObjectChange]], None],
    ) -> None:
        self._cache = cache
        self._objects = objects
        self._on_list = on_list
        self.on_changes = on_changes
        self._relists: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        await self._cache.load(self._objects)
        self._objects.observers.append(self)
        self._on_list()

    async def close(self) -> None:
        for task in self._relists:
            task.cancel()
        await asyncio.gather(*self._relists, return_exceptions=True)

    def on_reset(self) -> None:
        """List the resource again because changes may have been missed. Until then, the controller keeps its state."""
        task = asyncio.get_running_loop().create_task(self._relist())
        self._relists.add(task)
        task.add_done_callback(self._relists.discard)

    async def _relist(self) -> None:
        await self._cache.reload(self._objects, _RELIST_DELAY)
        self._on_list()
