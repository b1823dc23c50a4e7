"""Readers: a few threads, each with its own connection, so that no read holds the event loop or the writer."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Concatenate, NamedTuple, ParamSpec, TypeVar

import apsw

from polykind.contract import CompactedError, HistoryEvent, KeyValue, Page, StoreError, StoreEvent
from polykind.store.sqlite.file import DatabaseFile
from polykind.store.sqlite.log import Bounds, Log, readable

_P = ParamSpec("_P")
_R = TypeVar("_R")

THREADS = 2
CACHE_KIB = 1024


class Replay(NamedTuple):
    """Part of the past of a watch: everything in it up to `revision`."""

    events: list[StoreEvent]
    revision: int


class Readers:
    """The pool; `run` gives what a query finds with the newest revision of the snapshot that it saw."""

    def __init__(self, file: DatabaseFile) -> None:
        self.pool = ThreadPoolExecutor(THREADS, thread_name_prefix="polykind-read")
        self._file = file
        self._mine = threading.local()
        self._logs: list[Log] = []

    def run(
        self, query: Callable[Concatenate[Log, Bounds, _P], _R], *args: _P.args, **kwargs: _P.kwargs
    ) -> tuple[_R, int]:
        """Called in a thread of the pool."""
        try:
            log: Log | None = getattr(self._mine, "log", None)
            if log is None:
                log = self._mine.log = Log(self._file.connect(cache_kib=CACHE_KIB))
                self._logs.append(log)
            with log.snapshot() as bounds:
                return query(log, bounds, *args, **kwargs), bounds.newest
        except apsw.Error as error:
            raise StoreError(f"{self._file.path} cannot be read: {error}") from error

    def close(self) -> None:
        """Wait for the reads that are under way; not for the event loop's thread."""
        self.pool.shutdown()
        for log in self._logs:
            log.close()
        self._logs.clear()


def get(log: Log, bounds: Bounds, key: str, at: int) -> KeyValue | None:
    return log.get(key, readable(at, bounds))


def list_range(log: Log, bounds: Bounds, prefix: str, after: str, limit: int, at: int) -> Page:
    return log.range(prefix, after, limit, readable(at, bounds))


def history(log: Log, bounds: Bounds, prefix: str, after: int, until: int) -> list[HistoryEvent]:
    if after < bounds.floor:
        raise CompactedError(after, bounds.floor)
    return log.history(prefix, min(after, bounds.newest), min(until, bounds.newest))


def replay(log: Log, bounds: Bounds, prefix: str, after: int, until: int, most: int, most_bytes: int) -> Replay:
    if after < bounds.floor:
        raise CompactedError(after, bounds.floor)
    return Replay(*log.events(prefix, after, until, most, most_bytes))
