"""Measurements of a server process under attack: the longest hold of its event loop, and its peak memory.

The hold is measured in CPU time of the server process, so that other programs on the machine do not matter.
"""

from __future__ import annotations

import threading
import time
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


class Probe(threading.Thread):
    """Requests /readyz every five milliseconds, and records the CPU time that the server used until it responded."""

    def __init__(self, server: ServerProcess) -> None:
        super().__init__(daemon=True)
        self._pid = server.pid
        self._api = Server(server.url, server.token)
        self._ended = threading.Event()
        self._ready = threading.Event()
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
        self._memory_before = memory(self._pid, "VmRSS")
        Path(f"/proc/{self._pid}/clear_refs").write_text("5")  # resets VmHWM
        self.start()
        self._ready.wait(30)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._ended.set()
        self.join(120)
        self.peak_memory = max(0, memory(self._pid, "VmHWM") - self._memory_before)

    def run(self) -> None:
        connection = self._api.open(timeout=120)
        self._api.request(connection, "GET", "/readyz").read()
        self._ready.set()
        while not self._ended.is_set():
            before = cpu_seconds(self._pid)
            self._api.request(connection, "GET", "/readyz").read()
            self._holds.append(cpu_seconds(self._pid) - before)
            time.sleep(_INTERVAL)
        connection.close()
