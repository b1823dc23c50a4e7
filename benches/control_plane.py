"""The launchers relative to kube-apiserver and etcd: time until ready, CPU time, and memory.

python -m benches.control_plane DIR    DIR contains the programs kube-apiserver and etcd
"""

from __future__ import annotations

import os
import platform
import re
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from benches.process import cpu, rss
from polykind.cli.assets import write_launchers
from tests.support.envtest import ControlPlane

TURNS = 5
POLL_SECONDS = 0.005
STAGES = ("until healthy", "until the first request with a client certificate is answered")


class Cost(NamedTuple):
    """The cost of a control plane since its start, both processes together."""

    seconds: float
    cpu_seconds: float
    rss: int
    pss: int


def main() -> int:
    given = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("KUBE_ASSETS", "")
    if not given:
        print("control_plane: skipped; KUBE_ASSETS=DIR names the directory of kube-apiserver and etcd")
        return 0
    print(f"$ python -m benches.control_plane {given}")
    print(f"{platform.machine()}, {os.cpu_count()} CPUs, Python {platform.python_version()}, median of {TURNS} starts")
    with tempfile.TemporaryDirectory(dir=".") as temporary:
        folder = Path(temporary)
        write_launchers(folder / "assets")
        # Both alternate, because the machine's other load varies.
        starts = [
            (start(folder / "assets", folder / f"ours{turn}"), start(Path(given), folder / f"theirs{turn}"))
            for turn in range(TURNS)
        ]
    ours, theirs = (list(zip(*side, strict=True)) for side in zip(*starts, strict=True))
    for stage, our_costs, their_costs in zip(STAGES, ours, theirs, strict=True):
        print(stage)
        our, their = (Cost(*map(statistics.median, zip(*costs, strict=True))) for costs in (our_costs, their_costs))
        show("  time (ms)", our.seconds * 1e3, their.seconds * 1e3)
        show("  CPU time (ms)", our.cpu_seconds * 1e3, their.cpu_seconds * 1e3)
        show("  RSS of both processes (MB)", our.rss / 1e6, their.rss / 1e6)
        show("  PSS of both processes (MB)", our.pss / 1e6, their.pss / 1e6)
    return 0


def start(assets: Path, folder: Path) -> tuple[Cost, Cost]:
    """Start a control plane as envtest does, measure it at each stage, and stop it."""
    plane = ControlPlane(assets, folder, poll_seconds=POLL_SECONDS)
    before, begin = _ended_cpu_seconds(), time.perf_counter()

    def cost() -> Cost:
        seconds, processes = time.perf_counter() - begin, plane.process_ids
        # The processes that have ended are those that printed their help.
        spent = _ended_cpu_seconds() - before + sum(map(cpu, processes))
        return Cost(seconds, spent, sum(map(rss, processes)), sum(map(proportional_set_size, processes)))

    try:
        plane.start_until_healthy()
        healthy = cost()
        plane.wait_for_default_namespace()
        return healthy, cost()
    finally:
        plane.kill()


def _ended_cpu_seconds() -> float:
    """Return the CPU seconds of the child processes that have ended."""
    times = os.times()
    return times.children_user + times.children_system


def proportional_set_size(pid: int) -> int:
    """Return the memory of a process in bytes. Pages that processes share count in part."""
    found = re.search(r"^Pss:\s+(\d+) kB", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.M)
    assert found is not None
    return int(found[1]) * 1024


def show(what: str, ours: float, theirs: float) -> None:
    print(f"{what:34} {ours:>10.0f}   kube-apiserver {theirs:>15.0f}   {ours / theirs:6.2f}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
