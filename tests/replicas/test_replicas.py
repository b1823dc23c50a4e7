"""Several replicas on one etcd behave as one API server."""

from __future__ import annotations

import asyncio
import json
import time
from contextlib import AsyncExitStack
from statistics import median

from polykind.store.etcd import EtcdAccess, EtcdStore
from tests.histories.registers import client, define, definition, established, path, register
from tests.replicas.conftest import Fleet
from tests.support.client import Client
from tests.support.etcd import Etcd

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
LEADER = "/registry/_polykind/leader"


async def leader_pid(cluster: Etcd) -> int:
    """Return the process id in the leader's key, or 0 if there is no leader."""
    store = EtcdStore(EtcdAccess(cluster.urls))
    await store.start()
    try:
        held = await store.get(LEADER)
        return int(held.value.split(b"-")[-2]) if held else 0
    finally:
        await store.close()


async def a_leader(cluster: Etcd, seconds: float, *, other_than: int = 0) -> int:
    async with asyncio.timeout(seconds):
        while (pid := await leader_pid(cluster)) in (0, other_than):
            await asyncio.sleep(0.05)
        return pid


async def test_crd_is_served_by_all_replicas_within_100_ms(cluster: Etcd, fleet: Fleet) -> None:
    replicas = fleet.start(3, cluster.servers)
    await a_leader(cluster, 10)
    delays: list[float] = []
    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(client(replica)) for replica in replicas]
        for number in range(9):
            group = f"g{number}.example.com"
            reply = await clients[number % 3].call("POST", CRDS, definition(group))
            assert reply.status == 201
            slowest = max(await asyncio.gather(*(served(asking, group) for asking in clients)))
            # On a machine that is busy with other tests every response is slow. Subtract that time.
            delays.append(slowest - max(await asyncio.gather(*(served(asking, group) for asking in clients))))
    assert median(delays) < 0.1, delays
    assert max(delays) < 2, delays


async def served(asking: Client, group: str) -> float:
    """Return the seconds until the CRD's objects can be listed."""
    begun = time.monotonic()
    async with asyncio.timeout(5):
        while (await asking.call("GET", path(group))).status != 200:
            await asyncio.sleep(0.002)
    return time.monotonic() - begun


async def test_list_through_any_replica_shows_every_acknowledged_write(cluster: Etcd, fleet: Fleet) -> None:
    replicas = fleet.start(2, cluster.servers)
    group = "lists.example.com"
    await define(replicas, group)
    async with client(replicas[0]) as one, client(replicas[1]) as two:
        for number in range(60):
            writer, reader = (one, two) if number % 2 else (two, one)
            made = await writer.call("POST", path(group), register(group, f"n{number}", "x"))
            assert made.status == 201, made.body
            listed = (await reader.call("GET", path(group))).json()
            assert len(listed["items"]) == number + 1
            assert int(listed["metadata"]["resourceVersion"]) >= int(made.json()["metadata"]["resourceVersion"])
            read = await reader.call("GET", path(group, f"n{number}"))
            assert read.body == made.body


async def test_watch_resumes_at_another_replica_without_gap_or_repetition(cluster: Etcd, fleet: Fleet) -> None:
    replicas = fleet.start(3, cluster.servers)
    group = "watches.example.com"
    await define(replicas, group)
    written: list[int] = []

    async def write() -> None:
        async with client(replicas[0]) as writing:
            for number in range(160):
                reply = await writing.call("POST", path(group), register(group, f"n{number}", "x"))
                written.append(int(reply.json()["metadata"]["resourceVersion"]))

    async with client(replicas[0]) as listing:
        revision = (await listing.call("GET", path(group))).json()["metadata"]["resourceVersion"]
    writing = asyncio.create_task(write())
    seen: list[int] = []
    turn = 0
    async with asyncio.timeout(30):
        while len(seen) < 160:
            turn += 1
            async with client(replicas[turn % 3]) as watching:
                async for line in watching.lines(f"{path(group)}?watch=1&resourceVersion={revision}"):
                    event = json.loads(line)
                    assert event["type"] == "ADDED", event
                    revision = event["object"]["metadata"]["resourceVersion"]
                    seen.append(int(revision))
                    if len(seen) % 20 == 0:
                        break
    await writing
    assert seen == written


async def test_another_replica_leads_within_10_s_after_the_leader_died(cluster: Etcd, fleet: Fleet) -> None:
    replicas = fleet.start(2, cluster.servers)
    group = "heirs.example.com"
    await define(replicas, group)
    first = await a_leader(cluster, 10)
    leader = next(replica for replica in replicas if replica.pid == first)
    heir = next(replica for replica in replicas if replica is not leader)
    held = register(group, "held", "x")
    held["metadata"]["finalizers"] = ["example.com/hold"]
    async with client(heir) as asking:
        for body in (held, register(group, "free", "x")):
            assert (await asking.call("POST", path(group), body)).status == 201
        assert (await asking.call("DELETE", f"{CRDS}/registers.{group}")).status == 200
        # The leader deletes the CRD's instances and waits for the finalizer. Then it dies.
        async with asyncio.timeout(5):
            while (await asking.call("GET", path(group, "free"))).status != 404:
                await asyncio.sleep(0.02)
        leader.kill()
        died = time.monotonic()
        patch = {"metadata": {"finalizers": None}}
        released = await asking.call("PATCH", path(group, "held"), patch, "application/merge-patch+json")
        assert released.status == 200, released.body
        reply = await asking.call("POST", CRDS, definition("orphans.example.com"))
        assert reply.status == 201
        await established(heir, "registers.orphans.example.com", 10)
        async with asyncio.timeout(10):
            while (await asking.call("GET", f"{CRDS}/registers.{group}")).status != 404:
                await asyncio.sleep(0.05)
        assert await a_leader(cluster, 10, other_than=first) == heir.pid
        assert time.monotonic() - died < 10


async def test_stopping_leader_hands_over_at_once(cluster: Etcd, fleet: Fleet) -> None:
    replicas = fleet.start(2, cluster.servers)
    first = await a_leader(cluster, 10)
    leader = next(replica for replica in replicas if replica.pid == first)
    assert leader.stop() == 0
    await a_leader(cluster, 2, other_than=first)


async def test_namespace_deleted_through_a_follower_is_emptied(cluster: Etcd, fleet: Fleet) -> None:
    replicas = fleet.start(2, cluster.servers)
    group = "spaces.example.com"
    await define(replicas, group)
    first = await a_leader(cluster, 10)
    other = next(replica for replica in replicas if replica.pid != first)
    async with client(other) as asking, asyncio.timeout(10):
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "short"}}
        assert (await asking.call("POST", "/api/v1/namespaces", namespace)).status == 201
        where = path(group).replace("/default/", "/short/")
        assert (await asking.call("POST", where, register(group, "a", "x"))).status == 201
        assert (await asking.call("DELETE", "/api/v1/namespaces/short")).status == 200
        while (await asking.call("GET", "/api/v1/namespaces/short")).status != 404:
            await asyncio.sleep(0.02)
        assert (await asking.call("GET", path(group))).json()["items"] == []
