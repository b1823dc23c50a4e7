"""`make torture`: many kills and store faults with writers and resuming watchers. Prints a table.

python -m tests.robustness.torture [--kills 1000] [--faults 200]
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from tests.robustness import faults
from tests.robustness.storm import Storm
from tests.support.etcd import etcd
from tests.support.proxy import Proxy
from tests.support.server import ServerProcess

Fault = Callable[[Storm, int], Awaitable[None]]
DISK_FAULTS: tuple[Fault, ...] = (faults.full_disk, faults.missing_file, faults.flipped_bits, faults.truncation)
ETCD_FAULTS = ("restart", "pause", "partition", "set_back")
KILLS_PER_STORM = 100


class FailingSyncServer(ServerProcess):
    """A server whose fsync can be made to fail."""

    @property
    def command(self) -> list[str]:
        module = [sys.executable, "-m", "tests.robustness.failing_sync", str(self.data_dir)]
        return [*module, *super().command[1:]]


class Result:
    """One row of the table."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.times = self.acknowledged = self.rejected = self.unsure = 0
        self.seconds = 0.0

    def add(self, storm: Storm, times: int, seconds: float) -> None:
        self.times += times
        self.acknowledged += len(storm.acknowledged)
        self.rejected += storm.rejected
        self.unsure += len(storm.unsure)
        self.seconds += seconds

    def __str__(self) -> str:
        counts = f"{self.times:6} {self.acknowledged:13} {self.rejected:9} {self.unsure:8}"
        return f"{self.name:16} {counts} {self.seconds:8.0f}"


async def run(server: ServerProcess, fault: Fault, times: int, result: Result) -> None:
    started = time.monotonic()
    storm = Storm(server)
    await storm.run(lambda storm: fault(storm, times))
    result.add(storm, times, time.monotonic() - started)


async def torture(kills: int, total_faults: int, folder: Path) -> None:
    each = -(-total_faults // (len(DISK_FAULTS) + 1 + len(ETCD_FAULTS)))
    print(f"{'fault':16} {'times':>6} {'acknowledged':>13} {'rejected':>9} {'unknown':>8} {'seconds':>8}")
    result = Result("kill -9")
    for index in range(0, kills, KILLS_PER_STORM):
        server = ServerProcess(folder / f"kill-{index}")
        await run(server, faults.kill, min(KILLS_PER_STORM, kills - index), result)
    print(result, flush=True)
    for fault in DISK_FAULTS:
        name = getattr(fault, "__name__", "fault")
        result = Result(name)
        await run(ServerProcess(folder / name, "--authorization-mode=AlwaysAllow"), fault, each, result)
        print(result, flush=True)
    result = Result("failed_sync")
    await run(FailingSyncServer(folder / "failed_sync"), faults.failed_sync, each, result)
    print(result, flush=True)
    for name in ETCD_FAULTS:
        result = Result(f"etcd {name}")
        with etcd(folder / f"etcd-{name}") as cluster:
            async with Proxy(cluster.members[0].port) as proxy:
                server = ServerProcess(folder / f"data-{name}", f"--etcd-servers={proxy.url}")
                await run(server, getattr(faults.EtcdFaults(cluster, proxy), name), each, result)
        print(result, flush=True)
    print("nothing acknowledged was lost, no watch had a gap or a repeat, no damaged value was served")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--faults", type=int, default=200)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(torture(args.kills, args.faults, Path(folder)))


if __name__ == "__main__":
    main()
