"""The writer: one thread that commits whatever is waiting in one transaction, and sweeps between batches."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from contextlib import ExitStack
from queue import Empty, SimpleQueue
from typing import NamedTuple

import apsw

from polykind.contract import KeyValue, RevisionConflictError, StoreError, StoreEvent
from polykind.store.sqlite.checkpoints import IDLE_SECONDS, Checkpoints
from polykind.store.sqlite.file import DatabaseFile
from polykind.store.sqlite.log import Bounds, Log, Row
from polykind.store.sqlite.readers import Readers
from polykind.store.sqlite.sweeper import ROWS_BUSY, ROWS_IDLE, Sweeper

_logger = logging.getLogger(__name__)

MOST_WRITES = 512
MOST_BYTES = 8 * 1024 * 1024
CACHE_KIB = 1024
# Writers that have just been answered come back at once, if they do: a larger step waits until they have not.
SWEEP_SECONDS = 0.002

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


Request = list[Write] | Compaction | Stop


class Audience(NamedTuple):
    """Whom the writer tells; each is called on the event loop."""

    opened: Callable[[Bounds | StoreError], None]
    committed: Callable[[list[StoreEvent], int, Answers], None]
    compacted: Callable[[int], None]
    answered: Callable[[Answers], None]
    ended: Callable[[], None]


class Writer:
    """The thread that opens the file, writes to it and, when told to stop, closes it after the last reader.

    `start` and `submit` are for the event loop's thread, everything else is for its own.
    """

    _log: Log
    _checkpoints: Checkpoints
    _sweeper: Sweeper

    def __init__(
        self, file: DatabaseFile, readers: Readers, loop: asyncio.AbstractEventLoop, audience: Audience, keep: int
    ) -> None:
        self._file = file
        self._readers = readers
        self._loop = loop
        self._audience = audience
        self._keep = keep
        self._queue: SimpleQueue[Request] = SimpleQueue()
        self.submit = self._queue.put
        self._wishes: list[Compaction] = []
        self._stopping = False
        self._revision = 0

    def start(self) -> None:
        threading.Thread(target=self._run, name="polykind-write", daemon=True).start()

    def _run(self) -> None:
        # Closed in the reverse order of this: readers, checkpoints, the log, the lock; then whoever waits is told.
        with ExitStack() as stack:
            stack.callback(self._tell, self._audience.ended)
            stack.callback(self._file.release)
            try:
                bounds = self._open(stack)
            except (StoreError, apsw.Error) as error:
                refusal = f"{self._file.path} cannot be opened: {error}"
                self._tell(self._audience.opened, error if isinstance(error, StoreError) else StoreError(refusal))
                return
            self._tell(self._audience.opened, bounds)
            while not self._stopping:
                batch = self._take()
                if batch:
                    self._commit(batch)
                self._tidy(len(batch))
            # What is left to sweep is swept after the next start; the floor holds already.
            self._answer_wishes(lambda wish: wish.floor)

    def _open(self, stack: ExitStack) -> Bounds:
        self._file.claim()
        self._log = Log(self._file.connect(cache_kib=CACHE_KIB))
        stack.callback(self._log.close)
        self._checkpoints = Checkpoints(self._file, self._log.connection)
        stack.callback(self._checkpoints.close)
        stack.callback(self._readers.close)
        self._sweeper = Sweeper(self._log, self._keep)
        bounds = self._log.bounds()
        self._revision = bounds.newest
        return bounds

    def _tell(self, whom: Callable[..., None], *what: object) -> None:
        try:
            self._loop.call_soon_threadsafe(whom, *what)
        except RuntimeError:
            if not self._loop.is_closed():
                raise
            # The event loop ended without closing its store: nobody is left to tell, what was written stays.
            self._stopping = True

    def _take(self) -> list[Write]:
        """What waits, up to a transaction's worth. Sleeps only while there is nothing else to do."""
        batch: list[Write] = []
        size = 0
        request = self._first()
        while request is not None:
            if isinstance(request, list):
                batch += request
                size += sum(len(write.value or b"") for write in request)
                if len(batch) >= MOST_WRITES or size >= MOST_BYTES:
                    break
            elif isinstance(request, Compaction):
                self._wishes.append(request)
            else:
                self._stopping = True
            request = None if self._queue.empty() else self._queue.get()
        return batch

    def _first(self) -> Request | None:
        sweeping = self._sweeper.pending
        idle = IDLE_SECONDS if self._checkpoints.waiting else None
        try:
            return self._queue.get(timeout=SWEEP_SECONDS if sweeping else idle)
        except Empty:
            if not sweeping:
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
        self._revision += len(rows)
        self._tell(
            self._audience.committed, [StoreEvent(row[1], row[4], row[0]) for row in rows], self._revision, answers
        )
        if rows:
            self._sweeper.unblock()
            self._checkpoints.committed(len(rows), sum(len(row[4] or b"") for row in rows))

    def _judge(self, batch: list[Write]) -> tuple[list[Row], Answers]:
        """Which writes may be, in order, each seeing those before it. Nobody else writes: what is read here holds."""
        rows: list[Row] = []
        answers: Answers = []
        written: dict[str, KeyValue | None] = {}
        revision = self._revision
        for (key, value, expect, future), stored in zip(batch, self._log.latest([w.key for w in batch]), strict=True):
            now = written.get(key)
            held = stored if key not in written else now.revision if now else 0
            if (expect is not None and expect != held) or (value is None and not held):
                if held and now is None:
                    now = KeyValue(key, self._log.value(held), held)
                answers.append((future, RevisionConflictError(key, now)))
                continue
            revision += 1
            rows.append((revision, key, held, value is None, value))
            written[key] = None if value is None else KeyValue(key, value, revision)
            answers.append((future, revision))
        return rows, answers

    def _tidy(self, written: int) -> None:
        """A little of the work that keeps the files small; more of it the more was written, so that it keeps up."""
        try:
            self._raise_floor()
            if self._sweeper.pending:
                rows = max(ROWS_BUSY, 2 * written) if written else ROWS_IDLE
                self._checkpoints.committed(rows, self._sweeper.step(rows))
            self._checkpoints.consider()
        except Exception as error:
            self._sweeper.block()
            _logger.warning("compacting %s failed, it goes on after the next write: %s", self._file.path, error)
            refusal = f"{self._file.path} cannot be compacted: {error}"
            self._answer_wishes(lambda wish: StoreError(refusal))
        else:
            self._answer_wishes(lambda wish: wish.floor if wish.floor <= self._sweeper.swept else None)

    def _raise_floor(self) -> None:
        floor = max([self._sweeper.due(self._revision), *(wish.floor for wish in self._wishes)])
        if floor > self._sweeper.floor:
            self._sweeper.raise_floor(floor)
            self._tell(self._audience.compacted, floor)

    def _answer_wishes(self, answer: Callable[[Compaction], int | StoreError | None]) -> None:
        if self._wishes:
            answers = [(wish, answer(wish)) for wish in self._wishes]
            self._wishes = [wish for wish, said in answers if said is None]
            self._tell(self._audience.answered, [(wish.future, said) for wish, said in answers if said is not None])
