"""The database file: made private, locked for one owner, opened with the settings that make commits durable."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import apsw

from polykind.contract import StoreError

PAGE = 8 * 1024
"""Larger than SQLite's own 4 KB, so that several objects share a page; at 16 KB, keys in random order make each commit
write half as much again."""

WAL_KEPT = 32 * 1024 * 1024
"""How much of the write-ahead log stays as a file when it starts over: writing over old bytes syncs faster."""

_FORMAT = 1
_APPLICATION = 0x504B4E44

# One row for each write: `previous` is the revision that it replaced (0: the key was absent). The index finds the rows
# of a key, so that the state at any revision is one walk of it. `value` comes last: a scan for keys and revisions then
# never follows the overflow pages of large values.
_TABLES = """
CREATE TABLE log (revision INTEGER PRIMARY KEY, key TEXT NOT NULL, previous INTEGER NOT NULL,
                  deleted INTEGER NOT NULL, value BLOB);
CREATE INDEX names ON log (key, revision, deleted);
CREATE TABLE facts (name TEXT PRIMARY KEY, number INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO facts VALUES ('floor', 0), ('swept', 0);
"""


class DatabaseFile:
    """The file in its directory, and the lock that says it is ours."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / "polykind.db"
        self.wal = directory / "polykind.db-wal"
        self._lock_path = directory / "polykind.lock"
        self._lock = -1

    def claim(self) -> None:
        """Take the lock and make what is missing; raises StoreError if another store has the file."""
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._lock = os.open(self._lock_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._prepare()
        except BlockingIOError:
            raise StoreError(
                f"{self.path} is in use by another store: stop the process that holds {self._lock_path}, "
                "or choose another data directory"
            ) from None
        except (OSError, apsw.Error) as error:
            raise StoreError(f"{self.path} cannot be opened: {error}") from error

    def release(self) -> None:
        """Let go of the lock, whether or not `claim` came to its end."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def connect(self, *, cache_kib: int) -> apsw.Connection:
        """A connection whose commits are durable and which leaves checkpoints to whoever plans them."""
        connection = apsw.Connection(str(self.path), flags=apsw.SQLITE_OPEN_READWRITE, statementcachesize=32)
        connection.set_busy_timeout(10_000)
        connection.execute(
            f"PRAGMA synchronous = FULL; PRAGMA cache_size = -{cache_kib}; PRAGMA mmap_size = 0; "
            f"PRAGMA temp_store = MEMORY; PRAGMA journal_size_limit = {WAL_KEPT}"
        )
        connection.wal_autocheckpoint(0)
        return connection

    def _prepare(self) -> None:
        # SQLite gives its companion files the database's own mode.
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        os.fchmod(descriptor, 0o600)
        os.close(descriptor)
        parent = os.open(self.path.parent, os.O_RDONLY | os.O_CLOEXEC)
        os.fsync(parent)
        os.close(parent)
        connection = self.connect(cache_kib=256)
        try:
            self._lay_out(connection)
        finally:
            connection.close()

    def _lay_out(self, connection: apsw.Connection) -> None:
        application, version = connection.pragma("application_id"), connection.pragma("user_version")
        if (application, version) == (_APPLICATION, _FORMAT):
            return
        if connection.pragma("schema_version") != 0:
            raise StoreError(
                f"{self.path} has format {application:#x}/{version}; this version of Polykind reads "
                f"{_APPLICATION:#x}/{_FORMAT} only"
            )
        connection.execute(f"PRAGMA page_size = {PAGE}; PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL")
        connection.execute(
            f"BEGIN IMMEDIATE; {_TABLES} PRAGMA application_id = {_APPLICATION}; "
            f"PRAGMA user_version = {_FORMAT}; COMMIT"
        )
