"""The log of writes: what each connection asks of the tables, and what the writer adds and removes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from itertools import chain
from typing import Any, NamedTuple

import apsw

from polykind.contract import CompactedError, FutureRevisionError, HistoryEvent, KeyValue, Page, StoreEvent

EMPTY = 1
"""The revision of a store that was never written, as in etcd: the first write is 2."""

CHUNK = 128
"""Rows to a statement. Each statement hands the interpreter lock away, and a busy event loop may take milliseconds to
give it back: so a batch asks once and writes once, however many rows it has."""

_MOST = 2**62

_BOUNDS = "SELECT coalesce((SELECT max(revision) FROM log), 1), (SELECT number FROM facts WHERE name = 'floor')"
_VALUE = "SELECT value FROM log WHERE revision = ?"
_GET = """
SELECT key, value, revision FROM log WHERE NOT deleted AND revision =
    (SELECT revision FROM log INDEXED BY names WHERE key = ?1 AND revision <= ?2 ORDER BY revision DESC LIMIT 1)"""
_KEYS = """
SELECT key, max(revision) AS revision, deleted FROM log INDEXED BY names
WHERE key {compared} ?1 AND key < ?2 AND revision <= ?3 GROUP BY key HAVING NOT deleted"""
# The cross join holds the planner to key order: names first, then the value of each.
_RANGE = "SELECT n.key, l.value, n.revision FROM ({keys} LIMIT ?4) AS n CROSS JOIN log AS l ON l.revision = n.revision"
_RANGE_FROM = _RANGE.format(keys=_KEYS.format(compared=">="))
_RANGE_AFTER = _RANGE.format(keys=_KEYS.format(compared=">"))
_COUNT_AFTER = f"SELECT count(*) FROM ({_KEYS.format(compared='>')})"  # noqa: S608
_EVENTS = """
SELECT key, value, revision FROM log NOT INDEXED WHERE revision > ?1 AND revision <= ?2 AND key >= ?3 AND key < ?4
ORDER BY revision"""
_HISTORY = """
SELECT l.key, l.value, l.revision, l.previous, p.value
FROM log AS l NOT INDEXED LEFT JOIN log AS p ON p.revision = l.previous
WHERE l.revision > ?1 AND l.revision <= ?2 AND l.key >= ?3 AND l.key < ?4 ORDER BY l.revision"""
_PAST = """
SELECT l.revision, l.previous, l.deleted, coalesce(length(p.value), 0)
FROM log AS l NOT INDEXED LEFT JOIN log AS p ON p.revision = l.previous
WHERE l.revision > ? AND l.revision <= ? ORDER BY l.revision LIMIT ?"""


@cache
def _latest(rows: int) -> str:
    """One row of text for all keys: the revision at which each stands, 0 for what is absent."""
    held = (
        "SELECT revision * (1 - deleted) FROM log INDEXED BY names WHERE key = column2 ORDER BY revision DESC LIMIT 1"
    )
    keys = ", ".join(f"({number}, ?)" for number in range(rows))
    return f"SELECT group_concat(coalesce(({held}), 0), ' ' ORDER BY column1) FROM (VALUES {keys})"  # noqa: S608


@cache
def _insertion(rows: int) -> str:
    return f"INSERT INTO log VALUES {', '.join(['(?, ?, ?, ?, ?)'] * rows)}"  # noqa: S608


class Bounds(NamedTuple):
    """The newest revision of a snapshot, and the one below which nothing can be read."""

    newest: int
    floor: int


Row = tuple[int, str, int, bool, bytes | None]
"""Of the log: revision, key, previous, deleted, value."""


def successor(prefix: str) -> str | bytes:
    """The least text above everything that begins with `prefix`; code points sort as their UTF-8 bytes do."""
    for end in range(len(prefix), 0, -1):
        point = ord(prefix[end - 1])
        if point < 0x10FFFF:
            following = 0xE000 if point == 0xD7FF else point + 1
            return prefix[: end - 1] + chr(following)
    return b""  # SQLite sorts every blob above every text


class Log:
    """The tables through one connection, used by one thread at a time."""

    def __init__(self, connection: apsw.Connection) -> None:
        self.connection = connection
        self._cursor = connection.cursor()

    def close(self) -> None:
        self._cursor.close()
        self.connection.close()

    def _ask(self, statement: str, *bindings: str | bytes | int) -> list[Any]:
        return self._cursor.execute(statement, bindings).fetchall()

    # Reading

    @contextmanager
    def snapshot(self) -> Iterator[Bounds]:
        """One state of the store for all reads inside."""
        self._cursor.execute("BEGIN")
        try:
            yield self.bounds()
        finally:
            self._cursor.execute("COMMIT")

    def bounds(self) -> Bounds:
        newest, floor = self._ask(_BOUNDS)[0]
        return Bounds(max(newest, floor, EMPTY), floor)

    def get(self, key: str, at: int) -> KeyValue | None:
        rows = self._ask(_GET, key, at)
        return KeyValue._make(rows[0]) if rows else None

    def range(self, prefix: str, after: str, limit: int, at: int) -> Page:
        end = successor(prefix)
        most = min(limit, _MOST) if limit > 0 else _MOST
        statement, start = (_RANGE_AFTER, after) if after >= prefix and after else (_RANGE_FROM, prefix)
        rows = self._cursor.execute(statement, (start, end, at, most))
        items = list(map(KeyValue._make, rows))
        remaining = 0
        if len(items) == most:
            remaining = self._ask(_COUNT_AFTER, items[-1].key, end, at)[0][0]
        return Page(items, at, remaining)

    def events(self, prefix: str, after: int, until: int, most: int, most_bytes: int) -> tuple[list[StoreEvent], int]:
        """Writes in (after, until], as many as fit, and the revision they reach."""
        found: list[StoreEvent] = []
        size = 0
        for row in self._cursor.execute(_EVENTS, (after, until, prefix, successor(prefix))):
            event = StoreEvent._make(row)
            found.append(event)
            size += len(event.value or b"")
            if len(found) >= most or size >= most_bytes:
                return found, event.revision
        return found, until

    def history(self, prefix: str, after: int, until: int) -> list[HistoryEvent]:
        rows = self._cursor.execute(_HISTORY, (after, until, prefix, successor(prefix)))
        return [
            HistoryEvent(key, value, revision, KeyValue(key, before, previous) if previous else None)
            for key, value, revision, previous, before in rows
        ]

    # Writing, by the writer alone

    def begin(self) -> None:
        self._cursor.execute("BEGIN IMMEDIATE")

    def commit(self) -> None:
        self._cursor.execute("COMMIT")

    def rollback(self) -> None:
        # Some failures (a full disk) have rolled back already; the first error says what went wrong.
        if self.connection.in_transaction:
            with suppress(apsw.Error):
                self._cursor.execute("ROLLBACK")

    def latest(self, keys: list[str]) -> list[int]:
        """The revision at which each key stands, 0 if it is absent."""
        found: list[int] = []
        for start in range(0, len(keys), CHUNK):
            asked = keys[start : start + CHUNK]
            answer: str = self._ask(_latest(len(asked)), *asked)[0][0]
            found.extend(map(int, answer.split(" ")))
        return found

    def value(self, revision: int) -> bytes:
        value: bytes = self._ask(_VALUE, revision)[0][0]
        return value

    def append(self, rows: list[Row]) -> None:
        """Add the rows in one transaction; they are durable on return."""
        if len(rows) <= CHUNK:
            # Outside a transaction the statement is one of its own.
            self._insert(rows)
            return
        self.begin()
        for start in range(0, len(rows), CHUNK):
            self._insert(rows[start : start + CHUNK])
        self.commit()

    def _insert(self, rows: list[Row]) -> None:
        self._cursor.execute(_insertion(len(rows)), tuple(chain.from_iterable(rows)))

    def set_floor(self, floor: int) -> None:
        self._cursor.execute("UPDATE facts SET number = max(number, ?) WHERE name = 'floor'", (floor,))

    def swept(self) -> int:
        """The revision up to which the log has been freed of what the floor makes unreadable."""
        number: int = self._ask("SELECT number FROM facts WHERE name = 'swept'")[0][0]
        return number

    def sweep(self, swept: int, floor: int, rows: int, size: int) -> tuple[int, int]:
        """Look at the next writes up to the floor and remove what they superseded; how far it came, bytes removed.

        It ends after so many rows or bytes. A deletion at or below the floor supersedes itself too: a read there finds
        nothing either way.
        """
        gone: list[tuple[int]] = []
        freed = 0
        seen = self._ask(_PAST, swept, floor, rows)
        reached = seen[-1][0] if len(seen) == rows else floor
        for revision, previous, deleted, length in seen:
            if previous:
                gone.append((previous,))
            if deleted:
                gone.append((revision,))
            freed += length
            if freed >= size:
                reached = revision
                break
        self._cursor.executemany("DELETE FROM log WHERE revision = ?", gone)
        self._cursor.execute("UPDATE facts SET number = ? WHERE name = 'swept'", (reached,))
        return reached, freed

    def free_pages(self) -> tuple[int, int]:
        """Pages of the file that hold nothing, of how many."""
        return self.connection.pragma("freelist_count"), self.connection.pragma("page_count")

    def give_back(self, pages: int) -> None:
        """Shorten the file by up to `pages` free pages."""
        self._ask(f"PRAGMA incremental_vacuum({pages})")


def readable(at: int, bounds: Bounds) -> int:
    """The revision to read at: `at`, or the newest for 0. Raises Compacted, FutureRevision."""
    if at == 0:
        return bounds.newest
    if at > bounds.newest:
        raise FutureRevisionError(at, bounds.newest)
    if at < bounds.floor:
        raise CompactedError(at, bounds.floor)
    return at
