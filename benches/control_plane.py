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

from tests.support.envtest import ControlPlane

from benches.process import cpu, rss
from polykind.cli.assets import write_launchers

TURNS = 5
POLL_SECONDS = 0.005


class Start(NamedTuple):
    """The cost of one start of a control plane, both processes together."""

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
    ours, theirs = (Start(*map(statistics.median, zip(*side, strict=True))) for side in zip(*starts, strict=True))
    show("start until ready (ms)", ours.seconds * 1e3, theirs.seconds * 1e3)
    show("CPU time of the start (ms)", ours.cpu_seconds * 1e3, theirs.cpu_seconds * 1e3)
    show("RSS of both processes (MB)", ours.rss / 1e6, theirs.rss / 1e6)
    show("PSS of both processes (MB)", ours.pss / 1e6, theirs.pss / 1e6)
    return 0


def start(assets: Path, folder: Path) -> Start:
    """Start a control plane as envtest does, measure it when it is ready, and stop it."""
    plane = ControlPlane(assets, folder, poll_seconds=POLL_SECONDS)
    children = os.times()
    begin = time.perf_counter()
    try:
        plane.start()
        seconds = time.perf_counter() - begin
        # The children that have ended are those that printed their help.
        ended = os.times()
        helps = ended.children_user + ended.children_system - children.children_user - children.children_system
        processes = plane.process_ids
        return Start(
            seconds,
            helps + sum(map(cpu, processes)),
            sum(map(rss, processes)),
            sum(map(proportional_set_size, processes)),
        )
    finally:
        plane.kill()


def proportional_set_size(pid: int) -> int:
    """Return the memory of a process in bytes. Pages that processes share count in part."""
    found = re.search(r"^Pss:\s+(\d+) kB", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.M)
    assert found is not None
    return int(found[1]) * 1024


def show(what: str, ours: float, theirs: float) -> None:
    print(f"{what:34} {ours:>22.0f}   kube-apiserver {theirs:>15.0f}   {ours / theirs:6.2f}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
