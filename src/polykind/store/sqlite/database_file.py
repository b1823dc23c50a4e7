"""The SQLite database file: private permissions, an exclusive lock, its format, and settings for durable commits."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import apsw

from polykind.contract import StoreError

PAGE_BYTES = 8 * 1024
"""The page size. With SQLite's default of 4 KB, fewer objects would share a page. With 16 KB, each commit of keys in
random order would write half as much again."""

WAL_FILE_BYTES = 32 * 1024 * 1024
"""The size to which the WAL file is truncated at its restart. Overwriting bytes syncs faster than growing a file."""

_FORMAT_VERSION = 2
_APPLICATION_ID = 0x504B4E44

CREATE_INDEX = "CREATE INDEX names ON log (key, revision, deleted)"

# One row per write: `previous` is the replaced revision (0: the key was absent). The index finds all rows of a key, so
# a read at any revision is one index scan. `value` is the last column, so that scans of keys and revisions do not read
# the overflow pages of large values; only the checksum follows, which is read with the value. `floor` is the compacted
# revision, `swept` how far its rows have been deleted. Rows above `unchecked` must have a checksum.
_TABLES = f"""
CREATE TABLE log (revision INTEGER PRIMARY KEY, key TEXT NOT NULL, previous INTEGER NOT NULL,
                  deleted INTEGER NOT NULL, value BLOB, checksum INTEGER);
{CREATE_INDEX};
CREATE TABLE facts (name TEXT PRIMARY KEY, number INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO facts VALUES ('floor', 0), ('swept', 0), ('unchecked', 0);
"""  # noqa: S608
_FROM_FORMAT_1 = """
ALTER TABLE log ADD COLUMN checksum INTEGER;
INSERT INTO facts VALUES ('unchecked', (SELECT coalesce(max(revision), 0) FROM log));
"""
"""The upgrade from format 1, whose rows have no checksum. Every row that is written later has one."""


class DatabaseFile:
    """The database file in its directory, and the lock file that protects it."""

    def __init__(self, directory: Path, *, durable: bool = True) -> None:
        """If `durable` is false, commits do not wait for the disk, and a crash of the machine may damage the file."""
        self._synchronous = "FULL" if durable else "OFF"
        self.path = directory / "polykind.db"
        self.wal = directory / "polykind.db-wal"
        self._lock_path = directory / "polykind.lock"
        self._lock_fd = -1

    def lock(self) -> None:
        """Take the lock and create missing files. Raise StoreError if another process has the lock."""
        self.claim()
        try:
            self._create_files()
        except (OSError, apsw.Error) as error:
            raise StoreError(f"{self.path} cannot be opened: {error}") from error

    def claim(self) -> None:
        """Take the lock without creating files. Raise StoreError if another process has the lock."""
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._lock_fd = os.open(self._lock_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(self._lock_fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StoreError(
                f"{self.path} is in use by another store: stop the process that holds {self._lock_path}, "
                "or choose another data directory"
            ) from None
        except OSError as error:
            raise StoreError(f"{self.path} cannot be opened: {error}") from error

    def release(self) -> None:
        """Release the lock. Do nothing if the lock is not held."""
        if self._lock_fd >= 0:
            os.close(self._lock_fd)
            self._lock_fd = -1

    def connect(self, *, cache_kib: int) -> apsw.Connection:
        """Open a connection without automatic checkpoints."""
        connection = apsw.Connection(str(self.path), flags=apsw.SQLITE_OPEN_READWRITE, statementcachesize=32)
        connection.set_busy_timeout(10_000)
        connection.execute(
            f"PRAGMA synchronous = {self._synchronous}; PRAGMA cache_size = -{cache_kib}; PRAGMA mmap_size = 0; "
            f"PRAGMA temp_store = MEMORY; PRAGMA journal_size_limit = {WAL_FILE_BYTES}"
        )
        connection.wal_autocheckpoint(0)
        return connection

    def _create_files(self) -> None:
        # SQLite creates its -wal and -shm files with the database file's mode.
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        os.fchmod(descriptor, 0o600)
        os.close(descriptor)
        parent = os.open(self.path.parent, os.O_RDONLY | os.O_CLOEXEC)
        os.fsync(parent)
        os.close(parent)
        connection = self.connect(cache_kib=256)
        # Closing must not checkpoint a damaged WAL, because that would discard the commits after the damage.
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        try:
            self._create_tables(connection)
        finally:
            connection.close()

    def _create_tables(self, connection: apsw.Connection) -> None:
        application, version = connection.pragma("application_id"), connection.pragma("user_version")
        if (application, version) == (_APPLICATION_ID, _FORMAT_VERSION):
            return
        if (application, version) == (_APPLICATION_ID, 1):
            connection.execute(f"BEGIN IMMEDIATE; {_FROM_FORMAT_1} PRAGMA user_version = {_FORMAT_VERSION}; COMMIT")
            return
        if connection.pragma("schema_version") != 0:
            raise StoreError(
                f"{self.path} has format {application:#x}/{version}; this version of Polykind reads "
                f"{_APPLICATION_ID:#x}/1 and 2 only"
            )
        connection.execute(
            f"PRAGMA page_size = {PAGE_BYTES}; PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL"
        )
        connection.execute(
            f"BEGIN IMMEDIATE; {_TABLES} PRAGMA application_id = {_APPLICATION_ID}; "
            f"PRAGMA user_version = {_FORMAT_VERSION}; COMMIT"
        )
