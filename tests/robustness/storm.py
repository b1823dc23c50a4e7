"""A storm: writers write and watchers watch while the server or its store is disturbed; then everything is compared."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from tests.support.client import Client
from tests.support.crontabs import crontab, definition
from tests.support.server import ServerProcess

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
    """A server that is disturbed repeatedly while writers write and watchers watch."""

    def __init__(self, server: ServerProcess) -> None:
        self.server = server
        self.up = asyncio.Event()
        self.writing = asyncio.Event()
        """Clear while writers pause and watchers continue."""
        self.writing.set()
        self.over = False
        self.acknowledged: dict[int, tuple[str, str]] = {}
        """Acknowledged writes: revision -> (verb, name)."""
        self.unsure: set[str] = set()
        """Objects whose last write got no response, so that its outcome is unknown."""
        self.running_writes = 0
        self.rejected = 0
        """The number of writes that the server has refused because of its store."""
        self.state: dict[str, int | None] = {}
        """The expected revision of each object according to the responses, or None if it was deleted."""
        self.set_back_to: int | None = None
        """The revision to which the store is set back, while watchers must be told so by 410. Otherwise None."""
        self.resumed_watchers = 0
        """The number of watchers that have received 410 and listed again since the store was set back."""

    def client(self) -> Client:
        return Client(self.server.url, self.server.token)

    async def writer(self, number: int) -> None:
        """Create, change and delete the writer's own objects at random and record every response."""
        chance = random.Random(number)
        client, count = self.client(), 0
        while not self.over:
            await self.up.wait()
            await self.writing.wait()
            mine = [n for n, v in self.state.items() if v and n.startswith(f"w{number}-") and n not in self.unsure]
            verb = chance.choice(["POST", "PATCH", "PATCH", "DELETE"]) if len(mine) > 3 else "POST"
            if verb == "POST":
                count += 1
                name = f"w{number}-{count:05d}"
            else:
                name = chance.choice(mine)
            self.running_writes += 1
            try:
                await self.write(client, verb, name, chance.randrange(10))
            except BROKEN:
                self.unsure.add(name)
                client.close()
                await asyncio.sleep(0.005)
            finally:
                self.running_writes -= 1
        client.close()

    async def write(self, client: Client, verb: str, name: str, replicas: int) -> None:
        if verb == "POST":
            reply = await client.call("POST", TABS, crontab(GROUP, name, replicas=replicas))
        elif verb == "PATCH":
            patch = {"spec": {"replicas": replicas}, "metadata": {"annotations": {"n": str(random.random())}}}
            reply = await client.call("PATCH", f"{TABS}/{name}", patch, "application/merge-patch+json")
        else:
            reply = await client.call("DELETE", f"{TABS}/{name}")
        if reply.status in (503, 504):
            self.rejected += 1
            if reply.status == 504:
                self.unsure.add(name)
            await asyncio.sleep(0.01)
            return
        assert reply.status in (200, 201), reply.body
        if verb == "DELETE":
            self.state[name] = None
            self.acknowledged[-len(self.acknowledged) - 1] = (verb, name)
            return
        revision = int(reply.json()["metadata"]["resourceVersion"])
        other = self.acknowledged.get(revision)
        assert other is None, f"revision {revision} was given to {other} and to {(verb, name)}"
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
                    if event["type"] == "ERROR" and event["object"]["code"] in (503, 504):
                        break
                    if event["type"] == "ERROR" and event["object"]["code"] == 410 and self.set_back_to is not None:
                        last = await self.list_again(seen, self.set_back_to)
                        break
                    assert event["type"] in ("ADDED", "MODIFIED", "DELETED"), event
                    meta = event["object"]["metadata"]
                    last = int(meta["resourceVersion"])
                    seen.append(Seen(event["type"], meta["name"], last, event["object"]["spec"]["replicas"]))
            except BROKEN:
                await asyncio.sleep(0.005)
            finally:
                client.close()

    async def list_again(self, seen: list[Seen], revision: int) -> int:
        """Forget the events after `revision`, which the store no longer has. Return the revision of a new list."""
        seen[:] = [event for event in seen if event.version <= revision]
        async with self.client() as client:
            while (listed := await client.call("GET", TABS)).status != 200:
                await asyncio.sleep(0.02)
        self.resumed_watchers += 1
        return int(listed.json()["metadata"]["resourceVersion"])

    async def pause_writers(self) -> None:
        """Let writers finish their current write and then wait for `writing`."""
        self.writing.clear()
        while self.running_writes:
            await asyncio.sleep(0.005)

    async def run(self, disturb: Callable[[Storm], Awaitable[None]]) -> None:
        """Start the server, run the storm while `disturb` runs, then compare what was promised, seen and stored."""
        # The event loop must stay free: it may run a proxy between the server and etcd.
        await asyncio.to_thread(self.server.start)
        try:
            await self._run(disturb)
        finally:
            if self.server.alive():
                await asyncio.to_thread(self.server.stop)

    async def _run(self, disturb: Callable[[Storm], Awaitable[None]]) -> None:
        async with self.client() as client:
            reply = await client.call("POST", CRDS, definition(GROUP))
            assert reply.status == 201, reply.body
            while (await client.call("GET", TABS)).status != 200:
                await asyncio.sleep(0.02)
            start = int((await client.call("GET", TABS)).json()["metadata"]["resourceVersion"])
        logs: list[list[Seen]] = [[] for _ in range(WATCHERS)]
        writers = [asyncio.create_task(self.writer(n)) for n in range(WRITERS)]
        watchers = [asyncio.create_task(self.watcher(start, log)) for log in logs]
        self.up.set()
        await disturb(self)
        self.up.set()
        await asyncio.sleep(0.2)
        self.over = True
        await asyncio.gather(*writers)
        end, stored = await self.final_state()
        async with asyncio.timeout(30):
            while not all(log and log[-1].version >= end for log in logs):
                failed = next((task for task in watchers if task.done() and task.exception()), None)
                if failed is not None:
                    failed.result()
                await asyncio.sleep(0.02)
        for task in watchers:
            task.cancel()
        await asyncio.gather(*watchers, return_exceptions=True)
        self.check(logs, stored)

    async def final_state(self) -> tuple[int, dict[str, Any]]:
        """Write a last object. Return its revision and all stored objects."""
        async with self.client() as client:
            async with asyncio.timeout(30):
                while (last := await client.call("POST", TABS, crontab(GROUP, "the-end"))).status != 201:
                    await asyncio.sleep(0.05)
            stored = (await client.call("GET", TABS)).json()
        return int(last.json()["metadata"]["resourceVersion"]), {i["metadata"]["name"]: i for i in stored["items"]}

    def check(self, logs: list[list[Seen]], stored: dict[str, Any]) -> None:
        """Assert that no acknowledged write is lost, and that watchers saw each event once and in order."""
        writes = {revision: what for revision, what in self.acknowledged.items() if revision > 0}
        for name, revision in self.state.items():
            if name in self.unsure:
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
