"""A migration continues when the replica that works on it dies."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from tests.histories.registers import client, definition, established, path, register
from tests.replicas.conftest import Fleet
from tests.replicas.test_replicas import a_leader
from tests.support.etcd import Etcd
from tests.support.migrations import MIGRATIONS, condition_of, migration
from tests.support.server import ServerProcess

GROUP = "migrated.example.com"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
NUMBER = 3000


def registers(storage: str) -> dict[str, Any]:
    crd = definition(GROUP)
    [stanza] = crd["spec"]["versions"]
    crd["spec"]["versions"] = [{**stanza, "name": name, "storage": name == storage} for name in ("v1", "v2")]
    return crd


async def grow(server: ServerProcess) -> None:
    async def some(start: int) -> None:
        async with client(server) as writing:
            for number in range(start, NUMBER, 16):
                reply = await writing.call("POST", path(GROUP), register(GROUP, f"r{number:05}", "x"))
                assert reply.status == 201, reply.body

    await asyncio.gather(*(some(start) for start in range(16)))


async def first_change(server: ServerProcess, revision: str) -> None:
    async with asyncio.timeout(20), client(server) as watching:
        async for _ in watching.lines(f"{path(GROUP)}?watch=1&resourceVersion={revision}"):
            return


async def test_next_leader_finishes_the_migration(cluster: Etcd, fleet: Fleet) -> None:
    replicas = fleet.start(2, cluster.servers)
    first = await a_leader(cluster, 10)
    (left,) = (server for server in replicas if server.pid != first)
    async with client(left) as asking:
        assert (await asking.call("POST", CRDS, registers("v1"))).status == 201
        for server in replicas:
            await established(server, f"registers.{GROUP}")
        await grow(left)
        flip = {"spec": {"versions": registers("v2")["spec"]["versions"]}}
        merge = "application/merge-patch+json"
        assert (await asking.call("PATCH", f"{CRDS}/registers.{GROUP}", flip, merge)).status == 200
        before = (await asking.call("GET", path(GROUP))).json()
        changed = asyncio.create_task(first_change(left, before["metadata"]["resourceVersion"]))
        assert (await asking.call("POST", MIGRATIONS, migration("m", "registers", GROUP))).status == 201
        await changed
        next(server for server in replicas if server.pid == first).kill()
        metrics = f'polykind_stored_objects{{group="{GROUP}",resource="registers",version="v1"}} 0.0'
        assert metrics not in (await asking.call("GET", "/metrics")).body.decode()
        async with asyncio.timeout(30):
            while condition_of((await asking.call("GET", f"{MIGRATIONS}/m")).json(), "Succeeded")[0] != "True":
                await asyncio.sleep(0.05)
        assert metrics in (await asking.call("GET", "/metrics")).body.decode()
        crd = json.loads((await asking.call("GET", f"{CRDS}/registers.{GROUP}")).body)
        assert crd["status"]["storedVersions"] == ["v2"]
        assert condition_of(crd, "StorageMigrating")[:2] == ("False", "MigrationSucceeded")
        after = (await asking.call("GET", path(GROUP))).json()["items"]
    assert [o["metadata"]["uid"] for o in after] == [o["metadata"]["uid"] for o in before["items"]]
