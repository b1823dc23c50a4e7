"""The compactor: deletes rows below the compacted revision in small steps."""

from __future__ import annotations

from polykind.store.sqlite.database_file import PAGE_BYTES
from polykind.store.sqlite.write_log import WriteLog

IDLE_STEP_ROWS = 500
BUSY_STEP_ROWS = 128
MAX_STEP_BYTES = 4 * 1024 * 1024
VACUUM_STEP_PAGES = 64
MIN_FREE_PAGES = 32 * 1024 * 1024 // PAGE_BYTES


class Compactor:
    """Deletes compacted rows. The writer thread calls it between batches.

    Later writes reuse freed pages. Only when free pages exceed half of the file and 32 MB are they returned to the file
    system, so that a store in steady use never pays for moving pages.
    """

    def __init__(self, log: WriteLog, keep: int) -> None:
        self._log = log
        self._keep = keep
        self.floor = log.bounds().floor
        """The compacted revision: older revisions cannot be read."""
        self.swept = log.swept()
        """Rows up to this revision have been processed. At most `floor`."""
        self._vacuuming = False
        self._blocked = False

    @property
    def pending(self) -> bool:
        return not self._blocked and (self.swept < self.floor or self._vacuuming)

    def automatic_floor(self, revision: int) -> int:
        """Return a new floor if more than twice `keep` revisions exist, so that `keep` remain. Return 0 if not."""
        return revision - self._keep if revision - self.floor > 2 * self._keep else 0

    def raise_floor(self, floor: int) -> None:
        """Commit the new floor before deleting rows, so that a crash leaves no partially readable revision."""
        self._log.begin()
        self._log.set_floor(floor)
        self._log.commit()
        self.floor = floor

    def step(self, rows: int) -> int:
        """Run one short transaction and return roughly how many bytes it freed."""
        freed = 0
        self._log.begin()
        if self.swept < self.floor:
            reached, freed = self._log.sweep(self.swept, self.floor, rows, MAX_STEP_BYTES)
            self._log.commit()
            self.swept = reached
            self._vacuuming = reached == self.floor
        else:
            free, pages = self._log.free_pages()
            self._vacuuming = free > MIN_FREE_PAGES and free * 2 > pages
            if self._vacuuming:
                self._log.vacuum(VACUUM_STEP_PAGES)
                freed = VACUUM_STEP_PAGES * PAGE_BYTES
            self._log.commit()
        return freed

    def block(self) -> None:
        """Stop after a failed step (the disk may be full) until a write has succeeded."""
        self._log.rollback()
        self._blocked = True

    def unblock(self) -> None:
        self._blocked = False
