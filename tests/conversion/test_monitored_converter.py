from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from polykind.contract import JsonObject
from polykind.conversion.conversion_errors import CALL, ConversionAttemptError, ConversionFailedError
from polykind.conversion.conversion_observer import ConversionTimer
from polykind.conversion.converter_health import Health
from polykind.conversion.monitored_converter import MonitoredConverter, RemoteConverter
from polykind.errors import InternalError, UnknownReasonError
from polykind.metrics.metrics import Metrics
from tests.conversion.hook import crontab

V1, V1BETA1 = "example.com/v1", "example.com/v1beta1"


class StillClock:
    def now(self) -> datetime:
        return datetime(2026, 11, 15, tzinfo=UTC)

    def monotonic(self) -> float:
        return 0.0


class Fake:
    """A converter that waits to be released, and fails if told to."""

    name = address = "https://converter/"
    certificate_expires: datetime | None = None

    def __init__(self) -> None:
        self.calls: list[int] = []
        self.release = asyncio.Event()
        self.release.set()
        self.error: Exception | None = None
        self.closed = False

    async def convert(self, objects: Sequence[JsonObject], to: str) -> list[JsonObject]:
        self.calls.append(len(objects))
        await self.release.wait()
        if self.error:
            raise self.error
        return [{**obj, "apiVersion": to} for obj in objects]

    async def close(self) -> None:
        self.closed = True


def _gate(
    remote: RemoteConverter | None, metrics: Metrics | None = None, seen: list[Health] | None = None
) -> MonitoredConverter:
    told = seen.append if seen is not None else None
    return MonitoredConverter(
        "crontabs.example.com", [V1, V1BETA1], "id", remote, clock=StillClock(), observer=metrics, on_health=told
    )


@pytest.mark.parametrize("remote", [None, Fake()])
async def test_versions_that_the_crd_does_not_have_are_refused(remote: Fake | None) -> None:
    gate = _gate(remote)
    with pytest.raises(UnknownReasonError) as caught:
        await gate.convert([crontab()], "example.com/v9")
    assert caught.value.message == "request to convert CR to an invalid group/version: example.com/v9"
    with pytest.raises(UnknownReasonError) as caught:
        await gate.convert([crontab(), crontab("b", "v9")], V1)
    assert caught.value.message == "request to convert CR from an invalid group/version: example.com/v9"


async def test_without_a_converter_only_the_version_changes() -> None:
    gate = _gate(None)
    assert not gate.is_remote
    assert await gate.convert([crontab("a"), crontab("b", "v1")], V1) == [crontab("a", "v1"), crontab("b", "v1")]
    await gate.close()


async def test_objects_in_the_version_wanted_need_no_call() -> None:
    remote = Fake()
    obj = crontab(version="v1")
    assert await _gate(remote).convert([obj], V1) == [obj]
    assert not remote.calls


async def test_what_is_shared_is_counted() -> None:
    metrics = Metrics()
    _gate(Fake(), metrics).shared(3)
    _gate(Fake()).shared(3)
    assert metrics.conversion_shared.of("crontabs.example.com").value == 3


async def test_failures_are_counted_and_change_the_health() -> None:
    remote, metrics, seen = Fake(), Metrics(), list[Health]()
    gate = _gate(remote, metrics, seen)
    remote.error = ConversionFailedError(ConversionAttemptError("late", CALL, "Timeout"), crontab(), V1, remote.address)
    for _ in range(3):
        with pytest.raises(ConversionFailedError):
            await gate.convert([crontab()], V1)
    assert [h.failures for h in seen] == [1, 2, 3]
    assert gate.health.cause == "Timeout"
    labels = ("crontabs.example.com", "https://converter/")
    assert metrics.conversion_timeouts.of(*labels).value == 3
    assert metrics.conversion_failures.of(*labels, "Timeout").value == 3
    remote.error = None
    await gate.convert([crontab()], V1)
    assert gate.health.failures == 0
    assert sum(metrics.crd_seconds.of("crontabs.example.com", "v1beta1", "v1", "true").buckets) == 1


async def test_a_converter_that_cannot_be_called_is_unhealthy_too() -> None:
    remote = Fake()
    remote.error = InternalError("error resolving resource")
    gate = _gate(remote)
    with pytest.raises(InternalError):
        await gate.convert([crontab()], V1)
    assert gate.health.failures == 1


async def test_a_cancelled_request_says_nothing_of_the_converter() -> None:
    remote = Fake()
    remote.release.clear()
    gate = _gate(remote, Metrics())
    task = asyncio.create_task(gate.convert([crontab()], V1))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert gate.health == Health()


async def test_the_time_that_a_request_spends_is_summed() -> None:
    gate = _gate(Fake())
    counted = ConversionTimer(gate.convert([crontab()], V1))
    await counted
    assert counted.time.seconds > 0
