"""Dependents are collected whichever replica deletes the owner and whichever replica leads."""

from __future__ import annotations

import asyncio

from tests.histories.registers import client, define, path, register
from tests.replicas.conftest import Fleet
from tests.replicas.test_replicas import a_leader
from tests.support.etcd import Etcd
from tests.support.server import ServerProcess

GROUP = "garbage.example.com"


async def grow(server: ServerProcess, name: str, owner: dict[str, str] | None = None) -> dict[str, str]:
    """Create an object and return an owner reference to it."""
    body = register(GROUP, name, "x")
    if owner is not None:
        body["metadata"]["ownerReferences"] = [owner]
    async with client(server) as writing:
        reply = await writing.call("POST", path(GROUP), body)
    assert reply.status == 201, reply.body
    return {"apiVersion": f"{GROUP}/v1", "kind": "Register", "name": name, "uid": reply.json()["metadata"]["uid"]}


async def gone(server: ServerProcess, name: str) -> None:
    async with asyncio.timeout(20), client(server) as reading:
        while (await reading.call("GET", path(GROUP, name))).status != 404:
            await asyncio.sleep(0.02)


async def test_leader_and_its_successor_collect_dependents(cluster: Etcd, fleet: Fleet) -> None:
    replicas = fleet.start(2, cluster.servers)
    first = await a_leader(cluster, 10)
    await define(replicas, GROUP)
    for number, server in enumerate(replicas):
        reference = await grow(server, f"owner{number}")
        await grow(replicas[1 - number], f"dependent{number}", reference)
        async with client(server) as writing:
            assert (await writing.call("DELETE", path(GROUP, f"owner{number}"))).status == 200
        await gone(server, f"dependent{number}")
    reference = await grow(replicas[0], "last")
    await grow(replicas[1], "follower", reference)
    next(server for server in replicas if server.pid == first).kill()
    left = next(server for server in replicas if server.pid != first)
    async with client(left) as writing:
        assert (await writing.call("DELETE", path(GROUP, "last"))).status == 200
    await gone(left, "follower")
