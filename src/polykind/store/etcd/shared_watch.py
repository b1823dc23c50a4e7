"""The shared watch: one etcd watch for all listeners of this process. It resumes after failures."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from polykind.contract import CompactedError, HistoryEvent, StoreError, StoreEvent, UnavailableError, WatchListener
from polykind.store.etcd.etcd_client import EtcdClient
from polykind.store.etcd.rpc_messages import KeyRange
from polykind.store.etcd.watch_stream import WatchStream
from polykind.store.store_watch import StoreWatch

log = logging.getLogger("polykind.etcd")

PROGRESS_SECONDS = 0.01
"""Seconds that a request waits for events before the watch asks etcd for its progress."""
STALL_SECONDS = 1.0
"""If a request waits and the watch makes no progress for this many seconds, it moves to another member."""
WAIT_SECONDS = 3.0
"""The maximum number of seconds that a request waits for the watch."""
MAX_BUFFERED_EVENTS = 50_000
"""The maximum number of new events that are buffered while a watch replays past events."""

OnEvents = Callable[[list[StoreEvent], int], None]
ReadPastEvents = Callable[[str, int, int], Awaitable[list[HistoryEvent]]]
"""A function that reads the past events under a key prefix with revisions above `after`, up to `until`."""


class SharedWatch:
    """Watches a range of keys in etcd. `revision` is the revision up to which all events have been delivered.

    If `progress_requests` is true, the watch asks etcd for its progress while a request waits. Otherwise the range must
    be all keys: then every revision has an event, so that each wait for a revision ends.
    """

    def __init__(
        self,
        client: EtcdClient,
        keys: KeyRange,
        progress_requests: bool,
        on_events: OnEvents,
        on_lost: Callable[[CompactedError], None],
    ) -> None:
        self._client = client
        self._keys = keys
        self._progress_requests = progress_requests
        self._on_events = on_events
        self._on_lost = on_lost
        self._loop = asyncio.get_running_loop()
        self._stream: WatchStream | None = None
        self._running: asyncio.Task[None] | None = None
        self._waiters: list[tuple[int, float, asyncio.Future[None]]] = []
        """The requests that wait for a revision: the revision, the deadline and the future of each."""
        self._monitor: asyncio.Task[None] | None = None
        self.revision = 0

    def start(self, revision: int) -> None:
        self.revision = revision
        self._running = self._loop.create_task(self._run())

    async def close(self) -> None:
        tasks = [task for task in (self._running, self._monitor) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        waiters, self._waiters = self._waiters, []
        for _, _, future in waiters:
            if not future.done():
                future.set_exception(UnavailableError("the store was closed"))

    def restart(self, revision: int) -> None:
        """Continue from another revision, because etcd's history has changed. Waiting requests fail."""
        self.revision = revision
        if self._stream is not None:
            self._stream.cancel()
        waiters, self._waiters = self._waiters, []
        for _, _, future in waiters:
            if not future.done():
                future.set_exception(UnavailableError("the history of etcd has changed"))

    def wait_for_revision(self, revision: int) -> asyncio.Future[None]:
        """Return a future that is done when all events up to a revision have been delivered.

        The future gets an UnavailableError if the watch does not catch up in time.
        """
        future: asyncio.Future[None] = self._loop.create_future()
        if self.revision >= revision:
            future.set_result(None)
            return future
        self._waiters.append((revision, self._loop.time() + WAIT_SECONDS, future))
        if self._monitor is None:
            self._monitor = self._loop.create_task(self._monitor_progress())
        return future

    async def _run(self) -> None:
        """Watch on the current member. When the stream ends, resume after the last delivered revision."""
        while True:
            member = self._client.member
            self._stream = WatchStream(member, self._keys, self.revision)
            try:
                async for events, revision in self._stream:
                    self._deliver([StoreEvent(e.key, e.value, e.revision) for e in events], revision)
            except CompactedError as error:
                # Events were missed, so the listeners must read all keys again. Later events can still be watched.
                self.revision = error.oldest
                self._on_lost(error)
            except UnavailableError as error:
                log.warning("etcd store: the watch ended: %s; resuming from revision %d", error, self.revision)
                self._client.avoid(member)
            except Exception:
                log.exception("etcd store: the watch failed, resuming from revision %d", self.revision)
            await asyncio.sleep(0.1)

    def _deliver(self, events: list[StoreEvent], revision: int) -> None:
        if revision <= self.revision:
            return
        self.revision = revision
        self._on_events(events, revision)
        if self._waiters:
            waiters = self._waiters
            self._waiters = [waiter for waiter in waiters if waiter[0] > revision]
            for awaited, _, future in waiters:
                if awaited <= revision and not future.done():
                    future.set_result(None)

    async def _monitor_progress(self) -> None:
        """While requests wait, ask etcd for progress. Switch to another member if the watch makes no progress."""
        try:
            last_revision, since = self.revision, self._loop.time()
            while self._waiters:
                await asyncio.sleep(PROGRESS_SECONDS)
                self._expire_waiters()
                if self.revision != last_revision:
                    last_revision, since = self.revision, self._loop.time()
                stream = self._stream
                if stream is None or not self._waiters:
                    continue
                if self._loop.time() - since > STALL_SECONDS:
                    url = stream.member.url
                    log.warning("etcd store: the watch on %s stalls at revision %d, restarting it", url, last_revision)
                    self._client.avoid(stream.member, unresponsive=True)
                    stream.cancel()
                    since = self._loop.time()
                elif self._progress_requests:
                    stream.request_progress()
        finally:
            self._monitor = None

    def _expire_waiters(self) -> None:
        now = self._loop.time()
        expired = [waiter for waiter in self._waiters if waiter[1] < now]
        if expired:
            self._waiters = [waiter for waiter in self._waiters if waiter[1] >= now]
            for awaited, _, future in expired:
                if not future.done():
                    message = f"the watch of etcd is behind: at revision {self.revision} of {awaited}"
                    future.set_exception(UnavailableError(message))


class Watches:
    """All watches of a store. While a watch replays past events, new events for it are buffered."""

    def __init__(self, newest: int, read_past_events: ReadPastEvents) -> None:
        self._newest = newest
        self._read_past_events = read_past_events
        self._watches: dict[StoreWatch, asyncio.Task[None] | None] = {}
        self._buffered: dict[StoreWatch, list[StoreEvent]] = {}

    def add(self, prefix: str, after: int, listener: WatchListener) -> StoreWatch:
        watch = StoreWatch(prefix, after, listener, self.remove)
        self._watches[watch] = None
        if after < self._newest:
            self._buffered[watch] = []
            self._watches[watch] = asyncio.get_running_loop().create_task(self._replay(watch, self._newest))
        return watch

    def remove(self, watch: StoreWatch) -> None:
        self._buffered.pop(watch, None)
        replay = self._watches.pop(watch, None)
        if replay is not None and replay is not asyncio.current_task():
            replay.cancel()

    def publish(self, events: list[StoreEvent], revision: int) -> None:
        """Deliver new events to all watches.

        If a listener adds a watch during the delivery, the new watch replays these events, so it misses none.
        """
        self._newest = revision
        for watch in tuple(self._watches):
            if watch.closed or revision <= watch.delivered:
                continue
            buffered = self._buffered.get(watch)
            if buffered is None:
                watch.deliver(watch.filter(events), revision)
            else:
                buffered += watch.filter(events)
                if len(buffered) > MAX_BUFFERED_EVENTS:
                    self._fail(watch, UnavailableError("a watch fell too far behind while it read past events"))

    def restart(self, newest: int, error: StoreError) -> None:
        """End all watches with an error, because etcd's history has changed.

        `newest` is the newest revision of the new history.
        """
        self._newest = newest
        self.lose(error)

    def lose(self, error: StoreError) -> None:
        """End all watches with an error."""
        for watch in tuple(self._watches):
            self._fail(watch, error)

    def _fail(self, watch: StoreWatch, error: StoreError) -> None:
        self.remove(watch)
        watch.lose(error)

    async def _replay(self, watch: StoreWatch, until: int) -> None:
        """Deliver past events to a watch, then the events that have been buffered meanwhile."""
        try:
            past = await self._read_past_events(watch.prefix, watch.delivered, until)
        except StoreError as error:
            self._fail(watch, error)
            return
        if watch.closed:
            return
        # There is no await from here on, so that no event can arrive before the watch receives events directly.
        self._watches[watch] = None
        events = [StoreEvent(event.key, event.value, event.revision) for event in past] + self._buffered.pop(watch)
        watch.deliver(events, self._newest)
