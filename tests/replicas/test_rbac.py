"""The leader creates the default roles and aggregates ClusterRoles, and the next leader takes over."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from tests.histories.registers import client
from tests.replicas.conftest import Fleet
from tests.replicas.test_replicas import a_leader
from tests.support.etcd import Etcd
from tests.support.server import ServerProcess

ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
PEN = {"verbs": ["get"], "apiGroups": ["example.com"], "resources": ["pens"]}
INK = {"verbs": ["get"], "apiGroups": ["example.com"], "resources": ["ink"]}


async def until(server: ServerProcess, name: str, wanted: Callable[[Any], bool]) -> Any:
    """Wait until a role has the expected content and return it."""
    async with asyncio.timeout(20), client(server) as reading:
        while True:
            reply = await reading.call("GET", f"{ROLES}/{name}")
            if reply.status == 200 and wanted(reply.json()):
                return reply.json()
            await asyncio.sleep(0.02)


async def part(server: ServerProcess, name: str, rule: object) -> None:
    label = {"rbac.authorization.k8s.io/aggregate-to-view": "true"}
    async with client(server) as writing:
        reply = await writing.call("POST", ROLES, {"metadata": {"name": name, "labels": label}, "rules": [rule]})
        assert reply.status == 201, reply.body


async def test_leader_creates_default_roles_once_and_aggregates_them(cluster: Etcd, fleet: Fleet) -> None:
    replicas = fleet.start(2, cluster.servers, "--authorization-mode=RBAC")
    first = await a_leader(cluster, 10)
    seen = [await until(server, "cluster-admin", lambda _: True) for server in replicas]
    assert seen[0] == seen[1]
    assert len(seen[0]["metadata"]["managedFields"]) == 1
    for server in replicas:
        await until(server, "admin", lambda role: bool(role["rules"]))
    await part(replicas[0], "pens", PEN)
    await until(replicas[1], "admin", lambda role: PEN in role["rules"])
    next(server for server in replicas if server.pid == first).kill()
    (left,) = (server for server in replicas if server.pid != first)
    await part(left, "ink", INK)
    await until(left, "admin", lambda role: INK in role["rules"])
