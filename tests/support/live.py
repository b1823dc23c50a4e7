"""A server in the test's own process, with helpers to talk to it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from polykind.contract import Clock, JsonObject, Store
from polykind.server.server import Server
from polykind.server.settings import Settings
from tests.support.client import Client

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
DEADLINE_SECONDS = 20.0


class Live:
    """A running in-process server and a client for it."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.client = self.another()

    def another(self) -> Client:
        """Open another client with its own connection."""
        return Client(self.server.url, self.server.token)

    async def ask(
        self, method: str, path: str, body: object = None, *, kind: str = "application/json", expect: int | None = None
    ) -> Any:
        """Send one request and return the decoded response.

        Raise AssertionError unless the status is the expected one.
        """
        reply = await self.client.call(method, path, body, kind)
        fine = reply.status == expect if expect is not None else 200 <= reply.status < 300
        assert fine, f"{method} {path}: {reply.status} {reply.body[:2000]!r}"
        return json.loads(reply.body) if reply.body.startswith((b"{", b"[")) else reply.body

    async def define(self, crd: JsonObject) -> JsonObject:
        created: JsonObject = await self.ask("POST", DEFINITIONS, crd)
        return created

    async def watch(self, path: str) -> AsyncIterator[JsonObject]:
        """Yield the events of a watch on a connection of its own."""
        async with self.another() as client:
            async for line in client.lines(path):
                yield json.loads(line)

    async def until(self, path: str, wanted: Any, *, starting: bool = True) -> JsonObject:
        """Return the first watch event that `wanted(type, object)` accepts.

        By default the watch starts with the current state.
        """
        async with asyncio.timeout(DEADLINE_SECONDS):
            async for event in self.watch(f"{path}{'&' if '?' in path else '?'}watch=1"):
                if wanted(event["type"], event["object"]):
                    return event
        raise AssertionError("the watch ended")

    async def gone(self, collection: str, *names: str) -> None:
        """Wait until the objects no longer exist."""
        left = set(names)
        listed = await self.ask("GET", collection)
        left &= {item["metadata"]["name"] for item in listed["items"]}
        if not left:
            return
        revision = listed["metadata"]["resourceVersion"]
        async with asyncio.timeout(DEADLINE_SECONDS):
            async for event in self.watch(f"{collection}?watch=1&resourceVersion={revision}"):
                if event["type"] == "DELETED":
                    left.discard(event["object"]["metadata"]["name"])
                if not left:
                    return
        raise AssertionError(f"the watch ended, left are {left}")


@asynccontextmanager
async def live(
    folder: Path, *, store: Store | None = None, clock: Clock | None = None, **settings: Any
) -> AsyncIterator[Live]:
    """Start a server on a free port with its data in `folder`.

    Start another one on the same folder to test persistence. Namespaces are empty: no controller adds service accounts.
    """
    settings = {"disable_admission_plugins": ("ServiceAccount",), **settings}
    async with Server(
        Settings(data_dir=folder / "data", secure_port=0, **settings), store=store, clock=clock
    ) as server:
        running = Live(server)
        try:
            yield running
        finally:
            running.client.close()
