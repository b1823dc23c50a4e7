"""Measurements of a server process under attack: the longest hold of its event loop, and its peak memory.

A hold is the time for which the event loop cannot serve another client, without the time for which other programs have
the CPU: the CPU time of the event loop's thread, and the time for which other threads keep the interpreter lock.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from pathlib import Path
from statistics import median
from types import TracebackType
from typing import NamedTuple

from tests.conformance.client import Server
from tests.support.server import ServerProcess

_INTERVAL = 0.005


def _thread_seconds(task: Path) -> tuple[float, float]:
    """Return the seconds for which a thread has run, and those for which it has waited for a CPU."""
    try:
        ran, waited, _ = (task / "schedstat").read_text().split()
    except OSError:  # The thread has ended.
        return 0.0, 0.0
    return int(ran) / 1e9, int(waited) / 1e9


def cpu_seconds(pid: int) -> float:
    """Return the CPU time that all threads of a process have used. An ended thread no longer counts."""
    return sum(_thread_seconds(task)[0] for task in Path(f"/proc/{pid}/task").iterdir())


def memory(pid: int, field: str) -> int:
    """Return a figure of /proc/<pid>/status, such as VmRSS, in bytes."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) * 1024
    raise AssertionError(f"no {field} of process {pid}")


class _Usage(NamedTuple):
    """The times of a server and of the probe, in seconds."""

    now: float
    loop: float
    """CPU time of the event loop's thread: the main thread."""
    others: dict[str, float]
    """CPU times of the other threads."""
    excused: float
    """The time that the event loop's thread has waited for a CPU, and that the probe has used one or waited for it."""

    @classmethod
    def read(cls, pid: int) -> _Usage:
        tasks = Path(f"/proc/{pid}/task")
        loop, loop_waited = _thread_seconds(tasks / str(pid))
        others = {task.name: _thread_seconds(task)[0] for task in tasks.iterdir() if task.name != str(pid)}
        own = sum(_thread_seconds(Path("/proc/thread-self")))
        return cls(time.monotonic(), loop, others, loop_waited + own)

    def hold(self, before: _Usage) -> float:
        """Return for how long the server has held its event loop since `before`."""
        loop = self.loop - before.loop
        others = sum(max(0.0, ran - before.others.get(name, 0.0)) for name, ran in self.others.items())
        blocked = self.now - before.now - loop - (self.excused - before.excused)
        return loop + max(0.0, min(others, blocked))


class Probe:
    """Requests a path every five milliseconds, and records for how long the server held its event loop meanwhile.

    It does so in a process of its own: attackers in the test's process hold its interpreter lock while they encode
    large bodies, and the probe would count the work that the server does meanwhile.
    """

    def __init__(self, server: ServerProcess, path: str = "/readyz", token: str = "") -> None:
        self._server = server
        self._arguments = server.url, token or server.token, path
        self._holds: list[float] = []
        self.peak_memory = 0
        """Bytes beyond the memory at the start."""

    @property
    def longest_hold(self) -> float:
        """Seconds."""
        return max(self._holds, default=0.0)

    @property
    def median_hold(self) -> float:
        """Seconds."""
        return median(self._holds)

    def __enter__(self) -> Probe:
        pid = self._server.pid
        self._memory_before = memory(pid, "VmRSS")
        Path(f"/proc/{pid}/clear_refs").write_text("5")  # resets VmHWM
        command = [sys.executable, "-m", __name__, str(pid), *self._arguments]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "ready\n"
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        output, _ = self._process.communicate(timeout=120)
        self._holds = json.loads(output)
        self.peak_memory = max(0, memory(self._server.pid, "VmHWM") - self._memory_before)


def _measure(pid: int, url: str, token: str, path: str) -> None:
    """Measure until the standard input is closed. Then print all holds."""
    api, ended, holds = Server(url, token), threading.Event(), list[float]()
    connection = api.open(timeout=120)
    assert api.request(connection, "GET", path).read()
    print("ready", flush=True)

    def wait_for_end() -> None:
        sys.stdin.read()
        ended.set()

    threading.Thread(target=wait_for_end, daemon=True).start()
    while not ended.wait(_INTERVAL):
        before = _Usage.read(pid)
        api.request(connection, "GET", path).read()
        holds.append(_Usage.read(pid).hold(before))
    connection.close()
    print(json.dumps(holds))


if __name__ == "__main__":
    _measure(int(sys.argv[1]), *sys.argv[2:])
