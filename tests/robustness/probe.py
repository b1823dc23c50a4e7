"""Measurements of a server process under attack: the longest hold of its event loop, and its peak memory.

The hold is measured in CPU time of the server process, so that other programs on the machine do not matter.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path
from statistics import median
from types import TracebackType

from tests.conformance.client import Server
from tests.support.server import ServerProcess

_INTERVAL = 0.005


def cpu_seconds(pid: int) -> float:
    """Return the CPU time that all threads of a process have used. An ended thread no longer counts."""
    total = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            total += int((task / "schedstat").read_text().split()[0])
        except OSError:
            continue
    return total / 1e9


def memory(pid: int, field: str) -> int:
    """Return a figure of /proc/<pid>/status, such as VmRSS, in bytes."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) * 1024
    raise AssertionError(f"no {field} of process {pid}")


class Probe:
    """Requests /readyz every five milliseconds, and records the CPU time that the server used until it responded.

    It does so in a process of its own: attackers in the test's process hold its interpreter lock while they encode
    large bodies, and the probe would count the work that the server does meanwhile.
    """

    def __init__(self, server: ServerProcess) -> None:
        self._server = server
        self._holds: list[float] = []
        self.peak_memory = 0
        """Bytes beyond the memory at the start."""

    @property
    def longest_hold(self) -> float:
        """Seconds of CPU time."""
        return max(self._holds, default=0.0)

    @property
    def median_hold(self) -> float:
        """Seconds of CPU time."""
        return median(self._holds)

    def __enter__(self) -> Probe:
        pid = self._server.pid
        self._memory_before = memory(pid, "VmRSS")
        Path(f"/proc/{pid}/clear_refs").write_text("5")  # resets VmHWM
        command = [sys.executable, "-m", __name__, self._server.url, self._server.token, str(pid)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "ready\n"
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        output, _ = self._process.communicate(timeout=120)
        self._holds = json.loads(output)
        self.peak_memory = max(0, memory(self._server.pid, "VmHWM") - self._memory_before)


def _measure(url: str, token: str, pid: int) -> None:
    """Measure until the standard input is closed. Then print all holds."""
    api, ended, holds = Server(url, token), threading.Event(), list[float]()
    connection = api.open(timeout=120)
    api.request(connection, "GET", "/readyz").read()
    print("ready", flush=True)

    def wait_for_end() -> None:
        sys.stdin.read()
        ended.set()

    threading.Thread(target=wait_for_end, daemon=True).start()
    while not ended.wait(_INTERVAL):
        before = cpu_seconds(pid)
        api.request(connection, "GET", "/readyz").read()
        holds.append(cpu_seconds(pid) - before)
    connection.close()
    print(json.dumps(holds))


if __name__ == "__main__":
    _measure(sys.argv[1], sys.argv[2], int(sys.argv[3]))
