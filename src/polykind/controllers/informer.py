"""What is stored of a kind, followed: all of it, then each change, and all of it anew when changes may be missing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from polykind.cache.resource_cache import ObjectChange
from polykind.resources.resource import Resource
from polykind.verbs.context import Backend

_PAUSE = 1.0
"""Seconds between two attempts to read what is stored anew."""


class Informer:
    """Tells a controller of a kind: `take_all` is called at the start and after each reset, `take` for changes."""

    def __init__(
        self, api: Backend, kind: Resource, take_all: Callable[[], None], take: Callable[[list[ObjectChange]], None]
    ) -> None:
        self._api = api
        self._kind = kind
        self._take_all = take_all
        self.on_changes = take
        self._reloading: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        await self._api.cache.load(self._kind.cache)
        self._kind.cache.observers.append(self)
        self._take_all()

    async def close(self) -> None:
        for task in self._reloading:
            task.cancel()
        await asyncio.gather(*self._reloading, return_exceptions=True)

    def on_reset(self) -> None:
        """Changes may have been missed; until that is known, what is known holds."""
        task = asyncio.get_running_loop().create_task(self._reload())
        self._reloading.add(task)
        task.add_done_callback(self._reloading.discard)

    async def _reload(self) -> None:
        await self._api.cache.reload(self._kind.cache, _PAUSE)
        self._take_all()
