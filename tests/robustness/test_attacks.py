"""Attacks on the event loop and on memory. `make torture` repeats them with concurrent attackers."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from polykind.http2.frames import INITIAL_WINDOW_SIZE
from tests.robustness.attack_table import ALL_WIRE_ATTACKS, run_attack
from tests.robustness.attacker import BOMBS, Attacker, own_attacker, prepare
from tests.robustness.attacks import ATTACKS, CI_ATTACKS
from tests.robustness.http2_attacks import CI_HTTP2_ATTACKS
from tests.robustness.http2_client import Http2Client
from tests.robustness.http2_client import head as http2_head
from tests.robustness.http2_client import request as http2_request
from tests.robustness.probe import Probe, cpu_seconds
from tests.robustness.wire_attacks import CI_WIRE_ATTACKS
from tests.support.raw import connect, head
from tests.support.server import ServerProcess
from tests.support.waiting import eventually

MAX_HOLD = 0.05
"""The longest time for which one request may hold the event loop, in seconds."""
MAX_MEMORY = 64 * 1024 * 1024
"""The memory that one client may make the server use, in bytes."""
MAX_CONCURRENT_HOLD = 0.2
"""The longest time for which concurrent attackers may hold the event loop, in seconds."""
ATTACKERS = 8
"""The number of concurrent attackers in `make torture`."""
ATTACKER_SECONDS = 300.0
"""The timeout of a concurrent attacker's request, beyond the server's own timeout for requests."""
ROUNDS = int(os.environ.get("POLYKIND_ATTACK_ROUNDS", "0"))


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with ServerProcess(tmp_path_factory.mktemp("attacks") / "data") as server:
        prepare(server)
        yield server


@pytest.mark.parametrize("name", ATTACKS if ROUNDS else CI_ATTACKS)
def test_attack_neither_holds_the_event_loop_nor_fills_the_memory(target: ServerProcess, name: str) -> None:
    check_attack(target, name)


@pytest.mark.parametrize("name", ALL_WIRE_ATTACKS if ROUNDS else (*CI_WIRE_ATTACKS, *CI_HTTP2_ATTACKS))
def test_hostile_bytes_neither_hold_the_event_loop_nor_fill_the_memory(target: ServerProcess, name: str) -> None:
    check_attack(target, name)


def check_attack(target: ServerProcess, name: str) -> None:
    figures = run_attack(target, name, ROUNDS or 1)
    print(figures)
    assert figures.statuses == {figures.expected}
    assert max(figures.holds) < MAX_HOLD
    assert max(figures.memory) < MAX_MEMORY
    assert target.alive()


@pytest.mark.timeout(ATTACKER_SECONDS * (ROUNDS + 1))
@pytest.mark.skipif(not ROUNDS, reason="make torture")
def test_concurrent_attacks(target: ServerProcess) -> None:
    """The attackers share two worker threads and may wait for minutes. The probe never waits for long."""
    failures = []

    def run(name: str) -> None:
        attack, expected = ATTACKS[name]
        with own_attacker(target, ATTACKER_SECONDS) as attacker:
            try:
                status = attack(attacker).status
            except Exception as error:
                failures.append(f"{name}: {error!r}, after {attacker.statuses}"[:300])
            else:
                if status != expected:
                    failures.append(f"{name}: {status}, not {expected}, after {attacker.statuses}"[:300])

    with ThreadPoolExecutor(ATTACKERS) as pool, Probe(target) as probe:
        list(pool.map(run, [*ATTACKS] * ROUNDS))
    holds = f"{probe.median_hold * 1000:.0f} ms in the median and {probe.longest_hold * 1000:.0f} ms at most"
    print(f"held the event loop for {holds}, took {probe.peak_memory / 1e6:.0f} MB")
    assert not failures
    assert probe.median_hold < MAX_HOLD
    assert probe.longest_hold < MAX_CONCURRENT_HOLD
    assert probe.peak_memory < MAX_MEMORY * ATTACKERS * 2, "beyond the memory of the attackers and the stored objects"
    assert target.alive()
    assert "responding 500" not in target.log.read_text(errors="replace")


def test_unread_pipelined_responses_stay_small(target: ServerProcess) -> None:
    request = head(target, b"GET", BOMBS.encode(), close=False)
    with Probe(target) as probe, connect(target) as client:
        client.settimeout(1)
        sent = 0
        try:
            while sent < 400_000:
                sent += client.send(request * 20)
        except TimeoutError:
            pass
    assert probe.peak_memory < MAX_MEMORY


def test_unread_http2_streams_stay_small(tmp_path: Path) -> None:
    """Half of a connection's streams list, and half of them watch. The client opens no window."""
    with ServerProcess(tmp_path / "data") as server:
        prepare(server)
        attacker = Attacker(server.url, server.token)
        for number in range(20):
            assert attacker.create(f"big{number}", open={"x": "y" * 500_000}).status == 201
        paths = [BOMBS.encode(), BOMBS.encode() + b"?watch=1"] * 50
        with Probe(server) as probe, closing(Http2Client(server, {INITIAL_WINDOW_SIZE: 0})) as client:
            requests = [http2_request(2 * n + 1, http2_head(server, b"GET", path)) for n, path in enumerate(paths)]
            client.send(b"".join(requests))
            assert client.statuses == {200: 100}
            assert attacker.create("last", open={"x": "y" * 500_000}).status == 201
        print(f"held the event loop for {probe.longest_hold * 1000:.0f} ms, took {probe.peak_memory / 1e6:.0f} MB")
        assert probe.peak_memory < MAX_MEMORY
        assert attacker.send("GET", "/readyz").status == 200


def test_request_timeout_ends_a_long_computation(target: ServerProcess) -> None:
    attacker = Attacker(target.url, target.token)
    body = json.dumps({"any": [{}] * 30_000}).encode()
    request = b'{"apiVersion":"attacks.example.com/v1","kind":"Bomb","metadata":{"name":"slow"},"spec":' + body + b"}"
    assert attacker.send("POST", f"{BOMBS}?timeout=1s", request).status == 504
    times = [cpu_seconds(target.pid)]

    def idle() -> bool:
        times.append(cpu_seconds(target.pid))
        return times[-1] - times[-2] < 0.01

    eventually(idle, pause=0.1)
    assert times[-1] - times[0] < 0.4, "the computation goes on after its request has ended"


def test_flood_of_lists_does_not_starve_another_user(tmp_path: Path) -> None:
    (tmp_path / "tokens.csv").write_text("flood,flooder,1,system:masters\nvictim,victim,2,system:masters\n")
    with ServerProcess(tmp_path / "data", f"--token-auth-file={tmp_path / 'tokens.csv'}") as server:
        prepare(server)
        flooder = Attacker(server.url, "flood")
        for number in range(11):
            assert flooder.create(f"big{number}", open={"x": "y" * 1_000_000}).status == 201
        with ThreadPoolExecutor(8) as pool, Probe(server, "/api/v1/namespaces/default", "victim") as victim:
            floods = [pool.submit(flooder.send, "GET", BOMBS) for _ in range(80)]
            assert {flood.result().status for flood in floods} == {200}
        print(f"a GET in the flood is answered after {victim.median_hold * 1000:.1f} ms in the median")
        assert victim.median_hold < 0.02
