"""The runtime of controllers: which keys to reconcile and when, on the replica that leads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Iterable
from typing import Any, Generic, TypeVar

from polykind.cache.resource_cache import ObjectChange, ResourceCache
from polykind.cache.watch_cache import WatchCache
from polykind.contract import Leadership
from polykind.controllers.informer import Informer
from polykind.controllers.workqueue import Process, WorkQueue

T = TypeVar("T", bound=Hashable)


class Controller(Generic[T]):
    """Calls `reconcile` with each key that is added while this replica leads.

    `reconcile` gets no event and no object: it reads what the key stands for, decides, and writes through the
    ObjectClient. If it fails, for example because the object has changed since it was read, it is called again, with
    an increasing delay. It returns the seconds until the next call, or None.
    """

    def __init__(
        self,
        leadership: Leadership | None,
        reconcile: Process[T],
        *,
        keys: Callable[[], Iterable[T]] = tuple,
        begin: Callable[[], None] = lambda: None,
        end: Callable[[], None] = lambda: None,
        workers: int = 16,
        max_delay: float = 60.0,
    ) -> None:
        """`keys` returns the keys to reconcile when this replica becomes the leader, and when changes may be missing.

        `begin` and `end` are called when this replica becomes the leader and when it stops. Without a leadership,
        every replica reconciles.
        """
        self._leadership = leadership
        self._keys = keys
        self._begin = begin
        self._end = end
        self._queue: WorkQueue[T] = WorkQueue(reconcile, workers, max_delay)
        self._informers: list[Informer[Any]] = []
        self._observed: list[tuple[ResourceCache, _Observer]] = []
        self._running = self._closed = False
        self.add_after = self._queue.add_after
        self.is_pending = self._queue.is_pending
        self.attempt = self._queue.attempt
        """Reconcile a key and wait for the result. Return at once if this replica does not lead."""

    def follow(self, cache: WatchCache, objects: ResourceCache, keys_of: Callable[[ObjectChange], Iterable[T]]) -> None:
        """Load a resource at the start, and add the keys of each change."""
        self.inform(Informer(cache, objects, self.add_all, lambda changes: self._on_changes(changes, keys_of)))

    def inform(self, informer: Informer[Any]) -> None:
        """Start and close an informer together with this controller. Its callbacks add keys."""
        self._informers.append(informer)

    def observe(self, objects: ResourceCache, keys_of: Callable[[ObjectChange], Iterable[T]]) -> None:
        """Add the keys of each change of a resource while the resource is in the cache. It need not be loaded."""
        observer = _Observer(lambda changes: self._on_changes(changes, keys_of), self.add_all)
        self._observed.append((objects, observer))

    async def start(self) -> None:
        for objects, observer in self._observed:
            objects.observers.append(observer)
        await asyncio.gather(*(informer.start() for informer in self._informers))
        if self._leadership is not None:
            self._leadership.subscribe(self._on_leadership)
        self._on_leadership(self._leadership is None or self._leadership.leading)

    async def close(self) -> None:
        self._closed = True
        self._on_leadership(False)
        for objects, observer in self._observed:
            if observer in objects.observers:
                objects.observers.remove(observer)
        await asyncio.gather(*(informer.close() for informer in self._informers))
        await self._queue.close()

    @property
    def running(self) -> bool:
        """True while this replica leads, so that keys are reconciled."""
        return self._running

    def add(self, key: T) -> None:
        """Reconcile a key soon. A replica that does not lead ignores the key: it adds all keys when it leads."""
        if self._running:
            self._queue.add(key)

    def add_all(self) -> None:
        if self._running:
            for key in self._keys():
                self._queue.add(key)

    def _on_leadership(self, leading: bool) -> None:
        if self._running:
            self._running = False
            self._queue.pause()
            self._end()
        if leading and not self._closed:
            self._running = True
            self._begin()
            self._queue.open()
            self.add_all()

    def _on_changes(self, changes: list[ObjectChange], keys_of: Callable[[ObjectChange], Iterable[T]]) -> None:
        if self._running:
            for change in changes:
                for key in keys_of(change):
                    self._queue.add(key)


class _Observer:
    """A cache observer that calls functions."""

    def __init__(self, on_changes: Callable[[list[ObjectChange]], None], on_reset: Callable[[], None]) -> None:
        self.on_changes = on_changes
        self.on_reset = on_reset
