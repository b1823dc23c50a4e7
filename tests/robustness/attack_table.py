"""Run attacks, and print a table: hold of the event loop, memory, status.

python -m tests.robustness.attack_table [--rounds 3] [name ...]
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from statistics import median
from typing import NamedTuple

from tests.robustness.attacker import BOMBS, Attacker, own_attacker, prepare
from tests.robustness.attacks import ATTACKS
from tests.robustness.http2_attacks import HTTP2_ATTACKS
from tests.robustness.probe import Probe
from tests.robustness.wire_attacks import SLOW_ATTACKS, WIRE_ATTACKS
from tests.support.server import ServerProcess

ALL_WIRE_ATTACKS = {**WIRE_ATTACKS, **HTTP2_ATTACKS, **SLOW_ATTACKS}


class Figures(NamedTuple):
    """The figures of one attack in several rounds."""

    name: str
    expected: int
    """The expected status."""
    holds: list[float]
    """The longest hold of the event loop in each round, in seconds."""
    memory: list[int]
    """The memory that the server took in each round, in bytes."""
    statuses: set[int]

    def __str__(self) -> str:
        statuses = " ".join(map(str, sorted(self.statuses)))
        wrong = "" if self.statuses == {self.expected} else f", not {self.expected}"
        holds = f"{max(self.holds) * 1000:4.0f} ms at most, {median(self.holds) * 1000:4.0f} ms in the median"
        return f"{self.name:40} {holds}, {max(self.memory) / 1e6:4.0f} MB, status {statuses}{wrong}"


def run_attack(server: ServerProcess, name: str, rounds: int) -> Figures:
    """Attack a server that is `prepare`d, and measure each round."""
    expected = (ATTACKS.get(name) or ALL_WIRE_ATTACKS[name])[1]
    figures = Figures(name, expected, [], [], set())
    for _ in range(rounds):
        with own_attacker(server) as attacker, Probe(server) as probe:
            status = _attack(server, attacker, name)
        figures.holds.append(probe.longest_hold)
        figures.memory.append(probe.peak_memory)
        figures.statuses.add(status)
    return figures


def _attack(server: ServerProcess, attacker: Attacker, name: str) -> int:
    if name in ATTACKS:
        return ATTACKS[name][0](attacker).status
    try:
        return ALL_WIRE_ATTACKS[name][0](server)
    finally:
        Attacker(server.url, server.token).send("DELETE", BOMBS)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, ServerProcess(Path(folder) / "data") as server:
        prepare(server)
        for name in args.names or (*ATTACKS, *ALL_WIRE_ATTACKS):
            print(run_attack(server, name, args.rounds), flush=True)


if __name__ == "__main__":
    main()
