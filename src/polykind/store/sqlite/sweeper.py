"""The sweeper: removes what no reader can ask for any more, a little at a time."""

from __future__ import annotations

from polykind.store.sqlite.file import PAGE
from polykind.store.sqlite.log import Log

ROWS_IDLE = 500
ROWS_BUSY = 128
BYTES = 4 * 1024 * 1024
PAGES = 64
SPARE = 32 * 1024 * 1024 // PAGE


class Sweeper:
    """Knows the floor and how far the log has been swept up to it; used by the writer thread between batches.

    Freed pages are reused by later writes. Only when they are more than half of the file and more than 32 MB are
    they given back to the file system: a store in steady use then never pays for moving pages about.
    """

    def __init__(self, log: Log, keep: int) -> None:
        self._log = log
        self._keep = keep
        self.floor = log.bounds().floor
        self.swept = log.swept()
        self._shrinking = False
        self._blocked = False

    @property
    def pending(self) -> bool:
        return not self._blocked and (self.swept < self.floor or self._shrinking)

    def due(self, revision: int) -> int:
        """The floor that the bound of the history asks for, 0 if none: `keep` revisions stay, at most twice that."""
        return revision - self._keep if revision - self.floor > 2 * self._keep else 0

    def raise_floor(self, floor: int) -> None:
        """Make the new floor durable before anything goes, so that a crash between leaves nothing half readable."""
        self._log.begin()
        self._log.set_floor(floor)
        self._log.commit()
        self.floor = floor

    def step(self, rows: int) -> int:
        """One short transaction of work; about how many bytes it freed."""
        freed = 0
        self._log.begin()
        if self.swept < self.floor:
            reached, freed = self._log.sweep(self.swept, self.floor, rows, BYTES)
            self._log.commit()
            self.swept = reached
            self._shrinking = reached == self.floor
        else:
            free, pages = self._log.free_pages()
            self._shrinking = free > SPARE and free * 2 > pages
            if self._shrinking:
                self._log.give_back(PAGES)
                freed = PAGES * PAGE
            self._log.commit()
        return freed

    def block(self) -> None:
        """A step failed (the disk may be full): wait until a write has succeeded again."""
        self._log.rollback()
        self._blocked = True

    def unblock(self) -> None:
        self._blocked = False
