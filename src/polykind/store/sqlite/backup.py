"""Backups of the embedded store: written while a server runs, verified, and restored while the server is stopped."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import apsw

from polykind.contract import StoreError
from polykind.store.sqlite.database_file import DatabaseFile
from polykind.store.sqlite.integrity import (
    DamagedStoreError,
    count_lost_commits,
    damaged_rows,
    rebuild_index,
    structure_problems,
)
from polykind.store.sqlite.write_log import WriteLog
from polykind.store.value_check import ValueCheck

_LOST_REVISIONS = 1_000_000_000
"""Added to the revision of a backup if the newest revision of the store that it replaces cannot be read."""
_SHOWN_ROWS = 20


class BackupError(StoreError):
    """A backup cannot be written or read. The message says what to do."""


class DatabaseSummary(NamedTuple):
    """The number of keys and the newest revision of a verified database file."""

    keys: int
    revision: int


def verify(path: Path) -> DatabaseSummary:
    """Verify the structure and all rows of a database file. Raise DamagedStoreError if a page or row is damaged."""
    connection = _open(path)
    try:
        problems = structure_problems(connection) or [
            f"the value of {row.key} at revision {row.revision}"
            for row, _ in zip(damaged_rows(connection), range(_SHOWN_ROWS), strict=False)
        ]
        if problems:
            raise DamagedStoreError(path, "; ".join(problems))
        log = WriteLog(connection)
        newest = log.bounds().newest
        return DatabaseSummary(log.count(newest), newest)
    except apsw.Error as error:
        raise DamagedStoreError(path, str(error)) from None
    finally:
        connection.close()


def find_damage(directory: Path, check: ValueCheck | None = None) -> Iterator[str]:
    """Yield one line for each damaged object or part of the database file in a data directory."""
    check = check or ValueCheck()
    file = DatabaseFile(directory)
    connection = _open(file.path)
    # Opening and closing the file must not change it. In particular, it must not remove a damaged WAL.
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    try:
        recovered = max(connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_NOOP)[0], 0)
        lost = count_lost_commits(file.wal, recovered)
        if lost > 1:
            yield f"{file.wal}: {lost} commits after frame {recovered} cannot be read"
        yield from (f"{file.path}: {problem}" for problem in structure_problems(connection))
        for row in damaged_rows(connection):
            yield f"{row.key}: the checksum of revision {row.revision} does not match"
        log = WriteLog(connection)
        for item in log.range("", "", 0, log.bounds().newest).items:
            if (problem := check.problem(item.key, item.value)) is not None:
                yield f"{item.key}: {problem}"
    except apsw.Error as error:
        yield f"{file.path}: {error}"
    finally:
        connection.close()


def repair(directory: Path) -> None:
    """Make a damaged store usable: keep the commits before the damage in the WAL, and rebuild the index.

    Raise StoreError if a server uses the store.
    """
    file = DatabaseFile(directory)
    file.lock()
    try:
        connection = file.connect(cache_kib=1024)
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        rebuild_index(connection)
        connection.close()
    except apsw.Error as error:
        raise BackupError(f"{file.path} cannot be repaired: {error}; restore a backup") from None
    finally:
        file.release()


def write_backup(directory: Path, target: Path) -> DatabaseSummary:
    """Write a verified backup of the store in `directory`. A server may use the store meanwhile.

    Raise BackupError if the target exists or cannot be written, DamagedStoreError if the store is damaged.
    """
    if target.exists():
        raise BackupError(f"{target} exists already: choose another file")
    partial = target.with_name(f"{target.name}.partial")
    source = _open(DatabaseFile(directory).path)
    try:
        os.close(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600))
        copy = apsw.Connection(str(partial))
        # One step copies all pages in one read transaction, so the copy is a consistent snapshot.
        with copy.backup("main", source, "main") as backup:
            backup.step(-1)
        copy.pragma("journal_mode", "delete")
        copy.close()
        summary = verify(partial)
        _sync(partial)
        partial.rename(target)
        _sync(target.parent)
        return summary
    except (OSError, apsw.Error) as error:
        raise BackupError(f"{target} cannot be written: {error}") from None
    finally:
        source.close()
        partial.unlink(missing_ok=True)


def install_backup(backup: Path, directory: Path) -> DatabaseSummary:
    """Replace the store of a stopped server by a backup. The old files get the suffix `.replaced`.

    The revision never goes back: it continues above the newest revision of the old store, and older revisions are
    treated as compacted. Raise StoreError if a server uses the store, DamagedStoreError if the backup is damaged.
    """
    summary = verify(backup)
    file = DatabaseFile(directory)
    try:
        file.claim()
        newest = _newest_revision(file.path, summary.revision)
        for path in (file.path, file.wal, file.path.with_name(f"{file.path.name}-shm")):
            if path.exists():
                path.rename(path.with_name(f"{path.name}.replaced"))
        descriptor = os.open(file.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as out, backup.open("rb") as data:
            while chunk := data.read(1 << 20):
                out.write(chunk)
            out.flush()
            os.fsync(out.fileno())
        connection = file.connect(cache_kib=256)
        connection.pragma("journal_mode", "wal")
        WriteLog(connection).set_floor(max(newest, summary.revision) + 1)
        connection.close()
        _sync(directory)
    except (OSError, apsw.Error) as error:
        raise BackupError(f"{file.path} cannot be replaced: {error}") from None
    finally:
        file.release()
    return summary


def _newest_revision(path: Path, otherwise: int) -> int:
    """Return the newest revision of the store to replace, or `otherwise` plus a large number if it is unreadable."""
    if not path.exists():
        return otherwise
    try:
        connection = _open(path)
        try:
            return WriteLog(connection).bounds().newest
        finally:
            connection.close()
    except (BackupError, apsw.Error):
        return otherwise + _LOST_REVISIONS


def _open(path: Path) -> apsw.Connection:
    if not path.exists():
        raise BackupError(f"{path} does not exist")
    try:
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
        connection.set_busy_timeout(10_000)
        connection.wal_autocheckpoint(0)
        connection.execute("SELECT count(*) FROM facts").fetchall()
    except apsw.Error as error:
        raise BackupError(f"{path} is not a database of Polykind: {error}") from None
    return connection


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
