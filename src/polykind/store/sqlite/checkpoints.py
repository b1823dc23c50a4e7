"""Checkpoints: the write-ahead log copied into the database, off the path of the writes."""

from __future__ import annotations

import logging
import threading

import apsw

from polykind.store.sqlite.file import PAGE, DatabaseFile

_logger = logging.getLogger(__name__)

SOFT = 8 * 1024 * 1024 // PAGE
HARD = 48 * 1024 * 1024 // PAGE
IDLE_SECONDS = 1.0


class Checkpoints:
    """Called by the writer thread after each commit, and when it has nothing to do.

    A pass in another thread copies the bulk while writes go on; those that came meanwhile keep the log from
    starting over, so the writer copies that short rest itself between two batches.
    """

    def __init__(self, file: DatabaseFile, writer: apsw.Connection) -> None:
        self._writer = writer
        self._connection = file.connect(cache_kib=64)
        self._thread: threading.Thread | None = None
        self._passed = False
        self._next = SOFT
        self.pages = 0
        writer.set_wal_hook(self._committed)

    def _committed(self, connection: apsw.Connection, name: str, pages: int) -> int:
        self.pages = pages
        return apsw.SQLITE_OK

    def after_commit(self) -> None:
        if self.pages < SOFT:
            self._next = SOFT
            self._passed = False
            return
        if self._running():
            if self.pages < HARD:
                return
            self._join()
        if self._passed:
            self._passed = False
            self._copy(self._writer)
        elif self.pages >= self._next:
            # A long read can keep a pass from finishing: the next one waits until it is worth it.
            self._next = self.pages + SOFT // 2
            self._begin()

    def when_idle(self) -> None:
        if not self._running():
            self.pages = 0
            self._begin()

    def close(self) -> None:
        self._join()
        self._writer.set_wal_hook(None)
        self._connection.close()

    def _running(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def _begin(self) -> None:
        self._join()
        self._thread = threading.Thread(target=self._pass, name="polykind-checkpoint", daemon=True)
        self._thread.start()

    def _join(self) -> None:
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _pass(self) -> None:
        self._copy(self._connection)
        self._passed = True

    def _copy(self, connection: apsw.Connection) -> None:
        try:
            connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
        except apsw.Error as error:
            # The write-ahead log still has everything; only its size suffers until a later pass succeeds.
            _logger.warning("checkpoint failed, free some disk space if it is full: %s", error)
