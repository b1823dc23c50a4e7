"""A checkpoint: a copy of everything that a server has stored."""

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
    """A copy of a server's database, with the same uids, resourceVersions and history."""

    file: Path

    def copy_to(self, folder: Path) -> None:
        """Copy the checkpoint into the data directory of a server that has never started."""
        shutil.copyfile(self.file, folder / DATABASE)

    def restore(self, folder: Path) -> None:
        """Replace the data of a stopped server by the checkpoint.

        New revisions start after the newest revision that the server had reached, and all earlier revisions are
        compacted. Therefore a client with a resourceVersion from after the checkpoint receives 410 Gone and lists
        again. Without this, the client would miss changes.
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
    """Copy the database in the data directory `folder` to `file`. A server may use the database at the same time."""
    source = apsw.Connection(str(folder / DATABASE), flags=apsw.SQLITE_OPEN_READWRITE)
    target = apsw.Connection(str(file))
    try:
        with target.backup("main", source, "main") as backup:
            # Copy all pages in one step, so that the copy is consistent.
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
