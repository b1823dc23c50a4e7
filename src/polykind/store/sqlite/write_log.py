"""The SQL of the write log: reads at any revision, appends by the writer, deletions by the compactor."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, partial
from itertools import chain, starmap
from typing import Any, NamedTuple
from zlib import crc32

import apsw

from polykind.contract import (
    DAMAGED_VALUE,
    CompactedError,
    FutureRevisionError,
    HistoryEvent,
    KeyValue,
    Page,
    ScanPage,
    StoreEvent,
)
from polykind.store.sqlite.database_file import PAGE_BYTES

EMPTY_REVISION = 1
"""The revision of an empty store. As in etcd, the first write has revision 2."""

ROWS_PER_STATEMENT = 128
"""The maximum number of rows per statement. Each statement releases the GIL, and a busy event loop may hold it for
milliseconds, so a batch uses one SELECT and one INSERT for many rows."""

ROW_COLUMNS = "revision, CAST(key AS BLOB), previous, deleted, value, checksum"
"""The columns of a row, in the order of the parameters of `is_intact`. The key is read as bytes, because damage can
make it invalid UTF-8.
"""

_NO_LIMIT = 2**62

_BOUNDS = "SELECT coalesce((SELECT max(revision) FROM log), 1), (SELECT number FROM facts WHERE name = 'floor')"
_VALUE = f"SELECT {ROW_COLUMNS} FROM log WHERE revision = ?"  # noqa: S608
_GET = f"""
SELECT {ROW_COLUMNS} FROM log WHERE NOT deleted AND revision =
    (SELECT revision FROM log INDEXED BY names WHERE key = ?1 AND revision <= ?2 ORDER BY revision DESC LIMIT 1)"""  # noqa: S608
_KEYS = """
SELECT key, max(revision) AS revision, deleted FROM log INDEXED BY names
WHERE key {compared} ?1 AND key < ?2 AND revision <= ?3 GROUP BY key HAVING NOT deleted"""
# CROSS JOIN makes SQLite's planner keep the key order: first the index, then the value of each row.
_RANGE = """
SELECT CAST(n.key AS BLOB), n.revision, CAST(l.key AS BLOB), l.previous, l.deleted, l.value, l.checksum
FROM ({keys} LIMIT ?4) AS n CROSS JOIN log AS l ON l.revision = n.revision"""
_RANGE_FROM = _RANGE.format(keys=_KEYS.format(compared=">="))
_RANGE_AFTER = _RANGE.format(keys=_KEYS.format(compared=">"))
_COUNT_ALL = """
SELECT count(*) FROM (SELECT max(revision), deleted FROM log INDEXED BY names WHERE revision <= ?1 GROUP BY key
                      HAVING NOT deleted)"""
_COUNT_AFTER = f"SELECT count(*) FROM ({_KEYS.format(compared='>')})"  # noqa: S608
_EVENTS = f"""
SELECT {ROW_COLUMNS} FROM log NOT INDEXED WHERE revision > ?1 AND revision <= ?2 AND key >= ?3 AND key < ?4
ORDER BY revision"""  # noqa: S608
_HISTORY = """
SELECT l.revision, CAST(l.key AS BLOB), l.previous, l.deleted, l.value, l.checksum,
       CAST(p.key AS BLOB), p.previous, p.deleted, p.value, p.checksum
FROM log AS l NOT INDEXED LEFT JOIN log AS p ON p.revision = l.previous
WHERE l.revision > ?1 AND l.revision <= ?2 AND l.key >= ?3 AND l.key < ?4 ORDER BY l.revision"""
_SWEPT = """
WITH next AS (
  SELECT l.revision, coalesce(length(p.value), 0) AS size
  FROM log AS l NOT INDEXED LEFT JOIN log AS p ON p.revision = l.previous
  WHERE l.revision > ? AND l.revision <= ? ORDER BY l.revision LIMIT ?
), summed AS (SELECT revision, size, sum(size) OVER (ORDER BY revision) AS total FROM next)
SELECT count(*), max(revision), sum(size) FROM summed WHERE total - size < ?"""
_SWEEP = """
DELETE FROM log WHERE revision IN (
  SELECT previous FROM log NOT INDEXED WHERE revision > ?1 AND revision <= ?2 AND previous > 0
  UNION ALL
  SELECT revision FROM log NOT INDEXED WHERE revision > ?1 AND revision <= ?2 AND deleted
)"""


@cache
def _latest(rows: int) -> str:
    """Return a SELECT for the current revisions of `rows` keys, as one text in the order of the keys, 0 if absent."""
    current = (
        "SELECT revision * (1 - deleted) FROM log INDEXED BY names WHERE key = column2 ORDER BY revision DESC LIMIT 1"
    )
    keys = ", ".join(f"({number}, ?)" for number in range(rows))
    return f"SELECT group_concat(coalesce(({current}), 0), ' ' ORDER BY column1) FROM (VALUES {keys})"  # noqa: S608


@cache
def _insert_statement(rows: int) -> str:
    return f"INSERT INTO log VALUES {', '.join(['(?, ?, ?, ?, ?, ?)'] * rows)}"  # noqa: S608


class Bounds(NamedTuple):
    """The newest and the oldest revision that can be read in a transaction."""

    newest: int
    floor: int


Row = tuple[int, str, int, bool, bytes | None, int]
"""One row of the log: revision, key, previous, deleted, value, checksum."""
_RangeRow = tuple[bytes, int, bytes, int, bool, bytes | None, int | None]
"""A key and its revision in the index, and the other columns of the row: key, previous, deleted, value, checksum."""

_new_key_value: Callable[[tuple[str, bytes, int]], KeyValue] = partial(tuple.__new__, KeyValue)
"""Build a KeyValue from a tuple, in half the time of its constructor."""


def row_checksum(revision: int, key: bytes, previous: int, deleted: bool, value: bytes | None) -> int:
    """Return the CRC-32 of a row. It also covers the key and the revisions, so a flipped bit in them is detected."""
    return crc32(value or b"", crc32(b"%d %d %d %b" % (revision, previous, deleted, key)))


def is_intact(
    revision: int, key: bytes, previous: int, deleted: bool, value: bytes | None, checksum: int | None
) -> bool:
    """True if a row matches its checksum. False if damage has changed the SQL type of a column."""
    try:
        return checksum == row_checksum(revision, key, previous, deleted, value)
    except TypeError:
        return False


def log_row(revision: int, key: str, previous: int, value: bytes | None) -> Row:
    """Return the row of a write. If `value` is None, the write is a deletion."""
    deleted = value is None
    return revision, key, previous, deleted, value, row_checksum(revision, key.encode(), previous, deleted, value)


def prefix_end(prefix: str) -> str | bytes:
    """Return the smallest text above all texts with `prefix`. Code points sort like their UTF-8 bytes."""
    for end in range(len(prefix), 0, -1):
        point = ord(prefix[end - 1])
        if point < 0x10FFFF:
            successor = 0xE000 if point == 0xD7FF else point + 1
            return prefix[: end - 1] + chr(successor)
    return b""  # SQLite sorts every blob above every text.


class WriteLog:
    """The write log in the database file, through one connection. Used by one thread at a time."""

    def __init__(self, connection: apsw.Connection) -> None:
        self.connection = connection
        self._cursor = connection.cursor()
        self._unchecked: int = self._query("SELECT number FROM facts WHERE name = 'unchecked'")[0][0]
        """Rows up to this revision may have no checksum, because an earlier format of the file wrote them."""

    def close(self) -> None:
        self._cursor.close()
        self.connection.close()

    def _query(self, statement: str, *bindings: str | bytes | int) -> list[Any]:
        return self._cursor.execute(statement, bindings).fetchall()

    # Reads

    @contextmanager
    def snapshot(self) -> Iterator[Bounds]:
        """Run all reads of the `with` block in one read transaction."""
        self._cursor.execute("BEGIN")
        try:
            yield self.bounds()
        finally:
            self._cursor.execute("COMMIT")

    def bounds(self) -> Bounds:
        newest, floor = self._query(_BOUNDS)[0]
        return Bounds(max(newest, floor, EMPTY_REVISION), floor)

    def get(self, key: str, at: int) -> KeyValue | None:
        rows = self._query(_GET, key, at)
        return KeyValue(key, self._verified(*rows[0]) or b"", rows[0][0]) if rows else None

    def _verified(
        self, revision: int, key: bytes, previous: int, deleted: bool, value: bytes | None, checksum: int | None
    ) -> bytes | None:
        """Return the value of a row, or DAMAGED_VALUE if the row does not match its checksum."""
        if is_intact(revision, key, previous, deleted, value, checksum):
            return value
        return value if checksum is None and revision <= self._unchecked else DAMAGED_VALUE

    def range(self, prefix: str, after: str, limit: int, at: int) -> Page:
        max_rows = min(limit, _NO_LIMIT) if limit > 0 else _NO_LIMIT
        items = self._items(list(self._rows(prefix, after, max_rows, at)))
        remaining = 0
        if len(items) == max_rows:
            remaining = self._query(_COUNT_AFTER, items[-1].key, prefix_end(prefix), at)[0][0]
        return Page(items, at, remaining)

    def scan(self, prefix: str, after: str, max_keys: int, max_bytes: int, at: int) -> ScanPage:
        """Return the next keys within the limits, at least one if any key follows."""
        rows, size = [], 0
        for row in self._rows(prefix, after, max_keys, at):
            rows.append(row)
            size += len(row[5] or b"")
            if size >= max_bytes:
                break
        return ScanPage(self._items(rows), at, size < max_bytes and len(rows) < max_keys)

    def _rows(self, prefix: str, after: str, max_rows: int, at: int) -> Iterator[_RangeRow]:
        """Yield the rows of the keys with a prefix that sort after `after`, at a revision."""
        statement, start = (_RANGE_AFTER, after) if after >= prefix and after else (_RANGE_FROM, prefix)
        rows: Any = self._cursor.execute(statement, (start, prefix_end(prefix), at, max_rows))
        return iter(rows)

    def _items(self, rows: list[_RangeRow]) -> list[KeyValue]:
        """Return the keys and values of rows. A value is DAMAGED_VALUE if its row does not match its checksum.

        A load reads every row of a resource here, so the checksums of all rows are computed without a Python loop.
        """
        if not rows:
            return []
        keys, revisions, row_keys, previous, deleted, values, checksums = zip(*rows, strict=True)
        try:
            heads = map(crc32, map(b"%d %d 0 %b".__mod__, zip(revisions, previous, keys, strict=True)))
            intact = tuple(map(crc32, values, heads)) == checksums and keys == row_keys and not any(deleted)
        except TypeError:
            intact = False
        if not intact:
            return list(starmap(self._item, rows))
        return list(map(_new_key_value, zip(map(bytes.decode, keys), values, revisions, strict=True)))

    def _item(
        self,
        key: bytes,
        revision: int,
        row_key: bytes,
        previous: int,
        deleted: bool,
        value: bytes | None,
        checksum: Any,
    ) -> KeyValue:
        """Return the key and value of a row, after a verification of its checksum."""
        same = key == row_key and not deleted
        verified = self._verified(revision, key, previous, deleted, value, checksum) or b"" if same else DAMAGED_VALUE
        return KeyValue(key.decode(errors="replace"), verified, revision)

    def count(self, at: int) -> int:
        """Return the number of keys at a revision."""
        number: int = self._query(_COUNT_ALL, at)[0][0]
        return number

    def events(
        self, prefix: str, after: int, until: int, max_events: int, max_bytes: int
    ) -> tuple[list[StoreEvent], int]:
        """Return events in (after, until] within the limits, and the revision up to which no event is missing."""
        events: list[StoreEvent] = []
        size = 0
        for row in self._cursor.execute(_EVENTS, (after, until, prefix, prefix_end(prefix))):
            event = StoreEvent(row[1].decode(errors="replace"), self._verified(*row), row[0])
            events.append(event)
            size += len(event.value or b"")
            if len(events) >= max_events or size >= max_bytes:
                return events, event.revision
        return events, until

    def history(self, prefix: str, after: int, until: int) -> list[HistoryEvent]:
        rows = self._cursor.execute(_HISTORY, (after, until, prefix, prefix_end(prefix)))
        events = []
        for row in rows:
            revision, key, previous = row[0], row[1].decode(errors="replace"), row[2]
            before = None
            if previous:
                value = (self._verified(previous, *row[6:]) or b"") if row[6] is not None else DAMAGED_VALUE
                before = KeyValue(key, value, previous)
            events.append(HistoryEvent(key, self._verified(*row[:6]), revision, before))
        return events

    # Writes, by the writer thread only

    def begin(self) -> None:
        self._cursor.execute("BEGIN IMMEDIATE")

    def commit(self) -> None:
        self._cursor.execute("COMMIT")

    def rollback(self) -> None:
        # Some failures, such as a full disk, have already rolled back. Suppress errors to keep the original one.
        if self.connection.in_transaction:
            with suppress(apsw.Error):
                self._cursor.execute("ROLLBACK")

    def latest(self, keys: list[str]) -> list[int]:
        """Return the current revision of each key, 0 for absent keys."""
        revisions: list[int] = []
        for start in range(0, len(keys), ROWS_PER_STATEMENT):
            chunk = keys[start : start + ROWS_PER_STATEMENT]
            text: str = self._query(_latest(len(chunk)), *chunk)[0][0]
            revisions.extend(map(int, text.split(" ")))
        return revisions

    def value(self, revision: int) -> bytes:
        return self._verified(*self._query(_VALUE, revision)[0]) or b""

    def append(self, rows: list[Row]) -> None:
        """Append the rows in one transaction. They are durable on return."""
        if len(rows) <= ROWS_PER_STATEMENT:
            # A single statement is a transaction of its own.
            self._insert(rows)
            return
        self.begin()
        for start in range(0, len(rows), ROWS_PER_STATEMENT):
            self._insert(rows[start : start + ROWS_PER_STATEMENT])
        self.commit()

    def _insert(self, rows: list[Row]) -> None:
        self._cursor.execute(_insert_statement(len(rows)), tuple(chain.from_iterable(rows)))

    def probe(self) -> None:
        """Commit a transaction that changes no data, to test if the file can be written."""
        self._cursor.execute("UPDATE facts SET number = number WHERE name = 'swept'")

    def set_floor(self, floor: int) -> None:
        self._cursor.execute("UPDATE facts SET number = max(number, ?) WHERE name = 'floor'", (floor,))

    def swept(self) -> int:
        """Return the revision up to which the compactor has deleted superseded rows."""
        number: int = self._query("SELECT number FROM facts WHERE name = 'swept'")[0][0]
        return number

    def sweep(self, swept: int, floor: int, rows: int, size: int) -> tuple[int, int]:
        """Look at the next `rows` writes after `swept`, up to `floor`, and delete the rows that they replaced.

        Return the revision reached and the number of freed bytes. Stop early after `size` bytes. If a write is a
        deletion, delete its own row, too, because a key without any row is also absent.
        """
        # One statement runs without the GIL. A statement for each row would interrupt the event loop that often.
        count, reached, freed = self._query(_SWEPT, swept, floor, rows, size)[0]
        if not count or (count < rows and freed < size):
            reached = floor
        self._cursor.execute(_SWEEP, (swept, reached))
        self._cursor.execute("UPDATE facts SET number = ? WHERE name = 'swept'", (reached,))
        return reached, freed or 0

    def free_pages(self) -> tuple[int, int]:
        """Return the number of free pages and of all pages."""
        return self.connection.pragma("freelist_count"), self.connection.pragma("page_count")

    def vacuum(self, pages: int) -> None:
        """Return up to `pages` free pages to the file system."""
        self._query(f"PRAGMA incremental_vacuum({pages})")


def check_readable(at: int, bounds: Bounds) -> int:
    """Return the revision to read at: `at`, or the newest revision if `at` is 0.

    Raise CompactedError or FutureRevisionError if the snapshot does not contain that revision.
    """
    if at == 0:
        return bounds.newest
    if at > bounds.newest:
        raise FutureRevisionError(at, bounds.newest)
    if at < bounds.floor:
        raise CompactedError(at, bounds.floor)
    return at


IDLE_STEP_ROWS = 500
BUSY_STEP_ROWS = 128
MAX_STEP_BYTES = 4 * 1024 * 1024
VACUUM_STEP_PAGES = 64
MIN_FREE_PAGES = 32 * 1024 * 1024 // PAGE_BYTES


class Compactor:
    """Deletes rows that no readable revision needs. The writer thread calls it between batches.

    Later writes reuse freed pages. Free pages are returned to the file system only if they exceed half of the file and
    32 MB, so that a store in steady use never has to move pages.
    """

    def __init__(self, log: WriteLog, keep: int) -> None:
        self._log = log
        self._keep = keep
        self.floor = log.bounds().floor
        """The compacted revision. Older revisions cannot be read."""
        self.swept = log.swept()
        """The compactor has deleted the unneeded rows up to this revision, which is never above `floor`."""
        self._vacuuming = False
        self._blocked = False

    @property
    def pending(self) -> bool:
        return not self._blocked and (self.swept < self.floor or self._vacuuming)

    def automatic_floor(self, revision: int) -> int:
        """Return a new floor that keeps the last `keep` revisions. Return 0 if at most twice as many are readable."""
        return revision - self._keep if revision - self.floor > 2 * self._keep else 0

    def raise_floor(self, floor: int) -> None:
        """Commit the new floor before deleting rows, so that a crash leaves no partially readable revision."""
        self._log.begin()
        self._log.set_floor(floor)
        self._log.commit()
        self.floor = floor

    def step(self, rows: int) -> int:
        """Run one short transaction of compaction. Return roughly how many bytes it has freed."""
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
