"""Detection of damage in the database file: row checksums, the structure of the file, and lost commits in the WAL."""

from __future__ import annotations

import logging
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import apsw

from polykind.contract import StoreError
from polykind.store.sqlite.database_file import CREATE_INDEX, DatabaseFile
from polykind.store.sqlite.write_log import ROW_COLUMNS, is_intact

_logger = logging.getLogger(__name__)

CHECKED_AT_START_BYTES = 128 * 1024 * 1024
"""The size of the largest file that is verified completely at the start, which takes at most 0.2 s. Rows of larger
files are verified when they are read. `polykind store check` verifies files of any size.
"""

_WAL_HEADER = struct.Struct(">8I")
_FRAME_HEADER = struct.Struct(">6I")
_WAL_MAGICS = (0x377F0682, 0x377F0683)
_SHOWN_PROBLEMS = 5


class DamagedStoreError(StoreError):
    """The database file is damaged. The message describes the damage and names the commands that help."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(
            f"{path} is damaged: {problem}. Restore a backup with `polykind store restore`, or see what can be saved "
            "with `polykind store check`"
        )


def check_file(file: DatabaseFile, connection: apsw.Connection) -> None:
    """Raise DamagedStoreError if commits in the WAL are lost, or if a page of a small file is damaged.

    Rebuild a damaged index. Log each damaged row of a small file.
    """
    # If the check fails, closing the connection must not checkpoint the WAL, because that would discard the commits
    # after the damage.
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    recovered = max(connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_NOOP)[0], 0)
    lost = count_lost_commits(file.wal, recovered)
    if lost > 1:
        raise DamagedStoreError(file.wal, f"{lost} commits after frame {recovered} cannot be read")
    if file.path.stat().st_size <= CHECKED_AT_START_BYTES:
        problems = structure_problems(connection)
        if problems and all("index names" in problem for problem in problems):
            _logger.warning("sqlite store: rebuilding the damaged index of %s: %s", file.path, "; ".join(problems))
            rebuild_index(connection)
            problems = structure_problems(connection)
        if problems:
            raise DamagedStoreError(file.path, "; ".join(problems))
        for row in damaged_rows(connection):
            _logger.error(
                "sqlite store: the value of %s at revision %d is damaged and will not be served", row.key, row.revision
            )
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)


def rebuild_index(connection: apsw.Connection) -> None:
    """Rebuild the index from the rows, after restoring the keys of damaged rows from the index.

    The index repeats the key of each row and whether it is a deletion. Without this, an older row of the same key would
    become its newest.
    """
    in_index = "SELECT key, deleted, revision FROM log INDEXED BY names WHERE revision = ?"
    restored = [values for row in damaged_rows(connection) for values in connection.execute(in_index, (row.revision,))]
    with connection:
        connection.execute("DROP INDEX names")
        connection.executemany("UPDATE log SET key = ?, deleted = ? WHERE revision = ?", restored)
        connection.execute(CREATE_INDEX)


class DamagedRow(NamedTuple):
    """A row of the write log that does not match its checksum. `key` itself may be damaged."""

    revision: int
    key: str


def damaged_rows(connection: apsw.Connection) -> Iterator[DamagedRow]:
    """Yield the rows of the write log that do not match their checksums. This reads the whole file."""
    unchecked = int(str(connection.execute("SELECT number FROM facts WHERE name = 'unchecked'").fetchall()[0][0]))
    for row in connection.execute(f"SELECT {ROW_COLUMNS} FROM log ORDER BY revision"):  # noqa: S608
        if not is_intact(*row) and not (row[5] is None and row[0] <= unchecked):
            yield DamagedRow(row[0], row[1].decode(errors="replace"))


def structure_problems(connection: apsw.Connection) -> list[str]:
    """Return the problems that SQLite finds in the pages of the file and in the index."""
    try:
        rows = connection.execute(f"PRAGMA integrity_check({_SHOWN_PROBLEMS})").fetchall()
    except apsw.Error as error:
        return [str(error)]
    found = [line for row in rows for line in str(row[0]).splitlines()]
    return [] if found == ["ok"] else found


def count_lost_commits(wal: Path, recovered_frames: int) -> int:
    """Return the number of commits in the WAL that SQLite's recovery has ignored.

    Recovery stops at the first frame with a wrong checksum. A power failure can damage only the last commit, because
    each commit is synced before the next one starts. Two or more ignored commits are therefore damage.
    """
    try:
        with wal.open("rb") as file:
            header = file.read(_WAL_HEADER.size)
            if len(header) < _WAL_HEADER.size:
                return 0
            magic, _, page_bytes, _, salt1, salt2, _, _ = _WAL_HEADER.unpack(header)
            if magic not in _WAL_MAGICS or not 512 <= page_bytes <= 65536:
                # The header of the WAL is damaged, so SQLite ignores all its commits.
                return 2 if wal.stat().st_size > _WAL_HEADER.size + _FRAME_HEADER.size else 0
            lost, frame = 0, recovered_frames
            while True:
                file.seek(_WAL_HEADER.size + frame * (_FRAME_HEADER.size + page_bytes))
                head = file.read(_FRAME_HEADER.size)
                if len(head) < _FRAME_HEADER.size:
                    return lost
                _, pages_after_commit, frame_salt1, frame_salt2, _, _ = _FRAME_HEADER.unpack(head)
                frame += 1
                # Frames with other salts are left over from an earlier use of the file.
                if (frame_salt1, frame_salt2) == (salt1, salt2) and pages_after_commit:
                    lost += 1
    except FileNotFoundError:
        return 0
