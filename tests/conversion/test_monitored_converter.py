from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from polykind.contract import JsonObject
from polykind.conversion.conversion_errors import CALL, AttemptError, ConversionFailedError
from polykind.conversion.conversion_observer import ConversionTimer
from polykind.conversion.converter_health import Health
from polykind.conversion.monitored_converter import MonitoredConverter, RemoteConverter
from polykind.errors import InternalError, UnknownReasonError
from polykind.metrics.metrics import Metrics
from polykind.webhook.presence import WebhookPresence
from tests.conversion.hook import crontab

V1, V1BETA1 = "example.com/v1", "example.com/v1beta1"


class FixedClock:
    def __init__(self) -> None:
        self.seconds = 0.0

    def now(self) -> datetime:
        return datetime(2026, 11, 15, tzinfo=UTC)

    def monotonic(self) -> float:
        return self.seconds


class FakeConverter:
    """A converter that waits to be released, and fails on demand."""

    name = address = "https://converter/"
    certificate_expires: datetime | None = None
    presence: WebhookPresence | None = None
    service = ""
    repair = ""

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

    def reconnect(self) -> None:
        pass

    async def close(self) -> None:
        self.closed = True


def monitored(
    remote: RemoteConverter | None,
    metrics: Metrics | None = None,
    health_changes: list[Health] | None = None,
    clock: FixedClock | None = None,
) -> MonitoredConverter:
    on_health_change = health_changes.append if health_changes is not None else None
    return MonitoredConverter(
        "crontabs.example.com",
        [V1, V1BETA1],
        "id",
        remote,
        clock=clock or FixedClock(),
        observer=metrics,
        on_health=on_health_change,
    )


@pytest.mark.parametrize("remote", [None, FakeConverter()])
async def test_unknown_versions_are_rejected(remote: FakeConverter | None) -> None:
    converter = monitored(remote)
    with pytest.raises(UnknownReasonError) as caught:
        await converter.convert([crontab()], "example.com/v9")
    assert caught.value.message == "request to convert CR to an invalid group/version: example.com/v9"
    with pytest.raises(UnknownReasonError) as caught:
        await converter.convert([crontab(), crontab("b", "v9")], V1)
    assert caught.value.message == "request to convert CR from an invalid group/version: example.com/v9"


async def test_strategy_none_changes_only_the_version() -> None:
    converter = monitored(None)
    assert not converter.is_remote
    assert await converter.convert([crontab("a"), crontab("b", "v1")], V1) == [crontab("a", "v1"), crontab("b", "v1")]
    await converter.close()


async def test_objects_at_the_requested_version_need_no_call() -> None:
    remote = FakeConverter()
    obj = crontab(version="v1")
    assert await monitored(remote).convert([obj], V1) == [obj]
    assert not remote.calls


async def test_shared_objects_are_counted() -> None:
    metrics = Metrics()
    monitored(FakeConverter(), metrics).shared(3)
    monitored(FakeConverter()).shared(3)
    assert metrics.conversion_shared.of("crontabs.example.com").value == 3


async def test_failures_are_counted_and_change_the_health() -> None:
    remote, metrics, health_changes = FakeConverter(), Metrics(), list[Health]()
    converter = monitored(remote, metrics, health_changes)
    remote.error = ConversionFailedError(AttemptError("late", CALL, "Timeout"), crontab(), V1, remote.address)
    for _ in range(3):
        with pytest.raises(ConversionFailedError):
            await converter.convert([crontab()], V1)
    assert [h.failures for h in health_changes] == [1, 2, 3]
    assert converter.health.cause == "Timeout"
    labels = ("crontabs.example.com", "https://converter/")
    assert metrics.conversion_timeouts.of(*labels).value == 3
    assert metrics.conversion_failures.of(*labels, "Timeout").value == 3
    remote.error = None
    await converter.convert([crontab()], V1)
    assert converter.health.failures == 0
    assert sum(metrics.crd_seconds.of("crontabs.example.com", "v1beta1", "v1", "true").buckets) == 1


async def test_uncallable_converter_is_unhealthy() -> None:
    remote = FakeConverter()
    remote.error = InternalError("error resolving resource")
    converter = monitored(remote)
    with pytest.raises(InternalError):
        await converter.convert([crontab()], V1)
    assert converter.health.failures == 1


async def test_cancelled_request_does_not_change_health() -> None:
    remote = FakeConverter()
    remote.release.clear()
    converter = monitored(remote, Metrics())
    task = asyncio.create_task(converter.convert([crontab()], V1))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert converter.health == Health()


async def test_conversion_time_of_a_request_is_summed() -> None:
    converter = monitored(FakeConverter())
    counted = ConversionTimer(converter.convert([crontab()], V1))
    await counted
    assert counted.time.seconds > 0


async def test_failures_are_logged_every_few_seconds(caplog: pytest.LogCaptureFixture) -> None:
    remote, clock = FakeConverter(), FixedClock()
    converter = monitored(remote, clock=clock)

    async def fails(text: str) -> None:
        remote.error = InternalError(text)
        with pytest.raises(InternalError):
            await converter.convert([crontab()], V1)

    for text in ("first", "second", "third"):
        await fails(text)
    clock.seconds = 6.0
    await fails("fourth")
    lines = [record.getMessage() for record in caplog.records if "a conversion failed" in record.getMessage()]
    assert lines == [
        "CRD crontabs.example.com: a conversion failed: Internal error occurred: first",
        "CRD crontabs.example.com: a conversion failed: Internal error occurred: fourth"
        " (and 2 more since the last such line)",
    ]
