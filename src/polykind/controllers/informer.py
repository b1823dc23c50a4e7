"""An informer for one resource: first a list of all objects, then every change. It lists again if it missed changes."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Iterable
from contextlib import suppress
from functools import partial
from typing import Generic, TypeVar

from polykind.cache.cached_object import CachedObject
from polykind.cache.resource_cache import ObjectChange, ResourceCache
from polykind.cache.watch_cache import WatchCache
from polykind.workers import INLINE_BYTES

T = TypeVar("T")

_RELIST_DELAY = 1.0
"""Seconds between two attempts to list the resource again."""


class Informer(Generic[T]):
    """Calls `on_list` after the first list and after each relist, and `on_changes` for every batch of changes.

    `prepare` computes what the controller keeps of an object, for example compiled rules. The callbacks get the result
    from `prepared`. Large objects are prepared in worker threads, so the changes of large objects, and those that
    follow, arrive later. A write of a large object waits until they have arrived.
    """

    def __init__(
        self,
        cache: WatchCache,
        objects: ResourceCache,
        on_list: Callable[[], None],
        on_changes: Callable[[list[ObjectChange]], None],
        prepare: Callable[[CachedObject], T] | None = None,
    ) -> None:
        self._cache = cache
        self._objects = objects
        self._on_list = on_list
        self.handle_changes = on_changes
        self._prepare = prepare
        self._prepared: dict[CachedObject, T] = {}
        self._batches: deque[list[ObjectChange]] = deque()
        """The changes that wait until their large objects are prepared."""
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        await self._cache.load(self._objects)
        self._objects.observers.append(self)
        await self._list()

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def prepared(self, cached: CachedObject) -> T:
        """Return the result of `prepare` for an object, or raise its error."""
        if cached in self._prepared:
            return self._prepared[cached]
        if self._prepare is None:
            raise AssertionError("the informer has no function to prepare objects")
        return self._prepare(cached)

    def on_changes(self, changes: list[ObjectChange]) -> None:
        if self._batches:
            self._batches.append(changes)
        elif self._prepare is not None and any(map(_is_large, _new_objects(changes))):
            self._batches.append(changes)
            task = self._start(self._deliver())
            self._objects.deliveries.add(task)
            task.add_done_callback(self._objects.deliveries.discard)
        else:
            self.handle_changes(changes)

    async def _deliver(self) -> None:
        """Deliver the waiting batches of changes in order."""
        while self._batches:
            changes = self._batches[0]
            await self._prepare_large(_new_objects(changes))
            self._batches.popleft()
            self.handle_changes(changes)
            self._prepared.clear()

    async def _prepare_large(self, objects: Iterable[CachedObject]) -> None:
        prepare = self._prepare
        if prepare is None:
            return
        for cached in objects:
            if _is_large(cached):
                # An error is raised again, and handled, when the callback calls `prepared`.
                with suppress(Exception):
                    self._prepared[cached] = await self._objects.workers.run("", partial(prepare, cached))

    def on_reset(self) -> None:
        """List the resource again because changes may have been missed. Until then, the controller keeps its state."""
        self._start(self._relist())

    def _start(self, coroutine: Coroutine[object, object, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _relist(self) -> None:
        await self._cache.reload(self._objects, _RELIST_DELAY)
        await self._list()

    async def _list(self) -> None:
        await self._prepare_large(self._objects.snapshot(None))
        self._on_list()
        if not self._batches:
            self._prepared.clear()


def _new_objects(changes: Iterable[ObjectChange]) -> Iterable[CachedObject]:
    return (change.new for change in changes if change.new is not None)


def _is_large(cached: CachedObject) -> bool:
    return len(cached.raw) > INLINE_BYTES
