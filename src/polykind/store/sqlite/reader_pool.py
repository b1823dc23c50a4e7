"""The reader threads, each with its own connection, so that reads block neither event loop nor writer."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Concatenate, NamedTuple, ParamSpec, TypeVar

import apsw

from polykind.contract import CompactedError, HistoryEvent, KeyValue, Page, ScanPage, StoreError, StoreEvent
from polykind.store.sqlite.database_file import DatabaseFile
from polykind.store.sqlite.write_log import Bounds, WriteLog, check_readable

_P = ParamSpec("_P")
_R = TypeVar("_R")

THREADS = 2
CACHE_KIB = 1024


class ReplayPage(NamedTuple):
    """A part of the past events of a watch. It contains all events up to `revision`."""

    events: list[StoreEvent]
    revision: int


class ReaderPool:
    """Threads that run queries, each with its own connection to the database file."""

    def __init__(self, file: DatabaseFile) -> None:
        self.pool = ThreadPoolExecutor(THREADS, thread_name_prefix="polykind-read")
        self._file = file
        self._thread_local = threading.local()
        self._logs: list[WriteLog] = []

    def run(
        self, query: Callable[Concatenate[WriteLog, Bounds, _P], _R], *args: _P.args, **kwargs: _P.kwargs
    ) -> tuple[_R, int]:
        """Run a query in a read transaction. Called in a thread of the pool."""
        try:
            log: WriteLog | None = getattr(self._thread_local, "log", None)
            if log is None:
                log = self._thread_local.log = WriteLog(self._file.connect(cache_kib=CACHE_KIB))
                self._logs.append(log)
            with log.snapshot() as bounds:
                return query(log, bounds, *args, **kwargs), bounds.newest
        except apsw.Error as error:
            raise StoreError(f"{self._file.path} cannot be read: {error}") from error

    def close(self) -> None:
        """Wait for running reads and close the connections. Must not be called on the event loop."""
        self.pool.shutdown()
        for log in self._logs:
            log.close()
        self._logs.clear()


def get(log: WriteLog, bounds: Bounds, key: str, at: int) -> KeyValue | None:
    return log.get(key, check_readable(at, bounds))


def list_range(log: WriteLog, bounds: Bounds, prefix: str, after: str, limit: int, at: int) -> Page:
    return log.range(prefix, after, limit, check_readable(at, bounds))


def scan(log: WriteLog, bounds: Bounds, prefix: str, after: str, max_keys: int, max_bytes: int) -> ScanPage:
    return log.scan(prefix, after, max_keys, max_bytes, bounds.newest)


def history(log: WriteLog, bounds: Bounds, prefix: str, after: int, until: int) -> list[HistoryEvent]:
    if after < bounds.floor:
        raise CompactedError(after, bounds.floor)
    return log.history(prefix, min(after, bounds.newest), min(until, bounds.newest))


def replay(
    log: WriteLog, bounds: Bounds, prefix: str, after: int, until: int, max_events: int, max_bytes: int
) -> ReplayPage:
    if after < bounds.floor:
        raise CompactedError(after, bounds.floor)
    return ReplayPage(*log.events(prefix, after, until, max_events, max_bytes))
