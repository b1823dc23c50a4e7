"""The store as the rest of the server sees it: reads and transactions of etcd, and a feed of every change."""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Awaitable, Callable
from types import TracebackType

from polykind.contract import (
    CompactedError,
    FutureRevisionError,
    HistoryEvent,
    KeyValue,
    Page,
    RevisionConflictError,
    RevisionRead,
    StoreError,
    UnavailableError,
    WatchHandle,
    WatchListener,
)
from polykind.store.etcd import messages
from polykind.store.etcd.client import Client, Refused
from polykind.store.etcd.feed import Feed
from polykind.store.etcd.member import Access
from polykind.store.etcd.messages import span
from polykind.store.etcd.newest import Newest
from polykind.store.etcd.past import oldest, past
from polykind.store.etcd.watches import Watches
from polykind.taskless import in_task

log = logging.getLogger("polykind.etcd")

PAGE = 500
"""Keys read at a time, so that neither side holds its breath over a long range."""
PULSE_SECONDS = 1.0
SICK_SECONDS = 2.5

_COMPACTED = "etcdserver: mvcc: required revision has been compacted"
_FUTURE = "etcdserver: mvcc: required revision is a future revision"


class EtcdStore:
    """A Store in the etcd cluster at `access`; `prefix` is what all its keys begin with, empty for any.

    A write returns when it is durable and this store's listeners have been told of it. Should the watch of etcd be
    broken at that moment, it returns after a bounded wait all the same: the write is made, and whoever reads the
    newest state afterwards waits for the watch or fails.
    """

    def __init__(self, access: Access, prefix: str = "") -> None:
        self._access = access
        self._prefix = prefix
        self._running = False
        self._open = False
        self._floor = 0
        self._alive = 0.0
        self._working = Working(self._check_open)

    @property
    def healthy(self) -> bool:
        """Whether etcd has answered, and its watch has kept up, within the last moments."""
        return self._open and time.monotonic() - self._alive < SICK_SECONDS

    @property
    def client(self) -> Client:
        self._check_open()
        return self._client

    async def start(self) -> None:
        if self._running:
            raise StoreError(f"the store on etcd at {self._where} has been started already")
        self._running = True
        self._client = Client(self._access)
        try:
            narrow = bool(self._prefix) and all(map(_tells_progress, await self._client.versions()))
            self._all = span(self._prefix if narrow else "")
            self._narrow = narrow
            self._newest = Newest(self._client, self._prefix.encode() or b"\0")
            newest = await (await self._newest.ask()).result()
        except BaseException:
            await self._client.close()
            self._running = False
            raise
        self._watches = Watches(newest, self._read_past)
        self._feed = Feed(self._client, self._all, narrow, self._watches.tell, self._on_lost)
        self._feed.start(newest)
        self._alive = time.monotonic()
        self._open = True
        self._pulse = asyncio.create_task(self._feel_pulse())

    async def close(self) -> None:
        """Let what is under way finish, tell the listeners, hang up."""
        if not self._open:
            return
        self._open = False
        self._pulse.cancel()
        await self._working.finish()
        await self._newest.close()
        await self._feed.close()
        self._watches.lose(UnavailableError("the store was closed"))
        await self._client.close()
        self._running = False

    # Reading

    def start_revision_read(self) -> Awaitable[RevisionRead] | None:
        """The question for the newest revision, once it is sent; None if the store is closed."""
        return self._newest.ask() if self._open else None

    async def revision(self, read: RevisionRead | None = None) -> int:
        """The newest revision in the cluster when this, or `ask`, was called, or a later one; listeners know it."""
        if read is None:
            self._check_open()
            read = await self._newest.ask()
        newest = await read.result()
        if self._feed.revision < newest:
            await self._feed.reach(newest)
        return newest

    async def get(self, key: str, *, at: int = 0) -> KeyValue | None:
        with self._working:
            answer = await self._range(messages.get_request(_encoded(key), at=at), at)
        return answer.items[0] if answer.items else None

    async def range(self, prefix: str, *, after: str = "", limit: int = 0, at: int = 0) -> Page:
        _encoded(prefix + after)
        with self._working:
            items: list[KeyValue] = []
            while True:
                size = min(limit - len(items), PAGE) if limit else PAGE
                last = items[-1].key if items else after
                answer = await self._range(messages.range_request(span(prefix, last), limit=size, at=at), at)
                at = at or answer.revision
                items += answer.items
                left = answer.total - len(answer.items)
                if not left or (limit and len(items) >= limit):
                    return Page(items, at, left)

    async def _range(self, request: bytes, at: int) -> messages.RangeAnswer:
        try:
            answer = messages.range_answer(await self._client.read(messages.RANGE, request))
        except Refused as error:
            raise await self._explained(error, at) from None
        # Nobody may learn of a write before the listeners have.
        if self._feed.revision < answer.revision:
            await self._feed.reach(answer.revision)
        return answer

    async def _explained(self, error: Refused, revision: int) -> StoreError:
        if str(error) == _COMPACTED:
            self._floor = max(self._floor, await in_task(oldest(self._client, revision)))
            return CompactedError(revision, self._floor)
        if str(error) == _FUTURE:
            return FutureRevisionError(revision, await self.revision())
        return error

    async def history(self, prefix: str, after: int, until: int) -> list[HistoryEvent]:
        _encoded(prefix)
        with self._working:
            if after < self._floor:
                raise CompactedError(after, self._floor)
            newest = self._feed.revision if until <= self._feed.revision else await self.revision()
            if until > newest:
                raise FutureRevisionError(until, newest)
            return await self._read_past(prefix, after, until)

    async def _read_past(self, prefix: str, after: int, until: int) -> list[HistoryEvent]:
        if after >= until:
            return []
        where = span(prefix) if self._narrow else self._all
        try:
            return await in_task(past(self._client, where, prefix, after, until, asks=self._narrow))
        except CompactedError as error:
            self._floor = max(self._floor, error.oldest)
            raise

    # Writing

    async def put(self, key: str, value: bytes, *, expect: int | None) -> int:
        return await self._write(key, messages.put_request(_encoded(key), value, expect))

    async def delete(self, key: str, *, expect: int | None) -> int:
        if expect == 0:
            # Nothing that is absent can be deleted, and nothing that is there is at revision 0.
            raise RevisionConflictError(key, await self.get(key))
        return await self._write(key, messages.delete_request(_encoded(key), expect))

    async def _write(self, key: str, request: bytes) -> int:
        with self._working:
            answer = messages.txn_answer(await self._client.write(messages.TXN, request))
            if self._feed.revision < answer.revision:
                try:
                    await self._feed.reach(answer.revision)
                except UnavailableError as error:
                    log.warning("%s: a write is answered before the listeners know of it", error)
            if not answer.succeeded:
                raise RevisionConflictError(key, answer.current)
            return answer.revision

    async def compact(self, revision: int) -> None:
        with self._working:
            try:
                await self._client.read(messages.COMPACT, messages.compaction_request(revision))
            except Refused as error:
                if str(error) == _COMPACTED:
                    return
                raise await self._explained(error, revision) from None
            self._floor = max(self._floor, revision)

    # Following

    def watch(self, prefix: str, after: int, listener: WatchListener) -> WatchHandle:
        self._check_open()
        _encoded(prefix)
        if after < self._floor:
            raise CompactedError(after, self._floor)
        return self._watches.add(prefix, after, listener)

    def _on_lost(self, error: CompactedError) -> None:
        self._floor = max(self._floor, error.oldest)
        self._watches.lose(error)

    async def _feel_pulse(self) -> None:
        """Whether etcd answers and the feed keeps up, also while nobody asks."""
        while True:
            begun = time.monotonic()
            try:
                await self.revision()
                self._alive = time.monotonic()
            except StoreError as error:
                log.warning("etcd is out of reach: %s", error)
            await asyncio.sleep(max(PULSE_SECONDS - (time.monotonic() - begun), 0.1))

    # Lifetime

    def _check_open(self) -> None:
        if not self._open:
            raise UnavailableError(f"the store on etcd at {self._where} is closed")

    @property
    def _where(self) -> str:
        return ",".join(self._access.servers)


class Working:
    """Counts what is under way, so that closing can wait for it."""

    def __init__(self, check: Callable[[], None]) -> None:
        self._check = check
        self._count = 0
        self._idle = asyncio.Event()

    def __enter__(self) -> None:
        self._check()
        self._count += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._count -= 1
        if not self._count:
            self._idle.set()

    async def finish(self) -> None:
        while self._count:
            self._idle.clear()
            await self._idle.wait()


def _encoded(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise StoreError(f"{text!r} is not valid Unicode text") from None


def _tells_progress(version: str) -> bool:
    """Whether a member of this version answers a request for progress only when the watch is complete so far."""
    found = re.match(r"(\d+)\.(\d+)\.(\d+)", version)
    if not found:
        return False
    numbers = tuple(map(int, found.groups()))
    return numbers >= (3, 5, 13) or (3, 4, 31) <= numbers < (3, 5, 0)
