"""The SQLite store: forwards requests to the writer and reader threads and returns results on the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Concatenate, NamedTuple, ParamSpec, TypeVar

from polykind.coalescer import Coalescer, resolve
from polykind.contract import (
    CompactedError,
    FutureRevisionError,
    HistoryEvent,
    KeyValue,
    Page,
    RevisionRead,
    ScanPage,
    StoreError,
    StoreEvent,
    UnavailableError,
    WatchHandle,
    WatchListener,
)
from polykind.store.request_size import ALWAYS_ACCEPTED_BYTES, check_request_size
from polykind.store.sqlite import reader_pool
from polykind.store.sqlite.database_file import DatabaseFile
from polykind.store.sqlite.reader_pool import ReaderPool, ReplayPage
from polykind.store.sqlite.write_log import Bounds, WriteLog
from polykind.store.sqlite.writer import MAX_BATCH_WRITES, Compaction, Results, Stop, Write, Writer, WriterCallbacks
from polykind.store.store_watch import StoreWatch

_P = ParamSpec("_P")
_R = TypeVar("_R")

REPLAY_EVENTS = 500
REPLAY_BYTES = 4 * 1024 * 1024
SCAN_KEYS = 1000
SCAN_BYTES = 4 * 1024 * 1024


class Stats(NamedTuple):
    """The newest and the oldest readable revision, and the sizes of the files."""

    newest: int
    oldest: int
    database_bytes: int
    wal_bytes: int


class SqliteStore:
    """A Store in `directory/polykind.db`. At least the last `keep` revisions stay readable, and at most twice as many.

    Start the store on the event loop that uses it. It can be started again after `close`. If `durable` is false, writes
    are faster, but a crash of the machine may lose them.
    """

    def __init__(
        self,
        directory: Path,
        *,
        keep: int = 10_000,
        durable: bool = True,
        on_commit: Callable[[float, int], None] = lambda seconds, writes: None,
    ) -> None:
        """`on_commit` is called in a thread with the duration of each commit and the number of its writes."""
        self._keep = keep
        self._on_commit = on_commit
        self._file = DatabaseFile(directory, durable=durable)
        self._running = False
        self._open = False
        self._published = 0
        self._floor = 0
        self._next_publication: asyncio.Future[None] | None = None
        self._closing: asyncio.Task[None] | None = None
        self._waiting_writes: list[Write] = []

    async def start(self) -> None:
        if self._running:
            raise StoreError(f"{self._file.path} has been started already")
        self._running = True
        self._loop = asyncio.get_running_loop()
        opened: asyncio.Future[Bounds] = self._loop.create_future()
        self._stopped: asyncio.Future[None] = self._loop.create_future()
        self._coalescer = Coalescer(
            self._loop, lambda: len(self._waiting_writes), MAX_BATCH_WRITES, self._submit_writes
        )
        self._readers = ReaderPool(self._file)
        callbacks = WriterCallbacks(
            partial(resolve, opened),
            self._on_committed,
            self._on_compacted,
            _resolve_all,
            partial(resolve, self._stopped, None),
        )
        self._writer = Writer(self._file, self._readers, self._loop, callbacks, self._keep, self._on_commit)
        self._writer.start()
        try:
            self._published, self._floor = await opened
        except BaseException:
            # Stop the writer thread even if `start` was cancelled, to unlock the file for the next start.
            self._writer.submit(Stop())
            await asyncio.shield(self._stopped)
            self._running = False
            raise
        self._watches = Watches(self._published, self._read_past_events)
        self._closing = None
        self._open = True

    async def close(self) -> None:
        """Commit all pending writes, notify the listeners, then close the file."""
        if self._open:
            self._open = False
            self._closing = asyncio.create_task(self._close())
        if self._closing is not None:
            await asyncio.shield(self._closing)

    async def _close(self) -> None:
        self._submit_writes()
        self._writer.submit(Stop())
        await self._stopped
        self._running = False
        self._watches.close()

    @property
    def problem(self) -> str:
        if not self._open:
            return f"{self._file.path} is closed"
        return self._writer.problem or (
            f"{replaced} was deleted or replaced" if (replaced := self._writer.replaced()) else ""
        )

    # Reads

    @property
    def oldest_revision(self) -> int:
        return self._floor

    def start_revision_read(self) -> None:
        """Return None, because the newest revision is known without a read."""

    async def revision(self, read: RevisionRead | None = None) -> int:
        """Return the newest revision whose event all listeners have received. Never suspends."""
        self._check_open()
        return self._published

    async def get(self, key: str, *, at: int = 0) -> KeyValue | None:
        _check_text(key)
        return await self._read(reader_pool.get, key, at)

    async def range(self, prefix: str, *, after: str = "", limit: int = 0, at: int = 0) -> Page:
        _check_text(prefix)
        _check_text(after)
        return await self._read(reader_pool.list_range, prefix, after, limit, at)

    async def scan(self, prefix: str, *, after: str = "") -> ScanPage:
        _check_text(prefix)
        _check_text(after)
        return await self._read(reader_pool.scan, prefix, after, SCAN_KEYS, SCAN_BYTES)

    async def history(self, prefix: str, after: int, until: int) -> list[HistoryEvent]:
        _check_text(prefix)
        return await self._read(reader_pool.history, prefix, after, until)

    async def _read(
        self, query: Callable[Concatenate[WriteLog, Bounds, _P], _R], *args: _P.args, **kwargs: _P.kwargs
    ) -> _R:
        self._check_open()
        result, newest = await self._loop.run_in_executor(
            self._readers.pool, lambda: self._readers.run(query, *args, **kwargs)
        )
        # A reader thread can see a commit before the listeners do. Wait for them, so that the cache is never behind.
        while self._published < newest:
            if self._next_publication is None:
                self._next_publication = self._loop.create_future()
            await asyncio.shield(self._next_publication)
        return result

    # Writes

    async def put(self, key: str, value: bytes, *, expect: int | None) -> int:
        if len(value) > ALWAYS_ACCEPTED_BYTES:
            check_request_size(key, value, expect)
        return await self._write(key, value, expect)

    can_put_twice = True

    async def put_twice(self, key: str, first: bytes, second: bytes, *, expect: int | None) -> int:
        for value in (first, second):
            if len(value) > ALWAYS_ACCEPTED_BYTES:
                check_request_size(key, value, expect)
        return await self._write(key, first, expect, second)

    async def delete(self, key: str, *, expect: int | None) -> int:
        return await self._write(key, None, expect)

    def _write(
        self, key: str, value: bytes | None, expect: int | None, second: bytes | None = None
    ) -> asyncio.Future[int]:
        self._check_open()
        _check_text(key)
        future: asyncio.Future[int] = self._loop.create_future()
        if not self._waiting_writes:
            # Collect writes: waking the writer thread costs more than a write, and both threads compete for the GIL.
            self._coalescer.start()
        self._waiting_writes.append(Write(key, value, expect, future, second))
        return future

    def _submit_writes(self) -> None:
        writes, self._waiting_writes = self._waiting_writes, []
        for start in range(0, len(writes), MAX_BATCH_WRITES):
            self._writer.submit(writes[start : start + MAX_BATCH_WRITES])

    async def compact(self, revision: int) -> None:
        self._check_open()
        if revision > self._published:
            raise FutureRevisionError(revision, self._published)
        if revision > self._floor:
            future: asyncio.Future[int] = self._loop.create_future()
            self._submit_writes()
            self._writer.submit(Compaction(revision, future))
            await future

    # Watches

    def watch(self, prefix: str, after: int, listener: WatchListener) -> WatchHandle:
        self._check_open()
        _check_text(prefix)
        if after < self._floor:
            raise CompactedError(after, self._floor)
        return self._watches.add(prefix, after, listener)

    async def _read_past_events(self, prefix: str, after: int, until: int) -> ReplayPage:
        return await self._read(reader_pool.replay, prefix, after, until, REPLAY_EVENTS, REPLAY_BYTES)

    async def size_bytes(self) -> int:
        """Return the size of the database file."""
        return _size(self._file.path)

    def stats(self) -> Stats:
        """Return the figures for metrics. This call is fast."""
        return Stats(self._published, self._floor, _size(self._file.path), _size(self._file.wal))

    # The writer's callbacks, on the event loop

    def _on_committed(self, events: list[StoreEvent], revision: int, results: Results) -> None:
        # The writers resume in the next iteration of the event loop, when the cache contains their writes.
        _resolve_all(results)
        if events:
            self._watches.publish(events, revision)
            self._published = revision
            if self._next_publication is not None:
                self._next_publication.set_result(None)
                self._next_publication = None

    def _on_compacted(self, floor: int) -> None:
        self._floor = floor

    def _check_open(self) -> None:
        if not self._open:
            raise UnavailableError(f"{self._file.path} is closed")


def _resolve_all(results: Results) -> None:
    for future, result in results:
        resolve(future, result)


def _check_text(text: str) -> None:
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise StoreError(f"{text!r} is not valid Unicode text") from None


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


class SingleReplicaLeadership:
    """The leadership of a store that only one server can use. This server is always the leader."""

    leading = True

    def subscribe(self, on_change: Callable[[bool], None]) -> None:
        """Do nothing, because the leader never changes."""

    async def start(self) -> None: ...

    async def close(self) -> None: ...


ReadPastEvents = Callable[[str, int, int], Awaitable[ReplayPage]]
"""A function that reads past events under a key prefix with revisions above `after`, up to `until`. It may stop early.
"""


class Watches:
    """All watches of a store. A watch first replays past events. Then it is live: it gets new events directly."""

    def __init__(self, newest: int, read_past_events: ReadPastEvents) -> None:
        self._newest = newest
        self._read_past_events = read_past_events
        self._live: dict[StoreWatch, None] = {}
        self._replays: dict[StoreWatch, asyncio.Task[None]] = {}

    def add(self, prefix: str, after: int, listener: WatchListener) -> StoreWatch:
        watch = StoreWatch(prefix, after, listener, self.remove)
        if after < self._newest:
            self._replays[watch] = asyncio.create_task(self._replay(watch))
        else:
            self._live[watch] = None
        return watch

    def remove(self, watch: StoreWatch) -> None:
        self._live.pop(watch, None)
        replay = self._replays.pop(watch, None)
        if replay is not None and replay is not asyncio.current_task():
            replay.cancel()

    def publish(self, events: list[StoreEvent], revision: int) -> None:
        """Deliver a committed batch to all live watches. A watch that a listener adds meanwhile replays the batch."""
        self._newest = revision
        for watch in tuple(self._live):
            if watch.closed or revision <= watch.delivered:
                continue
            watch.deliver(watch.filter(events), revision)

    def close(self) -> None:
        for replay in self._replays.values():
            replay.cancel()
        watches = [*self._live, *self._replays]
        self._live.clear()
        self._replays.clear()
        for watch in watches:
            watch.lose(UnavailableError("the store was closed"))

    async def _replay(self, watch: StoreWatch) -> None:
        """Deliver past events from the write log, including new batches, until the watch has received all of them."""
        try:
            while watch.delivered < self._newest:
                page = await self._read_past_events(watch.prefix, watch.delivered, self._newest)
                watch.deliver(page.events, page.revision)
                if watch.closed:
                    return
        except StoreError as error:
            self._replays.pop(watch, None)
            watch.lose(error)
            return
        # Nothing was awaited since `delivered` reached the newest revision, so the watch misses no event.
        self._replays.pop(watch, None)
        self._live[watch] = None
