"""The feed: a single watch of etcd that everything in this process follows; it resumes by itself."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from polykind.contract import CompactedError, StoreEvent, UnavailableError
from polykind.store.etcd.client import Client
from polykind.store.etcd.messages import Span
from polykind.store.etcd.stream import WatchStream

log = logging.getLogger("polykind.etcd")

PROGRESS_SECONDS = 0.01
"""How long a reader waits for an event before progress is asked for."""
STALL_SECONDS = 1.0
"""How long the feed may be behind what etcd has written before it is moved to another member."""

REACH_SECONDS = 3.0
"""How long a reader waits for the feed at all."""

Tell = Callable[[list[StoreEvent], int], None]


class Feed:
    """Everything up to `revision` has been told.

    `asks`: progress is asked for when somebody waits. Without it the span must be all keys there are: then every
    revision is an event, and none is waited for in vain.
    """

    def __init__(
        self, client: Client, where: Span, asks: bool, tell: Tell, lose: Callable[[CompactedError], None]
    ) -> None:
        self._client = client
        self._where = where
        self._asks = asks
        self._tell = tell
        self._lose = lose
        self._loop = asyncio.get_running_loop()
        self._stream: WatchStream | None = None
        self._following: asyncio.Task[None] | None = None
        self._waiters: list[tuple[int, float, asyncio.Future[None]]] = []
        """For what revision, until when, and whom to tell."""
        self._nudging: asyncio.Task[None] | None = None
        self.revision = 0

    def start(self, revision: int) -> None:
        self.revision = revision
        self._following = self._loop.create_task(self._follow())

    async def close(self) -> None:
        tasks = [task for task in (self._following, self._nudging) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        waiters, self._waiters = self._waiters, []
        for _, _, future in waiters:
            if not future.done():
                future.set_exception(UnavailableError("the store was closed"))

    def reach(self, revision: int) -> asyncio.Future[None]:
        """Done when everything up to a revision has been told; fails with Unavailable."""
        future: asyncio.Future[None] = self._loop.create_future()
        if self.revision >= revision:
            future.set_result(None)
            return future
        self._waiters.append((revision, self._loop.time() + REACH_SECONDS, future))
        if self._nudging is None:
            self._nudging = self._loop.create_task(self._nudge())
        return future

    async def _follow(self) -> None:
        """Follow, on whichever member answers, from where the last stream ended."""
        while True:
            member = self._client.member
            self._stream = WatchStream(member, self._where, self.revision)
            try:
                async for events, revision in self._stream:
                    self._take([StoreEvent(e.key, e.value, e.revision) for e in events], revision)
            except CompactedError as error:
                # Whoever follows must read anew; what is written from the compaction on can be followed again.
                self.revision = error.oldest
                self._lose(error)
            except UnavailableError as error:
                log.warning("%s; it goes on from revision %d", error, self.revision)
                self._client.avoid(member)
            except Exception:
                log.exception("the watch of etcd failed; it goes on from revision %d", self.revision)
            await asyncio.sleep(0.1)

    def _take(self, events: list[StoreEvent], revision: int) -> None:
        if revision <= self.revision:
            return
        self.revision = revision
        self._tell(events, revision)
        if self._waiters:
            waiters = self._waiters
            self._waiters = [waiter for waiter in waiters if waiter[0] > revision]
            for wanted, _, future in waiters:
                if wanted <= revision and not future.done():
                    future.set_result(None)

    async def _nudge(self) -> None:
        """While somebody waits: ask for progress, and leave a member that brings none."""
        try:
            seen, since = self.revision, self._loop.time()
            while self._waiters:
                await asyncio.sleep(PROGRESS_SECONDS)
                self._expire()
                if self.revision != seen:
                    seen, since = self.revision, self._loop.time()
                stream = self._stream
                if stream is None or not self._waiters:
                    continue
                if self._loop.time() - since > STALL_SECONDS:
                    log.warning("the watch of etcd at %s stalls at revision %d", stream.member.url, seen)
                    self._client.avoid(stream.member, silent=True)
                    stream.cancel()
                    since = self._loop.time()
                elif self._asks:
                    stream.ask_progress()
        finally:
            self._nudging = None

    def _expire(self) -> None:
        """Tell those who have waited too long."""
        now = self._loop.time()
        late = [waiter for waiter in self._waiters if waiter[1] < now]
        if late:
            self._waiters = [waiter for waiter in self._waiters if waiter[1] >= now]
            for wanted, _, future in late:
                if not future.done():
                    behind = f"the watch of etcd is behind: at revision {self.revision} of {wanted}"
                    future.set_exception(UnavailableError(behind))
