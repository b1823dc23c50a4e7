"""The writer thread: group commit of waiting writes, and compaction between batches."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import NamedTuple

import apsw

from polykind.contract import (
    KeyValue,
    RevisionConflictError,
    StoreError,
    StoreEvent,
    UnavailableError,
    UnknownOutcomeError,
)
from polykind.store.sqlite.database_file import DatabaseFile
from polykind.store.sqlite.integrity import check_file
from polykind.store.sqlite.reader_pool import ReaderPool
from polykind.store.sqlite.wal_checkpoints import IDLE_SECONDS, WALCheckpoints
from polykind.store.sqlite.write_log import BUSY_STEP_ROWS, IDLE_STEP_ROWS, Bounds, Compactor, Row, WriteLog, log_row

_logger = logging.getLogger(__name__)

MAX_BATCH_WRITES = 512
MAX_BATCH_BYTES = 8 * 1024 * 1024
CACHE_KIB = 1024
# Seconds to wait before a larger compaction step. Clients whose writes were just committed often write again at once.
COMPACTION_DELAY_SECONDS = 0.002
_COARSE_CLOCK_NS = 50_000_000
PROBE_SECONDS = 1.0
"""Seconds between two test writes after a failed write. So the store recovers even if no client writes."""

Results = list[tuple["asyncio.Future[int]", int | StoreError]]
"""The results of writes: the future of each write, with its new revision or an error."""


class Write(NamedTuple):
    """A pending write. A value of None deletes the key. `second` is a value to write at the next revision."""

    key: str
    value: bytes | None
    expect: int | None
    future: asyncio.Future[int]
    second: bytes | None = None


class Compaction(NamedTuple):
    """A pending compaction up to `floor`. Its future is resolved when all unneeded rows are deleted."""

    floor: int
    future: asyncio.Future[int]


class Stop(NamedTuple):
    """A request to stop the writer thread after all requests that were queued before."""


WriterRequest = list[Write] | Compaction | Stop


class WriterCallbacks(NamedTuple):
    """Functions that the writer calls on the event loop."""

    on_opened: Callable[[Bounds | StoreError], None]
    on_committed: Callable[[list[StoreEvent], int, Results], None]
    on_compacted: Callable[[int], None]
    on_results: Callable[[Results], None]
    on_stopped: Callable[[], None]


class Writer:
    """Opens the database file, writes to it, and closes it when all readers have ended.

    `start` and `submit` are called on the event loop, all other methods in the writer thread.
    """

    _log: WriteLog
    _checkpoints: WALCheckpoints
    _compactor: Compactor

    def __init__(
        self,
        file: DatabaseFile,
        readers: ReaderPool,
        loop: asyncio.AbstractEventLoop,
        callbacks: WriterCallbacks,
        keep: int,
        on_commit: Callable[[float, int], None],
    ) -> None:
        """`on_commit` is called in the writer thread with the duration of each commit and the number of its writes."""
        self._on_commit = on_commit
        self._file = file
        self._readers = readers
        self._loop = loop
        self._callbacks = callbacks
        self._keep = keep
        self._queue: SimpleQueue[WriterRequest] = SimpleQueue()
        self.submit = self._queue.put
        self._compactions: list[Compaction] = []
        self._stopping = False
        self._revision = 0
        self._identities: dict[Path, tuple[int, int]] = {}
        """The device and inode number of each open file."""
        self._directory = str(file.path.parent)
        self._directory_time = 0
        """The modification time of the directory when the presence of the files was last checked."""
        self.problem = ""
        """The reason why the last write failed; "" if it succeeded. Also read on the event loop."""

    def start(self) -> None:
        threading.Thread(target=self._run, name="polykind-write", daemon=True).start()

    def _run(self) -> None:
        # At the end, the stack closes readers, checkpoints, log and lock, in this order, and then calls on_stopped.
        with ExitStack() as stack:
            stack.callback(self._call_on_loop, self._callbacks.on_stopped)
            stack.callback(self._file.release)
            try:
                bounds = self._open(stack)
            except (StoreError, apsw.Error) as error:
                message = f"{self._file.path} cannot be opened: {error}"
                self._call_on_loop(
                    self._callbacks.on_opened, error if isinstance(error, StoreError) else StoreError(message)
                )
                return
            self._call_on_loop(self._callbacks.on_opened, bounds)
            while not self._stopping:
                batch = self._take_batch()
                if batch:
                    self._commit(batch)
                self._maintain(len(batch))
            # The new floor is durable, so the remaining rows can also be deleted after the next start.
            self._resolve_compactions(lambda compaction: compaction.floor)

    def _open(self, stack: ExitStack) -> Bounds:
        self._file.lock()
        self._log = WriteLog(self._file.connect(cache_kib=CACHE_KIB))
        stack.callback(self._log.close)
        check_file(self._file, self._log.connection)
        self._checkpoints = WALCheckpoints(self._file, self._log.connection)
        stack.callback(self._checkpoints.close)
        stack.callback(self._readers.close)
        self._compactor = Compactor(self._log, self._keep)
        self._identities = {path: _identity(path) for path in (self._file.path, self._file.wal)}
        bounds = self._log.bounds()
        self._revision = bounds.newest
        return bounds

    def _call_on_loop(self, callback: Callable[..., None], *args: object) -> None:
        try:
            self._loop.call_soon_threadsafe(callback, *args)
        except RuntimeError:
            if not self._loop.is_closed():
                raise
            # The event loop ended without closing its store. Stop the thread; committed writes are safe.
            self._stopping = True

    def _take_batch(self) -> list[Write]:
        """Return waiting writes, as many as fit into one transaction. Wait only if there is no other work."""
        batch: list[Write] = []
        size = 0
        request = self._wait_for_request()
        while request is not None:
            if isinstance(request, list):
                batch += request
                size += sum(len(write.value or b"") + len(write.second or b"") for write in request)
                if len(batch) >= MAX_BATCH_WRITES or size >= MAX_BATCH_BYTES:
                    break
            elif isinstance(request, Compaction):
                self._compactions.append(request)
            else:
                self._stopping = True
            request = None if self._queue.empty() else self._queue.get()
        return batch

    def _wait_for_request(self) -> WriterRequest | None:
        compacting = self._compactor.pending
        idle = IDLE_SECONDS if self._checkpoints.pending else None
        if self.problem:
            compacting, idle = False, PROBE_SECONDS
        try:
            return self._queue.get(timeout=COMPACTION_DELAY_SECONDS if compacting else idle)
        except Empty:
            if self.problem:
                self._probe()
            elif not compacting:
                self._checkpoints.on_idle()
            return None

    def _commit(self, batch: list[Write]) -> None:
        try:
            rows, results = self._check(batch)
            if rows:
                if self.problem:
                    self._check_file(UnavailableError)
                started = time.perf_counter()
                self._log.append(rows)
                self._on_commit(time.perf_counter() - started, len(rows))
        except Exception as error:
            self._log.rollback()
            failure = self._failure(error)
            self._call_on_loop(self._callbacks.on_results, [(write.future, failure) for write in batch])
            return
        try:
            if self._directory_changed():
                self._check_file(UnknownOutcomeError)
            self._recovered()
        except UnknownOutcomeError as error:
            # The rows are in the open file, so readers see them. But the next start may not find this file.
            failure = self._failure(error)
            results = [(future, failure if isinstance(result, int) else result) for future, result in results]
        self._revision += len(rows)
        self._call_on_loop(
            self._callbacks.on_committed, [StoreEvent(row[1], row[4], row[0]) for row in rows], self._revision, results
        )
        if rows:
            self._compactor.unblock()
            self._checkpoints.committed(len(rows), sum(len(row[4] or b"") for row in rows))

    def _check_file(self, error_type: type[UnavailableError]) -> None:
        if replaced := self.replaced():
            raise error_type(f"{replaced} was deleted or replaced while the server was running; restart the server")

    def _directory_changed(self) -> bool:
        """True if a file of the directory may have been created, deleted or renamed since the last call.

        This costs one system call for each batch. More calls would slow down commits, because each releases the GIL.
        """
        try:
            changed = os.stat(self._directory).st_mtime_ns
        except OSError:
            return True
        if changed == self._directory_time:
            return False
        # The kernel's clock is coarse, so a second change shortly after the first one can have the same time.
        if time.time_ns() - changed > _COARSE_CLOCK_NS:
            self._directory_time = changed
        return True

    def replaced(self) -> str:
        """Return the path of a database file that was deleted or replaced since the start, or "" if all files are in
        place.

        SQLite does not notice such a change: it continues with the open file, which no later start can find.
        """
        for path, identity in self._identities.items():
            if _identity(path) != identity:
                return str(path)
        return ""

    def _failure(self, error: Exception) -> UnavailableError:
        """Return the error for clients. Log it if it is the first failure of a series."""
        path = self._file.path
        if isinstance(error, UnavailableError):
            failure = error
        elif isinstance(error, apsw.FullError):
            failure = UnavailableError(f"{path} cannot be written: no space is left on the disk; free some space")
        elif isinstance(error, apsw.IOError) and getattr(error, "extendedresult", 0) == apsw.SQLITE_IOERR_FSYNC:
            # A failed sync may leave a complete commit in the file, which a restart would then find.
            failure = UnknownOutcomeError(
                f"{path} cannot be written: {error}; it is unknown whether the write is stored, so read it again"
            )
        else:
            failure = UnavailableError(f"{path} cannot be written: {error}")
        if not self.problem:
            _logger.error("sqlite store: a write failed, rejecting writes until one succeeds: %s", failure)
        self.problem = str(failure)
        return failure

    def _recovered(self) -> None:
        if self.problem:
            _logger.info("sqlite store: writes to %s succeed again", self._file.path)
            self.problem = ""

    def _probe(self) -> None:
        """Commit a transaction that changes no data, to test if writes succeed again."""
        try:
            self._check_file(UnavailableError)
            self._log.probe()
            self._check_file(UnavailableError)
        except Exception as error:
            self._log.rollback()
            self._failure(error)
        else:
            self._recovered()

    def _check(self, batch: list[Write]) -> tuple[list[Row], Results]:
        """Check the expected revisions of the writes in order, each as if the earlier writes were committed.

        Return the rows to append and the results. Only this thread writes, so that revisions cannot change meanwhile.
        """
        rows: list[Row] = []
        results: Results = []
        written: dict[str, KeyValue | None] = {}
        revision = self._revision
        latest = self._log.latest([write.key for write in batch])
        for (key, value, expect, future, second), stored in zip(batch, latest, strict=True):
            pending = written.get(key)
            current = stored if key not in written else pending.revision if pending else 0
            if (expect is not None and expect != current) or (value is None and not current):
                if current and pending is None:
                    pending = KeyValue(key, self._log.value(current), current)
                results.append((future, RevisionConflictError(key, pending)))
                continue
            revision += 1
            rows.append(log_row(revision, key, current, value))
            written[key] = None if value is None else KeyValue(key, value, revision)
            results.append((future, revision))
            if second is not None:
                revision += 1
                rows.append(log_row(revision, key, revision - 1, second))
                written[key] = KeyValue(key, second, revision)
        return rows, results

    def _maintain(self, written: int) -> None:
        """Run one step of compaction and of checkpoints. It is larger after a larger batch, to keep up."""
        try:
            self._raise_floor()
            if self._compactor.pending:
                rows = max(BUSY_STEP_ROWS, 2 * written) if written else IDLE_STEP_ROWS
                self._checkpoints.committed(rows, self._compactor.step(rows))
            self._checkpoints.checkpoint_if_due()
        except Exception as error:
            self._compactor.block()
            _logger.warning(
                "sqlite store: cannot compact %s, retrying after the next write: %s", self._file.path, error
            )
            message = f"{self._file.path} cannot be compacted: {error}"
            self._resolve_compactions(lambda compaction: StoreError(message))
        else:
            self._resolve_compactions(
                lambda compaction: compaction.floor if compaction.floor <= self._compactor.swept else None
            )

    def _raise_floor(self) -> None:
        floor = max(
            [self._compactor.automatic_floor(self._revision), *(compaction.floor for compaction in self._compactions)]
        )
        if floor > self._compactor.floor:
            self._compactor.raise_floor(floor)
            self._call_on_loop(self._callbacks.on_compacted, floor)

    def _resolve_compactions(self, outcome: Callable[[Compaction], int | StoreError | None]) -> None:
        if self._compactions:
            results = [(compaction, outcome(compaction)) for compaction in self._compactions]
            self._compactions = [compaction for compaction, result in results if result is None]
            self._call_on_loop(
                self._callbacks.on_results,
                [(compaction.future, result) for compaction, result in results if result is not None],
            )


def _identity(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except OSError:
        return (0, 0)
    return status.st_dev, status.st_ino
