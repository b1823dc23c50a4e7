"""kill -9, fifty times: acknowledged writes survive, and resuming watchers miss nothing and see nothing twice."""

from __future__ import annotations

import asyncio
import json
import random
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.support.client import Client
from tests.support.crontabs import crontab, definition
from tests.support.server import ServerProcess

KILLS = 50
WRITERS = 4
WATCHERS = 3
GROUP = "storm.example.com"
TABS = f"/apis/{GROUP}/v1/namespaces/default/crontabs"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
BROKEN = (OSError, EOFError, asyncio.IncompleteReadError)


class Seen(NamedTuple):
    """One watch event."""

    kind: str
    name: str
    version: int
    replicas: int


class Storm:
    """A server that is killed repeatedly while writers write and watchers watch."""

    def __init__(self, server: ServerProcess) -> None:
        self.server = server
        self.up = asyncio.Event()
        self.over = False
        self.acknowledged: dict[int, tuple[str, str]] = {}
        """Acknowledged writes: revision -> (verb, name)."""
        self.unsure: set[str] = set()
        """Objects whose last write got no response, so that its outcome is unknown."""
        self.state: dict[str, int | None] = {}
        """The expected revision of each object according to the responses, or None if it was deleted."""

    def client(self) -> Client:
        return Client(self.server.url, self.server.token)

    async def writer(self, number: int) -> None:
        """Create, change and delete the writer's own objects at random and record every response."""
        chance = random.Random(number)
        client, count = self.client(), 0
        while not self.over:
            await self.up.wait()
            mine = [n for n, v in self.state.items() if v and n.startswith(f"w{number}-") and n not in self.unsure]
            verb = chance.choice(["POST", "PATCH", "PATCH", "DELETE"]) if len(mine) > 3 else "POST"
            if verb == "POST":
                count += 1
                name = f"w{number}-{count:05d}"
            else:
                name = chance.choice(mine)
            try:
                await self.write(client, verb, name, chance.randrange(10))
            except BROKEN:
                self.unsure.add(name)
                client.close()
                await asyncio.sleep(0.005)
        client.close()

    async def write(self, client: Client, verb: str, name: str, replicas: int) -> None:
        if verb == "POST":
            reply = await client.call("POST", TABS, crontab(GROUP, name, replicas=replicas))
        elif verb == "PATCH":
            patch = {"spec": {"replicas": replicas}, "metadata": {"annotations": {"n": str(random.random())}}}
            reply = await client.call("PATCH", f"{TABS}/{name}", patch, "application/merge-patch+json")
        else:
            reply = await client.call("DELETE", f"{TABS}/{name}")
        assert reply.status in (200, 201), reply.body
        if verb == "DELETE":
            self.state[name] = None
            self.acknowledged[-len(self.acknowledged) - 1] = (verb, name)
            return
        revision = int(reply.json()["metadata"]["resourceVersion"])
        assert revision not in self.acknowledged, "one revision was given to two writes"
        self.acknowledged[revision] = (verb, name)
        self.state[name] = revision

    async def watcher(self, start: int, seen: list[Seen]) -> None:
        """Watch from `start` and resume after each break from the last resourceVersion seen."""
        client, last = self.client(), start
        while not self.over:
            await self.up.wait()
            try:
                async for line in client.lines(f"{TABS}?watch=1&resourceVersion={last}&timeoutSeconds=300"):
                    event = json.loads(line)
                    assert event["type"] in ("ADDED", "MODIFIED", "DELETED"), event
                    meta = event["object"]["metadata"]
                    last = int(meta["resourceVersion"])
                    seen.append(Seen(event["type"], meta["name"], last, event["object"]["spec"]["replicas"]))
            except BROKEN:
                await asyncio.sleep(0.005)
            finally:
                client.close()

    async def kill_over_and_over(self) -> None:
        chance = random.Random(0)
        for _ in range(KILLS):
            self.up.set()
            await asyncio.sleep(0.02 + 0.25 * chance.random())
            self.server.kill()
            self.up.clear()
            await asyncio.to_thread(self.server.start)
        self.up.set()

    async def run(self) -> tuple[list[list[Seen]], dict[str, Any]]:
        """Run the storm. Return what each watcher saw and what is stored at the end."""
        async with self.client() as client:
            reply = await client.call("POST", CRDS, definition(GROUP))
            assert reply.status == 201, reply.body
            while (await client.call("GET", TABS)).status != 200:
                await asyncio.sleep(0.02)
            start = int((await client.call("GET", TABS)).json()["metadata"]["resourceVersion"])
        logs: list[list[Seen]] = [[] for _ in range(WATCHERS)]
        writers = [asyncio.create_task(self.writer(n)) for n in range(WRITERS)]
        watchers = [asyncio.create_task(self.watcher(start, log)) for log in logs]
        await self.kill_over_and_over()
        await asyncio.sleep(0.2)
        self.over = True
        await asyncio.gather(*writers)
        async with self.client() as client:
            last = await client.call("POST", TABS, crontab(GROUP, "the-end"))
            stored = (await client.call("GET", TABS)).json()
        end = int(last.json()["metadata"]["resourceVersion"])
        async with asyncio.timeout(20):
            while not all(log and log[-1].version >= end for log in logs):
                assert not any(task.done() and task.exception() for task in watchers)
                await asyncio.sleep(0.02)
        for task in watchers:
            task.cancel()
        await asyncio.gather(*watchers, return_exceptions=True)
        return logs, {item["metadata"]["name"]: item for item in stored["items"]}


@pytest.mark.timeout(240)
async def test_acknowledged_writes_survive_and_watchers_see_each_event_once(tmp_path: Path) -> None:
    with ServerProcess(tmp_path / "data") as server:
        storm = Storm(server)
        logs, stored = await storm.run()
    writes = {revision: what for revision, what in storm.acknowledged.items() if revision > 0}
    assert len(writes) > 2 * KILLS, "hardly anything was written"
    for name, revision in storm.state.items():
        if name in storm.unsure:
            continue
        now = int(stored[name]["metadata"]["resourceVersion"]) if name in stored else None
        assert now == revision, f"{name} was promised at {revision} and is at {now}"
    first = logs[0]
    revisions = [event.version for event in first]
    assert revisions == sorted(set(revisions)), "a revision came twice, or late"
    assert all(log == first for log in logs), "watchers saw different histories"
    by_revision = {event.version: event for event in first}
    for revision, (verb, name) in writes.items():
        event = by_revision[revision]
        assert (event.kind, event.name) == ("ADDED" if verb == "POST" else "MODIFIED", name)
    replayed: dict[str, Seen] = {}
    for event in first:
        known = event.name in replayed
        assert known == (event.kind != "ADDED"), f"{event} after {replayed.get(event.name)}"
        if event.kind == "DELETED":
            del replayed[event.name]
        else:
            replayed[event.name] = event
    assert {n: e.version for n, e in replayed.items()} == {
        n: int(o["metadata"]["resourceVersion"]) for n, o in stored.items()
    }
    assert {n: e.replicas for n, e in replayed.items()} == {n: o["spec"]["replicas"] for n, o in stored.items()}
