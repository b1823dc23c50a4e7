"""WAL checkpoints in a background thread, so that writes do not wait for them."""

from __future__ import annotations

import logging
import threading

import apsw

from polykind.store.sqlite.database_file import PAGE_BYTES, DatabaseFile

_logger = logging.getLogger(__name__)

SOFT_LIMIT_PAGES = 16 * 1024 * 1024 // PAGE_BYTES
HARD_LIMIT_PAGES = 48 * 1024 * 1024 // PAGE_BYTES
MAX_PASSES = 4
ACCEPTABLE_REST_PAGES = 512 * 1024 // PAGE_BYTES
# As long as the estimated length of the WAL is below this number of pages, the length is not measured. Measuring
# releases the GIL, which is slow. The estimate is never too low.
MEASURE_AFTER_PAGES = SOFT_LIMIT_PAGES // 8
PAGES_PER_ROW = 3
IDLE_SECONDS = 1.0


class WALCheckpoints:
    """Checkpoints the WAL: copies its pages to the database file. The writer thread calls this after each commit.

    A background thread copies most pages while writes continue. Because of these writes, the WAL cannot restart. So the
    writer thread copies the last pages itself between two batches.
    """

    def __init__(self, file: DatabaseFile, writer: apsw.Connection) -> None:
        self._writer = writer
        self._connection = file.connect(cache_kib=64)
        self._thread: threading.Thread | None = None
        self._pass_finished = False
        self._pages = 0
        self._estimated_pages = 0
        self._next_pass_pages = SOFT_LIMIT_PAGES
        self.pending = True

    def committed(self, rows: int, size: int) -> None:
        """Record a transaction of `rows` rows and `size` bytes."""
        self.pending = True
        self._estimated_pages += PAGES_PER_ROW * (rows + 1) + size // PAGE_BYTES

    def checkpoint_if_due(self) -> None:
        """Checkpoint if the WAL is long enough. The writer thread calls this method between two transactions."""
        if self._estimated_pages >= MEASURE_AFTER_PAGES:
            self._measure()
        if self._pages < SOFT_LIMIT_PAGES:
            return
        if self._running():
            if self._pages < HARD_LIMIT_PAGES:
                return
            self._join()
        if self._pass_finished:
            self._pass_finished = False
            self._checkpoint(self._writer)
            self._measure()
        elif self._pages >= self._next_pass_pages:
            self._next_pass_pages = self._pages + SOFT_LIMIT_PAGES // 2
            self._start_pass()

    def _measure(self) -> None:
        """Measure the length of the WAL. If all its pages are copied, set it to 0, because SQLite restarts the WAL."""
        self._estimated_pages = 0
        pages, rest = self._length(self._writer)
        self._pages = pages if rest else 0
        if self._pages < SOFT_LIMIT_PAGES:
            self._next_pass_pages = SOFT_LIMIT_PAGES
            self._pass_finished = False

    def on_idle(self) -> None:
        """Start to copy pages in the background, unless this is already running."""
        if not self._running():
            self.pending = False
            self._estimated_pages = MEASURE_AFTER_PAGES
            self._start_pass()

    def close(self) -> None:
        self._join()
        self._connection.close()

    def _running(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def _start_pass(self) -> None:
        self._join()
        thread = threading.Thread(target=self._run_pass, name="polykind-checkpoint", daemon=True)
        try:
            thread.start()
            self._thread = thread
        except RuntimeError:
            # The process cannot start another thread. So copy the pages in this thread, although writes wait meanwhile.
            self._run_pass()

    def _join(self) -> None:
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _run_pass(self) -> None:
        for _ in range(MAX_PASSES):
            self._checkpoint(self._connection)
            if self._length(self._connection)[1] <= ACCEPTABLE_REST_PAGES:
                break
        self._pass_finished = True

    def _length(self, connection: apsw.Connection) -> tuple[int, int]:
        """Return the number of pages in the WAL, and of those not copied yet. While it is busy, return known values."""
        try:
            pages, copied = connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_NOOP)
        except apsw.BusyError:
            return self._pages, self._pages
        return pages, pages - copied

    def _checkpoint(self, connection: apsw.Connection) -> None:
        try:
            connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
        except apsw.BusyError:
            # A commit is changing the header of the WAL. The next checkpoint follows soon.
            pass
        except apsw.Error as error:
            # No data is at risk: the WAL contains all data and grows until a later checkpoint succeeds.
            _logger.warning(
                "sqlite store: WAL checkpoint failed, retrying later; free some space if the disk is full: %s", error
            )
