"""Run attacks, each on a fresh server, and print a table: hold of the event loop, memory, status.

python -m tests.robustness.attack_table [name ...]
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from tests.robustness.attacker import BOMB, BOMBS, CRDS, Attacker
from tests.robustness.attacks import ATTACKS
from tests.robustness.http2_attacks import HTTP2_ATTACKS
from tests.robustness.probe import Probe
from tests.robustness.wire_attacks import SLOW_ATTACKS, WIRE_ATTACKS
from tests.support.server import ServerProcess

_WIRE_ATTACKS = {**WIRE_ATTACKS, **HTTP2_ATTACKS, **SLOW_ATTACKS}


def measure(name: str, folder: Path) -> str:
    with ServerProcess(folder) as server:
        attacker = Attacker(server.url, server.token)
        assert attacker.send("POST", CRDS, BOMB).status == 201
        deadline = time.monotonic() + 20
        while attacker.send("GET", BOMBS).status != 200:
            assert time.monotonic() < deadline
        with Probe(server) as probe:
            if name in ATTACKS:
                attack, expected = ATTACKS[name]
                answer = attack(attacker)
                status, body = answer.status, answer.body[:300]
            else:
                wire_attack, expected = _WIRE_ATTACKS[name]
                status, body = wire_attack(server), b""
        alive = "" if server.alive() else "server ended"
    text = f"{status}" if status == expected else f"{status}, not {expected}: {body!r}"
    return f"{name:38} {probe.longest_hold * 1000:5.0f} ms {probe.peak_memory / 1e6:5.0f} MB  {text} {alive}"


def main() -> None:
    for name in sys.argv[1:] or (*ATTACKS, *_WIRE_ATTACKS):
        with tempfile.TemporaryDirectory() as folder:
            try:
                print(measure(name, Path(folder) / "data"), flush=True)
            except Exception as error:
                print(f"{name:38} {error!r}", flush=True)


if __name__ == "__main__":
    main()
