"""Fault injection: the effect of each fault on a caller, and the recovery."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest

from polykind.toolkit.hosting.webhook_host import Host
from tests.toolkit.crds import GROUP
from tests.toolkit.hosting.hosts import Caller, calling, crontabs, names, review


@asynccontextmanager
async def hosted() -> AsyncIterator[Caller]:
    async with Host([crontabs()]) as host, calling(host) as caller:
        yield caller
        host.faults.clear()
        assert names((await caller.convert())[1]) == ["one"]


async def test_down_refuses_connections_and_keeps_the_port() -> None:
    async with hosted() as caller:
        port = caller.host.port
        caller.host.faults.down()
        with pytest.raises(aiohttp.ClientConnectorError, match="Connect call failed"):
            await caller.convert()
        assert caller.host.port == port


async def test_down_closes_open_connections() -> None:
    async with Host([crontabs()]) as host, calling(host) as caller:
        host.faults.delay(20)
        under_way = asyncio.ensure_future(caller.convert())
        while not host.faults._active[0].seen:
            await asyncio.sleep(0)
        host.faults.down()
        with pytest.raises(aiohttp.ClientError):
            await under_way


async def test_down_can_be_toggled() -> None:
    async with hosted() as caller:
        for _ in range(5):
            with caller.host.faults.down(), pytest.raises(aiohttp.ClientConnectorError):
                await caller.convert()
            assert (await caller.convert())[0] == 200


async def test_an_unknown_certificate_is_not_trusted() -> None:
    async with hosted() as caller:
        caller.host.faults.unknown_certificate()
        with pytest.raises(aiohttp.ClientConnectorCertificateError, match="unable to get local issuer certificate"):
            await caller.convert()


async def test_hang_up_closes_without_a_response() -> None:
    async with hosted() as caller:
        caller.host.faults.hang_up()
        with pytest.raises(aiohttp.ServerDisconnectedError):
            await caller.convert()


async def test_status() -> None:
    async with hosted() as caller:
        caller.host.faults.status(503, "no room")
        assert await caller.convert() == (503, "no room\n")


async def test_fail() -> None:
    async with hosted() as caller:
        caller.host.faults.fail("told to")
        _, response = await caller.convert()
        assert response == {
            "uid": "u1", "convertedObjects": [], "result": {"status": "Failed", "message": "told to"}
        }  # fmt: skip


async def test_wrong_uid() -> None:
    async with hosted() as caller:
        caller.host.faults.wrong_uid()
        _, response = await caller.convert()
        assert (response["uid"], names(response)) == ("00000000-0000-0000-0000-000000000000", ["one"])


async def test_fewer() -> None:
    async with hosted() as caller:
        caller.host.faults.fewer()
        assert names((await caller.convert(review("one", "two")))[1]) == ["one"]


async def test_reordered() -> None:
    async with hosted() as caller:
        caller.host.faults.reordered()
        assert names((await caller.convert(review("one", "two")))[1]) == ["two", "one"]


async def test_renamed() -> None:
    async with hosted() as caller:
        caller.host.faults.renamed("other")
        assert names((await caller.convert())[1]) == ["other"]


async def test_not_json() -> None:
    async with hosted() as caller:
        caller.host.faults.not_json()
        assert await caller.convert() == (200, "this is no JSON")


async def test_delay_ends_when_cleared() -> None:
    async with hosted() as caller:
        fault = caller.host.faults.delay(3600)
        waiting = asyncio.ensure_future(caller.convert())
        while not fault.seen:
            await asyncio.sleep(0)
        assert not waiting.done()
        fault.clear()
        assert names((await waiting)[1]) == ["one"]


async def test_delay_ends_after_its_time() -> None:
    async with hosted() as caller:
        caller.host.faults.delay(0.01)
        assert names((await caller.convert())[1]) == ["one"]


async def test_stop_does_not_wait_for_a_delay() -> None:
    async with Host([crontabs()]) as host, calling(host) as caller:
        fault = host.faults.delay(3600)
        waiting = asyncio.ensure_future(caller.convert())
        while not fault.seen:
            await asyncio.sleep(0)
        await host.stop()
        assert names((await waiting)[1]) == ["one"]


@pytest.mark.parametrize(
    ("only", "met"),
    [
        ({"names": ["two"]}, True),
        ({"names": ["three"]}, False),
        ({"kinds": ["CronTab"]}, True),
        ({"kinds": [f"CronTab.{GROUP}"]}, True),
        ({"kinds": ["CronTab.other.example.com"]}, False),
        ({"names": ["two"], "kinds": ["Other"]}, False),
        ({"times": 0}, False),
    ],
)
async def test_fault_can_be_limited_to_some_reviews(only: Any, met: bool) -> None:
    async with hosted() as caller:
        fault = caller.host.faults.fail("told to", **only)
        _, response = await caller.convert(review("one", "two"))
        assert (response["result"]["status"], fault.seen) == (("Failed", 1) if met else ("Success", 0))


async def test_fault_can_be_limited_to_the_next_reviews() -> None:
    async with hosted() as caller:
        caller.host.faults.status(500, times=2)
        assert [(await caller.convert())[0] for _ in range(3)] == [500, 500, 200]


async def test_faults_combine_and_clear_independently() -> None:
    async with hosted() as caller:
        faults = caller.host.faults
        faults.reordered()
        with faults.fewer():
            assert list(faults.active) == ["reordered", "fewer"]
            assert names((await caller.convert(review("a", "b", "c")))[1]) == ["c", "b"]
        assert list(faults.active) == ["reordered"]


def test_names_must_be_a_collection() -> None:
    with pytest.raises(TypeError, match=r'names and kinds must be collections, such as \["my-crontab"\]'):
        Host([crontabs()]).faults.fail("x", names="one")


async def test_faults_can_be_set_from_another_thread() -> None:
    async with hosted() as caller:
        switched = threading.Thread(target=caller.host.faults.down)
        switched.start()
        await asyncio.to_thread(switched.join)
        with pytest.raises(aiohttp.ClientConnectorError):
            await caller.convert()


async def test_unlimited_faults_apply_to_invalid_bodies() -> None:
    async with hosted() as caller:
        caller.host.faults.wrong_uid()
        assert await caller.convert({}) == (400, "the body is not a ConversionReview\n")


async def test_faults_end_with_the_host() -> None:
    host = Host([crontabs()])
    async with host:
        host.faults.down()
    assert host.faults.active == ()
