"""Resource usage of a process as the kernel counts it."""

from __future__ import annotations

import os
import re
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")


def cpu(pid: int) -> float:
    """Return the CPU seconds used so far, user and system, by the process and by its children that have ended."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return sum(map(int, fields[11:15])) / TICKS


def rss(pid: int) -> int:
    """Return the resident set size in bytes."""
    found = re.search(r"^VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(), re.M)
    assert found is not None
    return int(found[1]) * 1024
