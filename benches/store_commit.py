"""Durable writes of the embedded store, relative to SQLite driven by one thread with the same batches.

python benches/store_commit.py [seconds per figure]
"""

from __future__ import annotations

import asyncio
import os
import platform
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import apsw

from polykind.store.sqlite import SqliteStore
from polykind.store.sqlite.database_file import DatabaseFile
from polykind.store.sqlite.write_log import Row, WriteLog, log_row

VALUE = os.urandom(2048)
KEYS = 5_000


class Figure(NamedTuple):
    """The result of one run: durable writes per second, CPU time of the process for each, waits."""

    rate: float
    cpu_us: float
    p50_ms: float
    p99_ms: float
    worst_ms: float

    def __str__(self) -> str:
        return (
            f"{self.rate:8.0f} writes/s {self.cpu_us:7.1f} us CPU each   "
            f"p50 {self.p50_ms:6.2f}  p99 {self.p99_ms:6.2f}  worst {self.worst_ms:6.2f} ms"
        )


def figure(waits: list[float], elapsed: float, cpu: float) -> Figure:
    waits.sort()
    count = len(waits)
    return Figure(
        count / elapsed,
        cpu / count * 1e6,
        waits[count // 2] * 1e3,
        waits[min(count - 1, int(count * 0.99))] * 1e3,
        waits[-1] * 1e3,
    )


async def ours(directory: Path, writers: int, seconds: float) -> Figure:
    store = SqliteStore(directory)
    await store.start()
    waits: list[float] = []
    end = time.perf_counter() + seconds

    async def write(number: int) -> None:
        for step in range(number, 1 << 60, writers):
            begun = time.perf_counter()
            if begun >= end:
                return
            await store.put(f"/registry/example.com/widgets/default/widget-{step % KEYS:06}", VALUE, expect=None)
            waits.append(time.perf_counter() - begun)

    begun, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(write(number) for number in range(writers)))
    result = figure(waits, time.perf_counter() - begun, time.process_time() - cpu)
    await store.close()
    return result


def bare(directory: Path, batch: int, seconds: float) -> Figure:
    """Write the same rows into the same tables from one thread, without requests or listeners."""
    file = DatabaseFile(directory)
    file.lock()
    connection = file.connect(cache_kib=4096)
    connection.wal_autocheckpoint(512)
    log = WriteLog(connection)
    revision = 1
    waits: list[float] = []
    began, cpu = time.perf_counter(), time.process_time()
    end = began + seconds
    while (begun := time.perf_counter()) < end:
        rows: list[Row] = []
        for _ in range(batch):
            revision += 1
            rows.append(
                log_row(revision, f"/registry/example.com/widgets/default/widget-{revision % KEYS:06}", 0, VALUE)
            )
        log.append(rows)
        waits.extend([time.perf_counter() - begun] * batch)
    result = figure(waits, time.perf_counter() - began, time.process_time() - cpu)
    log.close()
    file.release()
    return result


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 5.0
    print(f"$ python benches/store_commit.py {seconds:g}")
    print(f"{platform.machine()}, {os.cpu_count()} CPUs, Python {platform.python_version()}, ", end="")
    print(f"SQLite {apsw.sqlite_lib_version()}, {len(VALUE)} byte values, {KEYS} keys")
    for writers in (1, 16, 64):
        with tempfile.TemporaryDirectory(dir=".") as directory:
            floor = bare(Path(directory) / "bare", writers, seconds)
            store = asyncio.run(ours(Path(directory) / "store", writers, seconds))
        print(f"{writers:3} at once  bare apsw  {floor}")
        print(f"             store      {store}   {store.rate / floor.rate:.2f} of bare")


if __name__ == "__main__":
    main()
