"""Processes are killed, paused and cut off under load: no write is lost, no read is stale, no watch has a gap."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.replicas.conftest import Fleet
from tests.replicas.history import faults, gaps, writes
from tests.replicas.load import Load, client, define, path, register
from tests.support.etcd import Etcd
from tests.support.proxy import Proxy
from tests.support.server import ServerProcess

GROUP = "faults.example.com"


async def check_history(load: Load) -> None:
    """Check that no acknowledged write is lost and that one order explains the history."""
    assert faults(load.history) == []
    assert gaps(load.history, load.seen, load.after) == []
    async with client(load.servers[0]) as reading:
        listed = (await reading.call("GET", path(load.group))).json()["items"]
    held = {item["metadata"]["name"]: int(item["metadata"]["resourceVersion"]) for item in listed}
    for revision, (name, _) in writes(load.history).items():
        assert held.get(name, 0) >= revision


@asynccontextmanager
async def under_load(replicas: list[ServerProcess]) -> AsyncIterator[Load]:
    """Run load while the body injects a fault, then check the history."""
    await define(replicas, GROUP)
    load = Load(replicas, GROUP)
    await load.start()
    try:
        await until_progress(load, 0)
        yield load
        await until_progress(load, progress(load))
        await load.stop()
    finally:
        await load.close()
    await check_history(load)


def progress(load: Load) -> int:
    return len(writes(load.history))


async def until_progress(load: Load, since: int, more: int = 20, seconds: float = 10) -> None:
    async with asyncio.timeout(seconds):
        while progress(load) < since + more:
            await asyncio.sleep(0.05)


async def test_replica_is_killed_and_restarted(cluster: Etcd, fleet: Fleet) -> None:
    replicas = fleet.start(3, cluster.servers)
    async with under_load(replicas) as load:
        replicas[1].kill()
        await until_progress(load, progress(load))
        await asyncio.sleep(1)
        await asyncio.to_thread(replicas[1].start)


@pytest.mark.etcd
async def test_etcd_member_is_killed_and_restarted(three: Etcd, fleet: Fleet) -> None:
    replicas = fleet.start(2, three.servers)
    async with under_load(replicas) as load:
        for member in (three.leader(), three.members[0]):
            member.kill()
            await until_progress(load, progress(load))
            await asyncio.sleep(0.5)
            await asyncio.to_thread(three.restart, member)


@pytest.mark.etcd
async def test_etcd_leader_is_paused(three: Etcd, fleet: Fleet) -> None:
    replicas = fleet.start(2, three.servers)
    async with under_load(replicas) as load:
        leader = three.leader()
        leader.signal(signal.SIGSTOP)
        try:
            await until_progress(load, progress(load))
            await asyncio.sleep(3)
        finally:
            leader.signal(signal.SIGCONT)


@pytest.mark.etcd
async def test_replica_is_cut_off_under_load(cluster: Etcd, fleet: Fleet) -> None:
    async with Proxy(cluster.members[0].port) as proxy:
        (well,) = fleet.start(1, cluster.servers)
        (cut,) = await asyncio.to_thread(fleet.start, 1, proxy.url)
        async with under_load([well, cut]):
            proxy.cut()
            await asyncio.sleep(3)
            proxy.heal()
            await until_ready(cut, True)


async def test_cut_off_replica_reports_unready_and_recovers(cluster: Etcd, fleet: Fleet) -> None:
    async with Proxy(cluster.members[0].port) as proxy:
        (well,) = fleet.start(1, cluster.servers)
        (cut,) = await asyncio.to_thread(fleet.start, 1, proxy.url)
        await define([well, cut], GROUP)
        async with client(well) as near, client(cut) as far, client(cut) as writing:
            assert (await near.call("POST", path(GROUP), register(GROUP, "a", "before"))).status == 201
            assert (await far.call("GET", path(GROUP, "a"))).status == 200
            proxy.cut()
            changed = await near.call(
                "PATCH", path(GROUP, "a"), {"spec": {"value": "after"}}, "application/merge-patch+json"
            )
            assert changed.status == 200
            begun = time.monotonic()
            answers = await asyncio.gather(
                far.call("GET", path(GROUP, "a")),
                writing.call("POST", path(GROUP), register(GROUP, "b", "x")),
                until_ready(cut, False),
            )
            assert time.monotonic() - begun < 8
            read, written, _ = answers
            assert read.status == 503
            assert read.json()["reason"] == "ServiceUnavailable"
            assert read.json()["message"].startswith("the store is not available: etcd at http://127.0.0.1:")
            assert written.status in (503, 504)
            assert "etcd at http://127.0.0.1:" in written.json()["message"]
            proxy.heal()
            await until_ready(cut, True)
            healed = (await far.call("GET", path(GROUP, "a"))).json()
            assert healed["spec"]["value"] == "after"
            assert (await far.call("POST", path(GROUP), register(GROUP, "c", "x"))).status == 201
            assert (await near.call("GET", path(GROUP, "c"))).status == 200


async def until_ready(server: ServerProcess, wanted: bool, seconds: float = 15) -> None:
    async with client(server) as asking, asyncio.timeout(seconds):
        while ((await asking.call("GET", "/readyz")).status == 200) != wanted:
            await asyncio.sleep(0.1)
