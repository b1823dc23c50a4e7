"""Attacks on the event loop and on memory. `make torture` repeats them with concurrent attackers."""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from polykind.http.http2.frames import INITIAL_WINDOW_SIZE
from tests.robustness.attacker import BOMB, BOMBS, CRDS, Attacker
from tests.robustness.attacks import ATTACKS, CI_ATTACKS
from tests.robustness.http2_attacks import CI_HTTP2_ATTACKS, HTTP2_ATTACKS
from tests.robustness.http2_client import Http2Client
from tests.robustness.http2_client import head as http2_head
from tests.robustness.http2_client import request as http2_request
from tests.robustness.probe import Probe, cpu_seconds
from tests.robustness.wire_attacks import CI_WIRE_ATTACKS, SLOW_ATTACKS, WIRE_ATTACKS
from tests.support.raw import connect, head
from tests.support.server import ServerProcess

MAX_HOLD = 0.05
"""The longest time for which one request may hold the event loop, in seconds of CPU time."""
NOISE = 2.0
"""A factor for machines that run other programs as well, which slow the server down even in CPU time."""
ATTEMPTS = 6
"""A real hold shows in every attempt. Other programs can delay the probe, which then counts the work of all threads."""
MAX_MEMORY = 64 * 1024 * 1024
"""The memory that one client may make the server use, in bytes."""
MAX_CONCURRENT_HOLD = 0.2
"""The longest time for which concurrent attackers may hold the event loop, in seconds of CPU time."""
ATTACKERS = 8
"""The number of concurrent attackers in `make torture`."""
ATTACKER_SECONDS = 300.0
"""The timeout of a concurrent attacker's request, beyond the server's own timeout for requests."""
ROUNDS = int(os.environ.get("POLYKIND_ATTACK_ROUNDS", "0"))


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with ServerProcess(tmp_path_factory.mktemp("attacks") / "data") as server:
        attacker = Attacker(server.url, server.token)
        assert attacker.send("POST", CRDS, BOMB).status == 201
        deadline = time.monotonic() + 20
        while attacker.send("GET", BOMBS).status != 200:
            assert time.monotonic() < deadline
        yield server


@pytest.mark.parametrize("name", ATTACKS if ROUNDS else CI_ATTACKS)
def test_attack_neither_holds_the_event_loop_nor_fills_the_memory(target: ServerProcess, name: str) -> None:
    attack, status = ATTACKS[name]
    attacker = Attacker(target.url, target.token)
    for attempt in range(ATTEMPTS):
        with Probe(target) as probe:
            answer = attack(attacker)
        print(
            f"{name}: held the event loop for {probe.longest_hold * 1000:.0f} ms, "
            f"took {probe.peak_memory / 1e6:.0f} MB, status {answer.status}"
        )
        assert target.alive()
        assert attempt or answer.status == status, answer.body[:300]
        if probe.longest_hold < MAX_HOLD * NOISE and probe.peak_memory < MAX_MEMORY:
            return
        attacker.send("DELETE", BOMBS)
    raise AssertionError("every attempt held the event loop for too long, or took too much memory")


_WIRE_ATTACKS = {**WIRE_ATTACKS, **HTTP2_ATTACKS, **SLOW_ATTACKS}


@pytest.mark.parametrize("name", _WIRE_ATTACKS if ROUNDS else (*CI_WIRE_ATTACKS, *CI_HTTP2_ATTACKS))
def test_hostile_bytes_neither_hold_the_event_loop_nor_fill_the_memory(target: ServerProcess, name: str) -> None:
    attack, expected = _WIRE_ATTACKS[name]
    for _ in range(ATTEMPTS):
        with Probe(target) as probe:
            status = attack(target)
        figures = f"held the event loop for {probe.longest_hold * 1000:.0f} ms, took {probe.peak_memory / 1e6:.0f} MB"
        print(f"{name}: {figures}, status {status}")
        assert status == expected
        if probe.longest_hold < MAX_HOLD * NOISE and probe.peak_memory < MAX_MEMORY:
            return
    raise AssertionError("every attempt held the event loop for too long, or took too much memory")


@pytest.mark.timeout(ATTACKER_SECONDS * (ROUNDS + 1))
@pytest.mark.skipif(not ROUNDS, reason="make torture")
def test_concurrent_attacks(target: ServerProcess) -> None:
    """The attackers share two worker threads and may wait for minutes. The probe never waits for long."""
    failures = []

    def run(name: str) -> int:
        attacker = Attacker(target.url, target.token, timeout=ATTACKER_SECONDS)
        attack, expected = ATTACKS[name]
        try:
            status = attack(attacker).status
        except (AssertionError, KeyError) as error:
            status, message = 409, f"{name}: {error!r}"[:300]
        else:
            message = f"{name}: {status}, not {expected}"
        # Another attack may have created an object with the same name. Then a create responds 409, and an apply 200.
        if status != expected and 409 not in attacker.statuses and (status, expected) != (200, 201):
            failures.append(f"{message}, after {attacker.statuses}")
        return status

    with ThreadPoolExecutor(ATTACKERS) as pool, Probe(target) as probe:
        statuses = Counter(pool.map(run, [*ATTACKS] * ROUNDS))
    holds = f"{probe.median_hold * 1000:.0f} ms in the median and {probe.longest_hold * 1000:.0f} ms at most"
    print(f"held the event loop for {holds}, took {probe.peak_memory / 1e6:.0f} MB, statuses {dict(statuses)}")
    assert probe.median_hold < MAX_HOLD
    assert probe.longest_hold < MAX_CONCURRENT_HOLD
    assert probe.peak_memory < MAX_MEMORY * ATTACKERS * 2, "beyond the memory of the attackers and the stored objects"
    assert target.alive()
    assert "responding 500" not in target.log.read_text(errors="replace")
    assert not failures
    assert statuses[409] < statuses.total() / 4, "most attacks must take place"


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
        time.sleep(0.2)
    assert probe.peak_memory < MAX_MEMORY


def test_unread_http2_streams_stay_small(tmp_path: Path) -> None:
    """Half of a connection's streams list, and half of them watch. The client opens no window."""
    with ServerProcess(tmp_path / "data") as server:
        attacker = Attacker(server.url, server.token)
        assert attacker.send("POST", CRDS, BOMB).status == 201
        while attacker.create("big", open={"x": "y" * 500_000}).status != 201:
            time.sleep(0.05)
        for number in range(19):
            attacker.create(f"big{number}", open={"x": "y" * 500_000})
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
    begin = cpu_seconds(target.pid)
    request = b'{"apiVersion":"attacks.example.com/v1","kind":"Bomb","metadata":{"name":"slow"},"spec":' + body + b"}"
    assert attacker.send("POST", f"{BOMBS}?timeout=1s", request).status == 504
    used = cpu_seconds(target.pid) - begin
    time.sleep(0.5)
    assert cpu_seconds(target.pid) - begin < used + 0.4, "the computation goes on after its request has ended"


def test_flood_of_lists_does_not_starve_another_user(tmp_path: Path) -> None:
    (tmp_path / "tokens.csv").write_text("flood,flooder,1,system:masters\nvictim,victim,2,system:masters\n")
    with ServerProcess(tmp_path / "data", f"--token-auth-file={tmp_path / 'tokens.csv'}") as server:
        flooder, victim = Attacker(server.url, "flood"), Attacker(server.url, "victim")
        assert flooder.send("POST", CRDS, BOMB).status == 201
        while flooder.create("big", open={"x": "y" * 1_000_000}).status != 201:
            time.sleep(0.05)
        for number in range(10):
            flooder.create(f"big{number}", open={"x": "y" * 1_000_000})

        def read() -> float:
            before = cpu_seconds(server.pid)
            assert victim.send("GET", "/api/v1/namespaces/default").status == 200
            return cpu_seconds(server.pid) - before

        for _ in range(ATTEMPTS):
            alone = sorted(read() for _ in range(30))
            with ThreadPoolExecutor(8) as pool:
                floods = [pool.submit(flooder.send, "GET", BOMBS) for _ in range(80)]
                flooded = sorted(read() for _ in range(30))
                assert {flood.result().status for flood in floods} == {200}
            medians = f"{alone[15] * 1000:.1f} ms alone, {flooded[15] * 1000:.1f} ms in the flood"
            print(f"median CPU time until a GET is answered: {medians}")
            if flooded[15] < alone[15] * 3 + 0.02:
                return
    raise AssertionError("the flood delayed the other user in every attempt")
