"""Replicas and etcd fail under load: no write is lost, no read is stale, and no watch has a gap."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from tests.histories import faults
from tests.histories.registers import client, define, path, register
from tests.histories.scenarios import Scenario, one_member, run
from tests.histories.torture import Row, fault_rows, kill_rows
from tests.replicas.conftest import Fleet
from tests.support.etcd import Etcd
from tests.support.proxy import Proxy
from tests.support.server import ServerProcess

GROUP = "faults.example.com"
ON_ETCD = [row for row in [*kill_rows(), *fault_rows()] if "etcd" in row.environment]


async def test_replica_is_killed_and_restarted(tmp_path: Path) -> None:
    result = await run(Scenario("etcd", "kill", one_member, faults.kill), 3, tmp_path)
    assert result.violations == []


@pytest.mark.etcd
@pytest.mark.timeout(300)
@pytest.mark.parametrize("row", ON_ETCD, ids=lambda row: f"{row.name}, {row.environment}")
async def test_history_with_faults_has_no_violation(tmp_path: Path, row: Row) -> None:
    if row.impossible:
        pytest.skip(row.impossible)
    result = await row.run(2, tmp_path, 0)
    assert result.violations == []
    assert result.times == 2


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
