"""The watch cache: one watch on the store for all resources, and a cache of objects for each resource."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from operator import attrgetter

from polykind import errors
from polykind.cache.cached_object import parse_stored
from polykind.cache.normalization_marker import NormalizationMarkers, may_have_owners
from polykind.cache.resource_cache import ObjectChange, ResourceCache
from polykind.cache.sorted_objects import SortedObjects
from polykind.contract import (
    CompactedError,
    FutureRevisionError,
    RevisionRead,
    Store,
    StoreError,
    StoreEvent,
    WatchHandle,
)
from polykind.workers import Workers

log = logging.getLogger("polykind.cache")

_SLICE = 500
"""The number of objects that are parsed before other work may run on the event loop."""
_RETRY_SECONDS = 0.5
_MAINTENANCE_SECONDS = 10.0
_READ_AHEAD_SECONDS = 1.0
"""The time after the start at which large resources are loaded, unless a request has loaded them before."""
_CLOSING_SECONDS = 2.0
"""The time after which the server stops without writing normalization markers, because the store does not respond."""
_PROGRESS_SECONDS = 2.0
"""A load that takes longer is logged, and its progress at this interval."""


_is_normalized = attrgetter("normalized")


class WatchCache:
    """The caches of all resources. The objects of a resource are loaded from the store at its first use."""

    def __init__(self, store: Store, prefix: str = "/registry/", workers: Workers | None = None) -> None:
        self.store = store
        self.workers = workers or Workers()
        self.prefix = prefix
        self.revision = 0
        """The caches of all loaded resources contain the changes up to this revision."""
        self._lost_revision = 0
        """The newest revision before the store went back in time, for example because a backup of etcd was restored."""
        self.ready = False
        self._resources: dict[str, ResourceCache] = {}
        self._loading: dict[ResourceCache, asyncio.Task[None]] = {}
        self._buffered: dict[str, list[list[StoreEvent]]] = {}
        """By the prefix of a resource: for each running load, the events that have arrived since the load began."""
        self._waiters: list[tuple[int, asyncio.Future[None]]] = []
        self._watch: WatchHandle | None = None
        self._restarting: asyncio.Task[None] | None = None
        self.load_progress: dict[str, int] = {}
        """By the prefix of a resource that is being loaded: the number of objects so far."""
        self._markers = NormalizationMarkers(store, prefix)
        self._maintenance: asyncio.Task[None] | None = None
        self.unused_observers: list[Callable[[StoreEvent], None]] = []
        """Functions to call with each store event of a resource for which `resource_at` was never called."""

    async def start(self) -> None:
        await self._markers.read_all()
        revision = await self.store.revision()
        if revision < self.revision:
            self._lost_revision = max(self._lost_revision, self.revision)
        self.revision = revision
        self._watch = self.store.watch(self.prefix, self.revision, self)
        self.ready = True
        self._wake_waiters()
        if self._maintenance is None:
            self._maintenance = asyncio.create_task(self._maintain())

    async def _maintain(self) -> None:
        """Load large resources after the start. Then periodically drop unused indexes and write the normalization
        markers that are due.
        """
        await asyncio.sleep(_READ_AHEAD_SECONDS)
        await self._read_ahead()
        while True:
            await asyncio.sleep(_MAINTENANCE_SECONDS)
            for cache in self._resources.values():
                cache.indexes.drop_idle()
            await self._markers.write_due(self._resources.values())

    async def _read_ahead(self) -> None:
        """Load the resources for which an earlier run of the server wrote a normalization marker.

        These have many objects. Their clients list them again after a restart, so that the load is not in vain.
        """
        for cache in [cache for cache in self._resources.values() if self._markers.covers(cache)]:
            if self._resources.get(cache.prefix) is cache:
                with suppress(StoreError):
                    await self.load(cache)

    async def close(self) -> None:
        if self._restarting is not None:
            self._restarting.cancel()
        if self._maintenance is not None:
            self._maintenance.cancel()
            await asyncio.gather(self._maintenance, return_exceptions=True)
            with suppress(TimeoutError):
                async with asyncio.timeout(_CLOSING_SECONDS):
                    await self._markers.write_due(self._resources.values())
        for task in list(self._loading.values()):
            task.cancel()
        if self._watch is not None:
            self._watch.close()
        self.workers.close()

    def resource(self, group: str, plural: str) -> ResourceCache:
        """Return the cache of a resource, which may not be loaded yet. Core resources have an empty group."""
        return self.resource_at(f"{group}/{plural}" if group else plural)

    def resource_at(self, path: str) -> ResourceCache:
        """Return the cache of the resource with the keys /registry/<path>/..., which may not be loaded yet."""
        prefix = f"{self.prefix}{path}/"
        cache = self._resources.get(prefix)
        if cache is None:
            cache = self._resources[prefix] = ResourceCache(prefix, lambda: self.revision, self.workers)
        return cache

    def remove(self, cache: ResourceCache) -> None:
        """Drop the cache of a resource that is no longer served."""
        cache.detach()
        if self._resources.get(cache.prefix) is cache:
            del self._resources[cache.prefix]

    async def wait_until_fresh(self, cache: ResourceCache, read: RevisionRead | None = None) -> None:
        """Wait until the cache contains all writes made before this call or, if `read` is set, before it was sent."""
        revision = await self.store.revision(read)
        if self.revision < revision:
            await self.wait_for_revision(revision)
        if not cache.loaded:
            await self.load(cache)

    async def load(self, cache: ResourceCache) -> None:
        """Load a resource from the store. Concurrent callers share one load."""
        if cache.loaded:
            return
        task = self._loading.get(cache)
        if task is None:
            task = asyncio.get_running_loop().create_task(self._load(cache))
            self._loading[cache] = task
            task.add_done_callback(lambda done: self._on_loaded(cache, done))
        await asyncio.shield(task)

    async def reload(self, cache: ResourceCache, pause: float) -> None:
        """Load a resource again after a reset, retrying until it succeeds or the resource is no longer served."""
        while not cache.loaded and self._resources.get(cache.prefix) is cache:
            try:
                await self.load(cache)
            except StoreError:
                await asyncio.sleep(pause)

    async def may_have_owners(self, cache: ResourceCache) -> bool:
        """True if a resource that is not loaded has objects with owners or objects that are being deleted.

        This searches the store, but only behind the revision of the normalization marker, if there is one.
        """
        known = self._markers.ownerless_revision(cache)
        if known:
            try:
                newer = await self.store.history(cache.prefix, known, await self.store.revision())
                return any(event.value is not None and may_have_owners(event.value) for event in newer)
            except CompactedError:
                pass
        return await self.has_owners_under(cache.prefix)

    async def has_owners_under(self, prefix: str) -> bool:
        """True if the store has objects with a prefix that have owners or are being deleted. This reads all of them."""
        after = ""
        while True:
            page = await self.store.scan(prefix, after=after)
            if any(may_have_owners(item.value) for item in page.items):
                return True
            if page.last:
                return False
            after = page.items[-1].key

    def load_notes(self) -> list[str]:
        """Return a line about each resource that is being loaded, for the pages of the health checks."""
        return [f"info: loading {prefix}: {count} objects so far" for prefix, count in self.load_progress.items()]

    def _on_loaded(self, cache: ResourceCache, task: asyncio.Task[None]) -> None:
        del self._loading[cache]
        if not task.cancelled() and task.exception() is not None:
            log.info("watch cache: cannot load %s, the next request tries again: %s", cache.prefix, task.exception())

    async def _load(self, cache: ResourceCache) -> None:
        while True:
            watch = self._watch
            buffered: list[StoreEvent] = []
            self._buffered.setdefault(cache.prefix, []).append(buffered)
            try:
                objects, revision, unmarked = await self._read_all(cache, buffered)
            finally:
                self._stop_buffering(cache.prefix, buffered)
                self.load_progress.pop(cache.prefix, None)
            if self._restarting is None or (self.ready and watch is self._watch):
                break
            # The store's watch was lost during the load, so events may be missing. Load the resource again.
            await asyncio.shield(self._restarting)
        cache.load(objects, revision, unmarked)

    async def _read_all(self, cache: ResourceCache, buffered: list[StoreEvent]) -> tuple[SortedObjects, int, int]:
        """Read all objects of a resource, page by page, so that the store's bytes are not in memory twice.

        Return the objects at a revision, the revision, and the number of objects that no normalization marker covers.
        Each page has another revision. The events that arrive meanwhile are applied after each page. An older state of
        an object never replaces a newer one, so the result is complete when the last page has been read.
        """
        began = logged = time.monotonic()
        generation = cache.schema_generation
        parse = await self._markers.parser(cache)
        objects, after, unmarked = SortedObjects(), "", 0
        while True:
            page = await self.store.scan(cache.prefix, after=after)
            for start in range(0, len(page.items), _SLICE):
                part = parse(page.items[start : start + _SLICE])
                unmarked += list(map(_is_normalized, part)).count(False)
                objects.put_sorted(part)
                await asyncio.sleep(0)
            for event in buffered:
                _apply(objects, event, len(cache.prefix))
            unmarked += len(buffered)
            buffered.clear()
            self.load_progress[cache.prefix] = len(objects)
            now = time.monotonic()
            if page.last:
                break
            after = page.items[-1].key
            if now - logged > _PROGRESS_SECONDS:
                log.info("watch cache: loading %s, %d objects so far", cache.prefix, len(objects))
                logged = now
        if now - began > _PROGRESS_SECONDS:
            log.info("watch cache: loaded %d objects of %s in %.1f s", len(objects), cache.prefix, now - began)
        if generation != cache.schema_generation:
            # The CRD has changed during the load, so the marker does not apply.
            unmarked = len(objects)
        return objects, max(self.revision, page.revision), unmarked

    def _stop_buffering(self, prefix: str, buffered: list[StoreEvent]) -> None:
        others = [other for other in self._buffered[prefix] if other is not buffered]
        if others:
            self._buffered[prefix] = others
        else:
            del self._buffered[prefix]

    async def wait_for_revision(self, revision: int, timeout_seconds: float = 3.0) -> None:
        """Wait until the caches are as new as a revision. Raise RequestTimeoutError after `timeout_seconds`."""
        if self.revision >= revision:
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiter = (revision, future)
        self._waiters.append(waiter)
        try:
            async with asyncio.timeout(timeout_seconds):
                await future
        except TimeoutError:
            raise resource_version_too_large(revision, self.revision) from None
        finally:
            if waiter in self._waiters:
                self._waiters.remove(waiter)

    async def changes_since(self, cache: ResourceCache, revision: int) -> list[ObjectChange]:
        """Return the changes of a resource above a revision: from the window and, as far as it is too short, the store.

        Raise ExpiredError if the revision has been compacted, or if the store has lost it.
        """
        if self.revision < revision <= self._lost_revision:
            # The watch would miss the changes until the store reaches this revision again.
            raise errors.ExpiredError(f"too old resource version: {revision} ({self.revision})")
        older: list[ObjectChange] = []
        after = revision
        # The window may move on while the store's history is read. Then also read the changes that the window has
        # dropped.
        while after < cache.window_start:
            until = cache.window_start
            try:
                history = await self.store.history(cache.prefix, after, until)
            except CompactedError as error:
                raise errors.ExpiredError(f"too old resource version: {revision} ({error.oldest})") from None
            except FutureRevisionError:
                return []
            for start in range(0, len(history), _SLICE):
                older += cache.past_changes(history[start : start + _SLICE])
                await asyncio.sleep(0)
            after = until
        return older + cache.changes_after(after)

    # ------------------------------------------------------------------ WatchListener

    def on_events(self, events: Sequence[StoreEvent], revision: int) -> None:
        batches: dict[str, list[StoreEvent]] = {}
        for event in events:
            prefix = self._resource_prefix(event.key)
            for buffered in self._buffered.get(prefix, ()):
                buffered.append(event)
            if prefix in self._resources:
                batches.setdefault(prefix, []).append(event)
            else:
                for observer in self.unused_observers:
                    observer(event)
        self.revision = revision
        for prefix, batch in batches.items():
            cache = self._resources.get(prefix)
            if cache is not None and cache.loaded:
                try:
                    cache.apply_events(batch, revision)
                except Exception:
                    log.exception("watch cache: cannot apply an event to %s, loading it again", prefix)
                    cache.reset()
        if self._waiters:
            self._wake_waiters()

    def _wake_waiters(self) -> None:
        due = [future for revision, future in self._waiters if revision <= self.revision]
        if due:
            self._waiters = [waiter for waiter in self._waiters if waiter[0] > self.revision]
            for future in due:
                if not future.done():
                    future.set_result(None)

    def _resource_prefix(self, key: str) -> str:
        """Return the prefix of a key: /registry/<group>/<plural>/, or /registry/<plural>/ for a core resource."""
        start = len(self.prefix)
        first = key.find("/", start)
        second = key.find("/", first + 1)
        if second > 0:
            prefix = key[: second + 1]
            if prefix in self._resources or prefix in self._buffered:
                return prefix
        return key[: first + 1]

    def on_lost(self, error: StoreError) -> None:
        log.warning("watch cache: lost the watch on the store, loading every resource again: %s", error)
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
                log.warning("watch cache: cannot watch the store, retrying in %.1f s: %s", _RETRY_SECONDS, error)
                await asyncio.sleep(_RETRY_SECONDS)


def _apply(objects: SortedObjects, event: StoreEvent, start: int) -> None:
    """Apply an event to objects that are being loaded. `start` is the length of the resource's prefix in the key."""
    key = event.key[start:]
    current = objects.get(key)
    if current is not None and current.revision >= event.revision:
        return
    if event.value is not None:
        objects.put(parse_stored(key, event.value, event.revision, False))
    elif current is not None:
        objects.remove(current)


def resource_version_too_large(requested: int, current: int, *, retry: bool = True) -> errors.RequestTimeoutError:
    """Return the 504 error for a revision that is not written yet. If `retry` is true, it asks the client to retry."""
    causes = [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]
    return errors.RequestTimeoutError(
        f"Timeout: Too large resource version: {requested}, current: {current}",
        details={"causes": causes, **({"retryAfterSeconds": 1} if retry else {})},
    )
