"""Clients that read, write and watch through any replica and record what they did and saw."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from tests.replicas.history import Operation, Seen
from tests.support.client import Client, Reply
from tests.support.server import ServerProcess

PATIENCE = 8.0
"""Seconds that a client waits for a response before it counts the outcome as unknown."""


def definition(group: str) -> dict[str, Any]:
    schema = {
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": {"value": {"type": "string"}}}},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"registers.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": "registers", "singular": "register", "kind": "Register", "listKind": "RegisterList"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        },
    }


def register(group: str, name: str, value: str) -> dict[str, Any]:
    return {"apiVersion": f"{group}/v1", "kind": "Register", "metadata": {"name": name}, "spec": {"value": value}}


def path(group: str, name: str = "") -> str:
    return f"/apis/{group}/v1/namespaces/default/registers" + (f"/{name}" if name else "")


def client(server: ServerProcess) -> Client:
    return Client(server.url, server.token)


async def established(server: ServerProcess, name: str, seconds: float = 10) -> dict[str, Any]:
    """Wait until the CRD's conditions say that it is served, and return it."""
    async with asyncio.timeout(seconds), client(server) as asking:
        while True:
            reply = await asking.call("GET", f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}")
            crd: dict[str, Any] = reply.json()
            conditions = crd.get("status", {}).get("conditions") or []
            if any(c["type"] == "Established" and c["status"] == "True" for c in conditions):
                return crd
            await asyncio.sleep(0.02)


async def define(servers: Sequence[ServerProcess], group: str) -> None:
    """Create the CRD through the first replica and wait until all replicas serve it."""
    async with client(servers[0]) as creating:
        reply = await creating.call(
            "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition(group)
        )
        assert reply.status == 201, reply.body
    for server in servers:
        await established(server, f"registers.{group}")


class Worker:
    """One client. It uses any replica and switches to another one after a failure."""

    def __init__(self, number: int, load: Load) -> None:
        self._load = load
        self._chance = random.Random(number)
        self._number = number
        self._steps = 0
        self._known: dict[str, int] = {}
        self._clients: dict[str, Client] = {}

    async def run(self) -> None:
        try:
            while not self._load.stopping:
                await self._step()
        finally:
            for made in self._clients.values():
                made.close()

    async def _call(self, method: str, where: str, body: object = None) -> Reply | None:
        """Send a request. Return None if no response came."""
        server = self._chance.choice(self._load.servers)
        made = self._clients.setdefault(server.url, client(server))
        try:
            async with asyncio.timeout(PATIENCE):
                return await made.call(method, where, body)
        except (OSError, asyncio.IncompleteReadError, TimeoutError):
            made.close()
            await asyncio.sleep(0.02)
            return None

    async def _step(self) -> None:
        self._steps += 1
        name, turn = self._chance.choice(self._load.names), self._chance.random()
        if turn < 0.4:
            await self._read(name)
        elif turn < 0.8 and name in self._known:
            await self._update(name)
        elif turn < 0.9:
            await self._create()
        else:
            await self._list()

    async def _read(self, name: str) -> None:
        begin = time.monotonic()
        reply = await self._call("GET", path(self._load.group, name))
        if reply is not None and reply.status == 200:
            self._note(name, begin, reply.json())
        elif reply is not None and reply.status == 404:
            self._load.history.append(Operation("read", name, begin, time.monotonic(), None, None))
        else:
            self._load.failed(reply)

    async def _list(self) -> None:
        begin = time.monotonic()
        reply = await self._call("GET", path(self._load.group))
        if reply is None or reply.status != 200:
            self._load.failed(reply)
            return
        items = {item["metadata"]["name"]: item for item in reply.json()["items"]}
        for item in items.values():
            self._note(item["metadata"]["name"], begin, item)
        for name in self._load.names:
            if name not in items:
                self._load.history.append(Operation("read", name, begin, time.monotonic(), None, None))

    def _note(self, name: str, begin: float, item: dict[str, Any]) -> None:
        revision = int(item["metadata"]["resourceVersion"])
        self._known[name] = revision
        self._load.history.append(Operation("read", name, begin, time.monotonic(), revision, item["spec"]["value"]))

    async def _create(self) -> None:
        name = f"w{self._number}-{self._steps}"
        await self._write("POST", path(self._load.group), name, 0)

    async def _update(self, name: str) -> None:
        await self._write("PUT", path(self._load.group, name), name, self._known[name])

    async def _write(self, method: str, where: str, name: str, expect: int) -> None:
        value = f"{self._number}.{self._steps}"
        body = register(self._load.group, name, value)
        if expect:
            body["metadata"]["resourceVersion"] = str(expect)
        begin = time.monotonic()
        reply = await self._call(method, where, body)
        end = time.monotonic()
        if reply is not None and reply.status in (200, 201):
            revision = int(reply.json()["metadata"]["resourceVersion"])
            self._known[name] = revision
            self._load.history.append(Operation("write", name, begin, end, revision, value, expect))
        elif reply is not None and reply.status == 409:
            self._known.pop(name, None)
            self._load.history.append(Operation("conflict", name, begin, end, None, None, expect))
        else:
            self._load.history.append(Operation("write", name, begin, end, None, value, expect))
            self._load.failed(reply)


class Load:
    """Several workers at once, and a watch that keeps breaking off and resuming at another replica."""

    def __init__(self, servers: Sequence[ServerProcess], group: str, workers: int = 6) -> None:
        self.servers = list(servers)
        self.group = group
        self.names = [f"r{number}" for number in range(5)]
        self.history: list[Operation] = []
        self.seen: list[Seen] = []
        self.refusals: list[tuple[int, str]] = []
        self.stopping = False
        self.after = 0
        self._workers = [Worker(number, self) for number in range(workers)]

    def failed(self, reply: Reply | None) -> None:
        if reply is not None:
            self.refusals.append((reply.status, reply.body.decode()))

    async def start(self) -> None:
        async with client(self.servers[0]) as making:
            for name in self.names:
                begin = time.monotonic()
                reply = await making.call("POST", path(self.group), register(self.group, name, name))
                assert reply.status == 201, reply.body
                revision = int(reply.json()["metadata"]["resourceVersion"])
                self.history.append(Operation("write", name, begin, time.monotonic(), revision, name))
            self.after = revision
        self._running = [asyncio.create_task(worker.run()) for worker in self._workers]
        self._watching = asyncio.create_task(self._watch())

    async def stop(self) -> None:
        """End the load. The watch continues until it has delivered every acknowledged write."""
        self.stopping = True
        await asyncio.gather(*self._running)
        newest = max(o.revision for o in self.history if o.revision is not None)
        async with asyncio.timeout(20):
            while not self.seen or self.seen[-1].revision < newest:
                await asyncio.sleep(0.05)

    async def close(self) -> None:
        tasks = [*self._running, self._watching]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        # An aborted connection is closed only in the next iteration of the event loop.
        await asyncio.sleep(0.01)

    async def _watch(self) -> None:
        """Watch one replica for a moment, then resume from the last revision at another one."""
        revision, turn = self.after, 0
        while True:
            server = self.servers[turn % len(self.servers)]
            turn += 1
            with suppress(OSError, TimeoutError, AssertionError, asyncio.IncompleteReadError, ValueError):
                async with client(server) as watching, asyncio.timeout(0.7):
                    async for line in watching.lines(f"{path(self.group)}?watch=1&resourceVersion={revision}"):
                        event = json.loads(line)
                        if event["type"] == "ERROR":
                            break
                        meta = event["object"]["metadata"]
                        revision = int(meta["resourceVersion"])
                        self.seen.append(Seen(meta["name"], revision, event["object"]["spec"]["value"]))
            await asyncio.sleep(0.01)
