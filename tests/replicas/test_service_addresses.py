"""Replicas never allocate the same cluster IP or node port twice."""

from __future__ import annotations

import asyncio

from tests.histories.registers import client
from tests.replicas.conftest import Fleet
from tests.support.etcd import Etcd
from tests.support.server import ServerProcess

SERVICES = "/api/v1/namespaces/default/services"
COUNT = 20


async def create(server: ServerProcess, prefix: str) -> list[tuple[str, int]]:
    """Create services one after the other and return their addresses and node ports."""
    found = []
    async with client(server) as writing:
        for number in range(COUNT):
            spec = {"type": "NodePort", "ports": [{"port": 80}]}
            body = {"metadata": {"name": f"{prefix}{number}"}, "spec": spec}
            reply = await writing.call("POST", SERVICES, body)
            assert reply.status == 201, reply.body
            made = reply.json()["spec"]
            found.append((made["clusterIP"], made["ports"][0]["nodePort"]))
    return found


async def test_addresses_and_ports_are_unique(cluster: Etcd, fleet: Fleet) -> None:
    flags = ("--service-cluster-ip-range=10.0.0.0/26", f"--service-node-port-range=30000+{2 * COUNT - 1}")
    replicas = fleet.start(2, cluster.servers, *flags)
    results = await asyncio.gather(*(create(server, name) for server, name in zip(replicas, "ab", strict=True)))
    allocated = [pair for result in results for pair in result]
    assert len({ip for ip, _ in allocated}) == 2 * COUNT
    assert {port for _, port in allocated} == set(range(30000, 30000 + 2 * COUNT))
