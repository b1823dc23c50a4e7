"""Checkpoints: the write-ahead log copied into the database, off the path of the writes."""

from __future__ import annotations

import logging
import threading

import apsw

from polykind.store.sqlite.file import PAGE, DatabaseFile

_logger = logging.getLogger(__name__)

SOFT = 16 * 1024 * 1024 // PAGE
HARD = 48 * 1024 * 1024 // PAGE
PASSES = 4
REST = 512 * 1024 // PAGE
# Asking for the length costs a hand-over of the interpreter lock, so it is guessed (high) until it may matter.
LOOK = SOFT // 8
PAGES_EACH = 3
IDLE_SECONDS = 1.0


class Checkpoints:
    """Called by the writer thread after each commit, and when it has nothing to do.

    Passes in another thread copy the bulk while writes go on; those that came meanwhile keep the log from starting
    over, so the writer copies that short rest itself between two batches.
    """

    def __init__(self, file: DatabaseFile, writer: apsw.Connection) -> None:
        self._writer = writer
        self._connection = file.connect(cache_kib=64)
        self._thread: threading.Thread | None = None
        self._passed = False
        self._pages = 0
        self._guess = 0
        self._next = SOFT
        self.waiting = True

    def committed(self, rows: int, size: int) -> None:
        """A transaction of so many rows and bytes has been added to the log."""
        self.waiting = True
        self._guess += PAGES_EACH * (rows + 1) + size // PAGE

    def consider(self) -> None:
        """Copy if the log has grown enough; called between two transactions."""
        if self._guess >= LOOK:
            self._look()
        if self._pages < SOFT:
            return
        if self._running():
            if self._pages < HARD:
                return
            self._join()
        if self._passed:
            self._passed = False
            self._copy(self._writer)
            self._look()
        elif self._pages >= self._next:
            self._next = self._pages + SOFT // 2
            self._begin()

    def _look(self) -> None:
        """How long the log is; it starts over by itself when all of it has been copied."""
        self._guess = 0
        pages, rest = self._length(self._writer)
        self._pages = pages if rest else 0
        if self._pages < SOFT:
            self._next = SOFT
            self._passed = False

    def when_idle(self) -> None:
        if not self._running():
            self.waiting = False
            self._guess = LOOK
            self._begin()

    def close(self) -> None:
        self._join()
        self._connection.close()

    def _running(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def _begin(self) -> None:
        self._join()
        thread = threading.Thread(target=self._pass, name="polykind-checkpoint", daemon=True)
        try:
            thread.start()
            self._thread = thread
        except RuntimeError:
            # No more threads are to be had; the write that waits meanwhile is the lesser harm.
            self._pass()

    def _join(self) -> None:
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _pass(self) -> None:
        for _ in range(PASSES):
            self._copy(self._connection)
            if self._length(self._connection)[1] <= REST:
                break
        self._passed = True

    def _length(self, connection: apsw.Connection) -> tuple[int, int]:
        """Pages of the log, and how many are still to be copied; what was last seen if it is just changing."""
        try:
            pages, copied = connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_NOOP)
        except apsw.BusyError:
            return self._pages, self._pages
        return pages, pages - copied

    def _copy(self, connection: apsw.Connection) -> None:
        try:
            connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
        except apsw.BusyError:
            # A commit was changing the log's header at that moment; the next pass comes soon.
            pass
        except apsw.Error as error:
            # The write-ahead log still has everything; only its size suffers until a later pass succeeds.
            _logger.warning("checkpoint failed, free some disk space if it is full: %s", error)
