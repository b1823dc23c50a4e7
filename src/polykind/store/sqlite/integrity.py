"""Detection of damage in the database file: row checksums, the structure of the file, and lost commits in the WAL."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

import apsw

from polykind.contract import StoreError

ROW_COLUMNS = "revision, CAST(key AS BLOB), previous, deleted, value, checksum"
"""The columns of a row, in the order of `is_intact`. A flipped bit can make a key invalid UTF-8, so it is bytes."""

_WAL_HEADER = struct.Struct(">8I")
_FRAME_HEADER = struct.Struct(">6I")
_WAL_MAGICS = (0x377F0682, 0x377F0683)
_SHOWN_PROBLEMS = 5


class DamagedStoreError(StoreError):
    """The database file is damaged. The message names the damage and what to do."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(
            f"{path} is damaged: {problem}. Restore a backup with `polykind store restore`, or see what can be saved "
            "with `polykind store check`"
        )


def row_checksum(revision: int, key: bytes, previous: int, deleted: bool, value: bytes | None) -> int:
    """Return the CRC-32 of a row. It also covers the key and the revisions, so a flipped bit in them is detected."""
    return crc32(value or b"", crc32(b"%d %d %d %b" % (revision, previous, deleted, key)))


def is_intact(
    revision: int, key: bytes, previous: int, deleted: bool, value: bytes | None, checksum: int | None
) -> bool:
    """True if a row matches its checksum. A flipped bit can also change the SQL type of a column."""
    try:
        return checksum == row_checksum(revision, key, previous, deleted, value)
    except TypeError:
        return False


class DamagedRow(NamedTuple):
    """A row of the log that does not match its checksum. The key may be the damaged part."""

    revision: int
    key: str


def damaged_rows(connection: apsw.Connection) -> Iterator[DamagedRow]:
    """Yield the rows that do not match their checksums. Reads the whole file."""
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
                # The header itself is damaged, and SQLite ignores the whole file.
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
