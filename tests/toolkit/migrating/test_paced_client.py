"""Pacing and retries, with a clock that only moves when the client waits."""

from __future__ import annotations

from typing import Any

import pytest

from polykind.cluster.cluster_client import StatusError, UnreachableError
from polykind.contract import JsonObject
from polykind.toolkit.migrating.paced_client import PacedClient


class Scripted:
    """A cluster whose responses are given in advance."""

    def __init__(self, *responses: Exception) -> None:
        self.responses = list(responses)
        self.calls = 0

    async def request(self, method: str, path: str, body: object = None, **more: Any) -> JsonObject:
        self.calls += 1
        if self.responses:
            raise self.responses.pop(0)
        return {}


class FakeTime:
    def __init__(self) -> None:
        self.now = 0.0

    async def sleep(self, seconds: float) -> None:
        self.now += seconds


def paced(cluster: Scripted, time: FakeTime, rate: float) -> PacedClient:
    return PacedClient(cluster, rate, now=lambda: time.now, sleep=time.sleep)  # type: ignore[arg-type]


async def test_requests_keep_to_the_rate() -> None:
    time = FakeTime()
    client = paced(Scripted(), time, rate=10)
    for _ in range(21):
        await client.send("GET", "/")
    assert time.now == pytest.approx(2.0)


async def test_busy_server_decides_how_long_to_wait_and_slows_the_client_down() -> None:
    time, cluster = FakeTime(), Scripted(StatusError(429, "too many requests", 7.0))
    client = paced(cluster, time, rate=10)
    await client.send("GET", "/")
    assert (cluster.calls, client.throttled) == (2, 1)
    assert time.now >= 7.0
    assert client.current_rate == pytest.approx(5 * 1.02)
    for _ in range(50):
        await client.send("GET", "/")
    assert client.current_rate == 10


async def test_unreachable_server_is_tried_again() -> None:
    time, cluster = FakeTime(), Scripted(UnreachableError("connection refused"))
    await paced(cluster, time, rate=0).send("GET", "/")
    assert cluster.calls == 2


async def test_other_errors_and_the_last_attempt_are_raised() -> None:
    with pytest.raises(StatusError, match="invalid"):
        await paced(Scripted(StatusError(422, "invalid")), FakeTime(), 0).send("GET", "/")
    busy = Scripted(*[StatusError(429, "busy", 1.0) for _ in range(6)])
    with pytest.raises(StatusError, match="busy"):
        await paced(busy, FakeTime(), 0).send("GET", "/")
    assert busy.calls == 6
