"""A checkpoint: everything that a server had stored at one moment, kept as a file to begin again from."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import apsw

from polykind.store.sqlite.database_file import DatabaseFile
from polykind.store.sqlite.write_log import WriteLog

DATABASE = "polykind.db"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What was stored, to the byte: the same uids, resourceVersions and history."""

    file: Path

    def copy_to(self, folder: Path) -> None:
        """Put it into the data directory of a server that has never been started."""
        shutil.copyfile(self.file, folder / DATABASE)

    def restore(self, folder: Path) -> None:
        """Put it into the data directory of a server that has stopped, instead of what is there.

        Revisions go on from where they were, and what came before cannot be read: a client that comes back with a
        resourceVersion of what has been undone is told 410 Gone, and never that nothing has happened since.
        """
        reached = _newest_revision(folder)
        for name in (DATABASE, f"{DATABASE}-wal", f"{DATABASE}-shm"):
            (folder / name).unlink(missing_ok=True)
        self.copy_to(folder)
        log = _open_log(folder)
        try:
            log.set_floor(reached + 1)
        finally:
            log.close()


def take_checkpoint(folder: Path, file: Path) -> Checkpoint:
    """A checkpoint of a data directory; a server may be at work on it."""
    source = apsw.Connection(str(folder / DATABASE), flags=apsw.SQLITE_OPEN_READWRITE)
    target = apsw.Connection(str(file))
    try:
        with target.backup("main", source, "main") as backup:
            # All pages in one step: of one moment, whatever is written meanwhile.
            backup.step()
    finally:
        target.close()
        source.close()
    return Checkpoint(file)


def _newest_revision(folder: Path) -> int:
    log = _open_log(folder)
    try:
        return log.bounds().newest
    finally:
        log.close()


def _open_log(folder: Path) -> WriteLog:
    return WriteLog(DatabaseFile(folder).connect(cache_kib=256))
