"""The writer: one thread that commits whatever is waiting in one transaction, and sweeps between batches."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import NamedTuple

from polykind.contract import Conflict, Event, KeyValue, StoreError
from polykind.store.sqlite.checkpoints import IDLE_SECONDS, Checkpoints
from polykind.store.sqlite.file import DatabaseFile
from polykind.store.sqlite.log import Log, Row
from polykind.store.sqlite.sweeper import ROWS_BUSY, ROWS_IDLE, Sweeper

_logger = logging.getLogger(__name__)

MOST_WRITES = 512
MOST_BYTES = 8 * 1024 * 1024
CACHE_KIB = 4096

Answers = list[tuple["asyncio.Future[int]", int | StoreError]]
"""What to tell those who wait."""


class Write(NamedTuple):
    """A write that waits; a value of None deletes."""

    key: str
    value: bytes | None
    expect: int | None
    future: asyncio.Future[int]


class Compaction(NamedTuple):
    """A wish to forget what only reads below `floor` need; answered when it is forgotten."""

    floor: int
    future: asyncio.Future[int]


class Stop(NamedTuple):
    """The end, once everything queued before it is done."""


Request = Write | Compaction | Stop


class Audience(NamedTuple):
    """Whom the writer tells; each is called on the event loop."""

    committed: Callable[[list[Event], int, Answers], None]
    compacted: Callable[[int], None]
    answered: Callable[[Answers], None]
    ended: Callable[[], None]


class Writer:
    """Owns the connection that writes; `submit` is for the event loop's thread."""

    def __init__(self, file: DatabaseFile, loop: asyncio.AbstractEventLoop, audience: Audience, keep: int) -> None:
        self._file = file
        self._loop = loop
        self._audience = audience
        self._queue: SimpleQueue[Request] = SimpleQueue()
        self.submit = self._queue.put
        self._log = Log(file.connect(cache_kib=CACHE_KIB))
        self._checkpoints = Checkpoints(file, self._log.connection)
        self._sweeper = Sweeper(self._log, keep)
        self._wishes: list[Compaction] = []
        self._stopping = False
        self.revision = self._log.bounds().newest
        self.floor = self._sweeper.floor

    def start(self) -> None:
        threading.Thread(target=self._run, name="polykind-write", daemon=True).start()

    def _run(self) -> None:
        try:
            while not self._stopping:
                batch = self._take()
                if batch:
                    self._commit(batch)
                self._tidy()
        except RuntimeError as error:
            _logger.warning("the event loop went away before its store was closed: %s", error)
        finally:
            self._checkpoints.close()
            self._log.close()
            self._file.release()
        self._tell(self._audience.answered, [(wish.future, wish.floor) for wish in self._wishes])
        self._tell(self._audience.ended)

    def _tell(self, whom: Callable[..., None], *what: object) -> None:
        self._loop.call_soon_threadsafe(whom, *what)

    def _take(self) -> list[Write]:
        """What waits, up to a transaction's worth. Sleeps only while there is nothing else to do."""
        batch: list[Write] = []
        size = 0
        request = self._first()
        while request is not None:
            if isinstance(request, Write):
                batch.append(request)
                size += len(request.value or b"")
                if len(batch) >= MOST_WRITES or size >= MOST_BYTES:
                    break
            elif isinstance(request, Compaction):
                self._wishes.append(request)
            else:
                self._stopping = True
            request = None if self._queue.empty() else self._queue.get()
        return batch

    def _first(self) -> Request | None:
        try:
            if self._sweeper.pending:
                return self._queue.get_nowait()
            return self._queue.get(timeout=IDLE_SECONDS if self._checkpoints.waiting else None)
        except Empty:
            if not self._sweeper.pending:
                self._checkpoints.when_idle()
            return None

    def _commit(self, batch: list[Write]) -> None:
        try:
            rows, answers = self._judge(batch)
            if rows:
                self._log.append(rows)
        except Exception as error:
            self._log.rollback()
            _logger.error("writing to %s failed, nothing of it was kept: %s", self._file.path, error)
            refusal = f"{self._file.path} cannot be written: {error}"
            self._tell(self._audience.answered, [(write.future, StoreError(refusal)) for write in batch])
            return
        self.revision += len(rows)
        self._tell(self._audience.committed, [Event(row[1], row[4], row[0]) for row in rows], self.revision, answers)
        if rows:
            self._sweeper.unblock()
            self._checkpoints.committed(len(rows), sum(len(row[4] or b"") for row in rows))

    def _judge(self, batch: list[Write]) -> tuple[list[Row], Answers]:
        """Which writes may be, in order, each seeing those before it. Nobody else writes: what is read here holds."""
        rows: list[Row] = []
        answers: Answers = []
        written: dict[str, KeyValue | None] = {}
        revision = self.revision
        for (key, value, expect, future), stored in zip(batch, self._log.latest([w.key for w in batch]), strict=True):
            now = written.get(key)
            held = stored if key not in written else now.revision if now else 0
            if (expect is not None and expect != held) or (value is None and not held):
                if held and now is None:
                    now = KeyValue(key, self._log.value(held), held)
                answers.append((future, Conflict(key, now)))
                continue
            revision += 1
            rows.append((revision, key, held, value is None, value))
            written[key] = None if value is None else KeyValue(key, value, revision)
            answers.append((future, revision))
        return rows, answers

    def _tidy(self) -> None:
        """A little of the work that keeps the files small."""
        try:
            self._raise_floor()
            if self._sweeper.pending:
                rows = ROWS_IDLE if self._queue.empty() else ROWS_BUSY
                self._sweeper.step(rows)
                self._checkpoints.committed(rows, 0)
        except Exception as error:
            self._sweeper.block()
            _logger.warning("compacting %s failed, it goes on after the next write: %s", self._file.path, error)
            refusal = f"{self._file.path} cannot be compacted: {error}"
            self._answer_wishes(lambda wish: StoreError(refusal))
        else:
            self._answer_wishes(lambda wish: wish.floor if wish.floor <= self._sweeper.swept else None)
        self._checkpoints.consider()

    def _raise_floor(self) -> None:
        floor = max([self._sweeper.due(self.revision), *(wish.floor for wish in self._wishes)])
        if floor > self._sweeper.floor:
            self._sweeper.raise_floor(floor)
            self._tell(self._audience.compacted, floor)

    def _answer_wishes(self, answer: Callable[[Compaction], int | StoreError | None]) -> None:
        if self._wishes:
            answers = [(wish, answer(wish)) for wish in self._wishes]
            self._wishes = [wish for wish, said in answers if said is None]
            self._tell(self._audience.answered, [(wish.future, said) for wish, said in answers if said is not None])
