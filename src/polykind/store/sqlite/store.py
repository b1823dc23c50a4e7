"""The store as the rest of the server sees it: requests go to the threads, answers come back to the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Concatenate, NamedTuple, ParamSpec, TypeVar

from polykind.contract import (
    CompactedError,
    FutureRevisionError,
    HistoryEvent,
    KeyValue,
    Page,
    RevisionRead,
    StoreError,
    StoreEvent,
    UnavailableError,
    WatchHandle,
    WatchListener,
)
from polykind.store.sqlite import readers
from polykind.store.sqlite.file import DatabaseFile
from polykind.store.sqlite.log import Bounds, Log
from polykind.store.sqlite.readers import Readers, Replay
from polykind.store.sqlite.watches import Watches
from polykind.store.sqlite.writer import MOST_WRITES, Answers, Audience, Compaction, Stop, Write, Writer
from polykind.store.turns import Gathering, settle

_P = ParamSpec("_P")
_R = TypeVar("_R")

REPLAY_EVENTS = 500
REPLAY_BYTES = 4 * 1024 * 1024


class Stats(NamedTuple):
    """How the store stands: revisions that can be read, bytes on disk."""

    newest: int
    oldest: int
    database_bytes: int
    wal_bytes: int


class SqliteStore:
    """A Store in `directory/polykind.db`, of which the last `keep` revisions stay readable, and at most twice that.

    Start it on the event loop that will use it. It may be started again after `close`.
    """

    def __init__(self, directory: Path, *, keep: int = 10_000) -> None:
        self._keep = keep
        self._file = DatabaseFile(directory)
        self._running = False
        self._open = False
        self._published = 0
        self._floor = 0
        self._publication: asyncio.Future[None] | None = None
        self._closing: asyncio.Task[None] | None = None
        self._handing: list[Write] = []

    async def start(self) -> None:
        if self._running:
            raise StoreError(f"{self._file.path} has been started already")
        self._running = True
        self._loop = asyncio.get_running_loop()
        opened: asyncio.Future[Bounds] = self._loop.create_future()
        self._ended: asyncio.Future[None] = self._loop.create_future()
        self._gathering = Gathering(self._loop, lambda: len(self._handing), MOST_WRITES, self._hand_over)
        self._readers = Readers(self._file)
        audience = Audience(
            partial(settle, opened),
            self._on_committed,
            self._on_compacted,
            _settle,
            partial(settle, self._ended, None),
        )
        self._writer = Writer(self._file, self._readers, self._loop, audience, self._keep)
        self._writer.start()
        try:
            self._published, self._floor = await opened
        except BaseException:
            # Also when abandoned half-way: the file must be free again for whoever starts next.
            self._writer.submit(Stop())
            await asyncio.shield(self._ended)
            self._running = False
            raise
        self._watches = Watches(self._published, self._read_past)
        self._closing = None
        self._open = True

    async def close(self) -> None:
        """Commit what was asked for, tell the listeners, then let go of the file."""
        if self._open:
            self._open = False
            self._closing = asyncio.create_task(self._close())
        if self._closing is not None:
            await asyncio.shield(self._closing)

    async def _close(self) -> None:
        self._hand_over()
        self._writer.submit(Stop())
        await self._ended
        self._running = False
        self._watches.close()

    @property
    def healthy(self) -> bool:
        return self._open

    # Reading

    def start_revision_read(self) -> None:
        """Nobody need be asked."""

    async def revision(self, read: RevisionRead | None = None) -> int:
        """The newest revision that listeners have been told of; never suspends."""
        self._check_open()
        return self._published

    async def get(self, key: str, *, at: int = 0) -> KeyValue | None:
        _check_text(key)
        return await self._read(readers.get, key, at)

    async def range(self, prefix: str, *, after: str = "", limit: int = 0, at: int = 0) -> Page:
        _check_text(prefix)
        _check_text(after)
        return await self._read(readers.list_range, prefix, after, limit, at)

    async def history(self, prefix: str, after: int, until: int) -> list[HistoryEvent]:
        _check_text(prefix)
        return await self._read(readers.history, prefix, after, until)

    async def _read(self, query: Callable[Concatenate[Log, Bounds, _P], _R], *args: _P.args, **kwargs: _P.kwargs) -> _R:
        self._check_open()
        found, newest = await self._loop.run_in_executor(
            self._readers.pool, lambda: self._readers.run(query, *args, **kwargs)
        )
        # A commit can be seen before its listeners have been told; nobody may learn of it before they do.
        while self._published < newest:
            if self._publication is None:
                self._publication = self._loop.create_future()
            await asyncio.shield(self._publication)
        return found

    # Writing

    async def put(self, key: str, value: bytes, *, expect: int | None) -> int:
        return await self._write(key, value, expect)

    async def delete(self, key: str, *, expect: int | None) -> int:
        return await self._write(key, None, expect)

    def _write(self, key: str, value: bytes | None, expect: int | None) -> asyncio.Future[int]:
        self._check_open()
        _check_text(key)
        future: asyncio.Future[int] = self._loop.create_future()
        if not self._handing:
            # Waking the writer costs more than a write, and a writer at work and a busy loop slow each other down.
            self._gathering.begin()
        self._handing.append(Write(key, value, expect, future))
        return future

    def _hand_over(self) -> None:
        handed, self._handing = self._handing, []
        for start in range(0, len(handed), MOST_WRITES):
            self._writer.submit(handed[start : start + MOST_WRITES])

    async def compact(self, revision: int) -> None:
        self._check_open()
        if revision > self._published:
            raise FutureRevisionError(revision, self._published)
        if revision > self._floor:
            future: asyncio.Future[int] = self._loop.create_future()
            self._hand_over()
            self._writer.submit(Compaction(revision, future))
            await future

    # Following

    def watch(self, prefix: str, after: int, listener: WatchListener) -> WatchHandle:
        self._check_open()
        _check_text(prefix)
        if after < self._floor:
            raise CompactedError(after, self._floor)
        return self._watches.add(prefix, after, listener)

    async def _read_past(self, prefix: str, after: int, until: int) -> Replay:
        return await self._read(readers.replay, prefix, after, until, REPLAY_EVENTS, REPLAY_BYTES)

    def stats(self) -> Stats:
        """Cheap enough for every scrape of metrics."""
        return Stats(self._published, self._floor, _size(self._file.path), _size(self._file.wal))

    # What the writer tells, on the event loop

    def _on_committed(self, events: list[StoreEvent], revision: int, answers: Answers) -> None:
        if events:
            self._watches.tell(events, revision)
            self._published = revision
            if self._publication is not None:
                self._publication.set_result(None)
                self._publication = None
        _settle(answers)

    def _on_compacted(self, floor: int) -> None:
        self._floor = floor

    def _check_open(self) -> None:
        if not self._open:
            raise UnavailableError(f"{self._file.path} is closed")


def _settle(answers: Answers) -> None:
    for future, answer in answers:
        settle(future, answer)


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
