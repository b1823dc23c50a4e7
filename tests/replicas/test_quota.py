"""Replicas share the quotas: together they do not exceed one, and the next leader counts on."""

from __future__ import annotations

import asyncio

from tests.controllers.test_quota_controller import CORE, COUNT, CRD, VATS, vat
from tests.histories.registers import client
from tests.replicas.conftest import Fleet
from tests.replicas.test_replicas import a_leader
from tests.support.etcd import Etcd
from tests.support.live import DEFINITIONS
from tests.support.server import ServerProcess

LIMIT = 15


async def used(server: ServerProcess, wanted: int) -> None:
    """Wait until the usage of the quota `q` is as wanted."""
    async with asyncio.timeout(20), client(server) as reading:
        while True:
            reply = await reading.call("GET", f"{CORE}/resourcequotas/q")
            if reply.json().get("status", {}).get("used") == {COUNT: str(wanted)}:
                return
            await asyncio.sleep(0.02)


async def test_replicas_do_not_exceed_a_quota_together(cluster: Etcd, fleet: Fleet) -> None:
    # A short timeout of requests lets the next leader correct the usage soon.
    replicas = fleet.start(2, cluster.servers, "--request-timeout=3s")
    first = await a_leader(cluster, 10)
    async with client(replicas[0]) as writing:
        assert (await writing.call("POST", DEFINITIONS, CRD)).status == 201
        quota = {"metadata": {"name": "q"}, "spec": {"hard": {COUNT: str(LIMIT)}}}
        assert (await writing.call("POST", f"{CORE}/resourcequotas", quota)).status == 201
    await used(replicas[1], 0)

    async def create(number: int) -> tuple[str, int]:
        async with asyncio.timeout(30), client(replicas[number % 2]) as writing:
            while True:
                reply = await writing.call("POST", VATS, vat(f"v{number}"))
                # The other replica may not know the CRD yet, or may have written the quota four times in between.
                if reply.status not in (404, 409):
                    return f"v{number}", reply.status

    results = await asyncio.gather(*(create(number) for number in range(50)))
    created = [name for name, status in results if status == 201]
    assert len(created) == LIMIT, results
    await used(replicas[0], LIMIT)
    async with client(replicas[1]) as writing:
        for name in created[:5]:
            assert (await writing.call("DELETE", f"{VATS}/{name}")).status == 200
    await used(replicas[0], LIMIT - 5)
    next(server for server in replicas if server.pid == first).kill()
    (left,) = (server for server in replicas if server.pid != first)
    async with client(left) as writing:
        for name in created[5:10]:
            assert (await writing.call("DELETE", f"{VATS}/{name}")).status == 200
    await used(left, LIMIT - 10)
