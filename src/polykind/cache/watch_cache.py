"""The watch cache as a whole: follows the store with a single watch and hands each change to its resource."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from polykind import errors
from polykind.cache.cached_object import CachedObject
from polykind.cache.resource_cache import ObjectChange, ResourceCache
from polykind.contract import (
    CompactedError,
    FutureRevisionError,
    RevisionRead,
    Store,
    StoreError,
    StoreEvent,
    WatchHandle,
)

log = logging.getLogger("polykind.cache")

_SLICE = 500
"""Objects that are read before others get their turn on the loop."""
_RETRY = 0.5
"""Seconds between two tries to follow the store again."""


class WatchCache:
    """All resources' caches. A resource is read from the store when it is first asked for."""

    def __init__(self, store: Store, prefix: str = "/registry/") -> None:
        self.store = store
        self.prefix = prefix
        self.revision = 0
        self.ready = False
        self._resources: dict[str, ResourceCache] = {}
        self._loading: dict[ResourceCache, asyncio.Task[None]] = {}
        self._held: dict[str, list[list[StoreEvent]]] = {}
        """What has come for a prefix since each of its readings began."""
        self._waiters: list[tuple[int, asyncio.Future[None]]] = []
        self._watching: WatchHandle | None = None
        self._restarting: asyncio.Task[None] | None = None

    async def start(self) -> None:
        self.revision = await self.store.revision()
        self._watching = self.store.watch(self.prefix, self.revision, self)
        self.ready = True
        self._wake()

    async def close(self) -> None:
        if self._restarting is not None:
            self._restarting.cancel()
        for task in list(self._loading.values()):
            task.cancel()
        if self._watching is not None:
            self._watching.close()

    def resource(self, group: str, plural: str) -> ResourceCache:
        """The cache of a resource, loaded or not. Core resources have an empty group."""
        prefix = f"{self.prefix}{group}/{plural}/" if group else f"{self.prefix}{plural}/"
        cache = self._resources.get(prefix)
        if cache is None:
            cache = self._resources[prefix] = ResourceCache(prefix, lambda: self.revision)
        return cache

    def remove(self, cache: ResourceCache) -> None:
        """Forget a resource that is no longer served."""
        if self._resources.get(cache.prefix) is cache:
            del self._resources[cache.prefix]

    async def wait_until_fresh(self, cache: ResourceCache, read: RevisionRead | None = None) -> None:
        """Return when the cache holds everything that was written before this call, or before `read` was."""
        revision = await self.store.revision(read)
        if self.revision < revision:
            await self.wait_for_revision(revision)
        if not cache.loaded:
            await self.load(cache)

    async def load(self, cache: ResourceCache) -> None:
        """Read a resource from the store; callers at the same time share one reading."""
        if cache.loaded:
            return
        task = self._loading.get(cache)
        if task is None:
            task = asyncio.get_running_loop().create_task(self._load(cache))
            self._loading[cache] = task
            task.add_done_callback(lambda done: self._read(cache, done))
        await asyncio.shield(task)

    async def reload(self, cache: ResourceCache, pause: float) -> None:
        """Read a resource that was lost, however often it takes."""
        while not cache.loaded:
            try:
                await self.load(cache)
            except StoreError:
                await asyncio.sleep(pause)

    def _read(self, cache: ResourceCache, task: asyncio.Task[None]) -> None:
        del self._loading[cache]
        if not task.cancelled() and task.exception() is not None:
            log.info("%s could not be read: %s", cache.prefix, task.exception())

    async def _load(self, cache: ResourceCache) -> None:
        while True:
            watching = self._watching
            held: list[StoreEvent] = []
            self._held.setdefault(cache.prefix, []).append(held)
            try:
                page = await self.store.range(cache.prefix)
                entries: list[CachedObject] = []
                for start in range(0, len(page.items), _SLICE):
                    entries += cache.parse(page.items[start : start + _SLICE])
                    await asyncio.sleep(0)
            finally:
                self._release(cache.prefix, held)
            if self._restarting is None or (self.ready and watching is self._watching):
                break
            # The watch was lost while this was read: what was written in between would be missing.
            await asyncio.shield(self._restarting)
        cache.load(entries, page.revision)
        late = [e for e in held if e.revision > page.revision]
        cache.apply_events(late, max(self.revision, page.revision))

    def _release(self, prefix: str, held: list[StoreEvent]) -> None:
        others = [h for h in self._held[prefix] if h is not held]
        if others:
            self._held[prefix] = others
        else:
            del self._held[prefix]

    async def wait_for_revision(self, revision: int, within: float = 3.0) -> None:
        """Wait until everything up to a revision has been seen."""
        if self.revision >= revision:
            return
        # No asyncio.timeout: a request that has not waited yet has no task to be cancelled.
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        waiter = (revision, future)
        self._waiters.append(waiter)
        timer = loop.call_later(within, _time_out, future)
        try:
            await future
        except TimeoutError:
            raise resource_version_too_large(revision, self.revision) from None
        finally:
            timer.cancel()
            if waiter in self._waiters:
                self._waiters.remove(waiter)

    async def changes_since(self, cache: ResourceCache, after: int) -> list[ObjectChange]:
        """The changes of a resource above a revision, from the window or, if that is too short, from the store."""
        older: list[ObjectChange] = []
        asked = after
        # The window may move on while the store is read: what has left it by then is read as well.
        while after < cache.window_start:
            until = cache.window_start
            try:
                changes = await self.store.history(cache.prefix, after, until)
            except CompactedError as error:
                raise errors.ExpiredError(f"too old resource version: {asked} ({error.oldest})") from None
            except FutureRevisionError:
                return []
            for start in range(0, len(changes), _SLICE):
                older += cache.past_changes(changes[start : start + _SLICE])
                await asyncio.sleep(0)
            after = until
        return older + cache.changes_after(after)

    # ------------------------------------------------------------------ the store's listener

    def on_events(self, events: Sequence[StoreEvent], revision: int) -> None:
        batches: dict[str, list[StoreEvent]] = {}
        for event in events:
            prefix = self._prefix_of(event.key)
            for held in self._held.get(prefix, ()):
                held.append(event)
            if prefix in self._resources:
                batches.setdefault(prefix, []).append(event)
        self.revision = revision
        for prefix, batch in batches.items():
            cache = self._resources.get(prefix)
            if cache is not None and cache.loaded:
                try:
                    cache.apply_events(batch, revision)
                except Exception:
                    log.exception("the cache of %s failed on an event and is read anew", prefix)
                    cache.reset()
        if self._waiters:
            self._wake()

    def _wake(self) -> None:
        """Go on with who waited for what has been seen by now."""
        due = [future for revision, future in self._waiters if revision <= self.revision]
        if due:
            self._waiters = [w for w in self._waiters if w[0] > self.revision]
            for future in due:
                if not future.done():
                    future.set_result(None)

    def _prefix_of(self, key: str) -> str:
        """/registry/<group>/<plural>/ of a custom resource's key, /registry/<plural>/ of a core resource's."""
        start = len(self.prefix)
        first = key.find("/", start)
        second = key.find("/", first + 1)
        if second > 0:
            prefix = key[: second + 1]
            if prefix in self._resources or prefix in self._held:
                return prefix
        return key[: first + 1]

    def on_lost(self, error: StoreError) -> None:
        log.warning("the watch on the store was lost (%s): every resource is read anew", error)
        for cache in self._resources.values():
            cache.reset()
        self.ready = False
        self._restarting = asyncio.get_running_loop().create_task(self._restart())

    async def _restart(self) -> None:
        while True:
            try:
                await self.start()
                return
            except StoreError as error:
                log.warning("the store does not answer yet: %s", error)
                await asyncio.sleep(_RETRY)


def _time_out(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_exception(TimeoutError())


def resource_version_too_large(asked: int, current: int, *, retry: bool = True) -> errors.RequestTimeoutError:
    """A revision that is still to come; `retry` tells the client to come back in a second."""
    causes = [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]
    return errors.RequestTimeoutError(
        f"Timeout: Too large resource version: {asked}, current: {current}",
        details={"causes": causes, **({"retryAfterSeconds": 1} if retry else {})},
    )
