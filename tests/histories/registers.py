"""The Register resource, whose objects the clients of a history write, and the way from its JSON to a `State`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from tests.histories.history import State
from tests.support.client import Client
from tests.support.server import ServerProcess

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
SIDES = ("left", "right")


def definition(group: str, *versions: str, storage: str = "v1", field: str = "value") -> dict[str, Any]:
    """Return the CRD with the versions v1 and others. In the others, the field of the value is called `field`."""

    def version(name: str) -> dict[str, Any]:
        value = {("value" if name == "v1" else field): {"type": "string"}}
        spec = {"type": "object", "properties": value}
        schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
        return {"name": name, "served": True, "storage": name == storage, "schema": schema}

    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"registers.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": "registers", "singular": "register", "kind": "Register", "listKind": "RegisterList"},
            "versions": [version(name) for name in ("v1", *versions)],
        },
    }


def register(group: str, name: str, value: str, version: str = "v1", field: str = "value") -> dict[str, Any]:
    metadata = {"name": name}
    return {"apiVersion": f"{group}/{version}", "kind": "Register", "metadata": metadata, "spec": {field: value}}


def path(group: str, name: str = "", version: str = "v1") -> str:
    return f"/apis/{group}/{version}/namespaces/default/registers" + (f"/{name}" if name else "")


def state_of(item: dict[str, Any], revision: int = 0) -> State:
    """Return the state that an object's JSON shows, at any version. The converter appends its answers behind a `|`."""
    metadata, spec = item["metadata"], item.get("spec") or {}
    value = str(spec.get("value") or spec.get("text") or "").partition("|")[0]
    shown = revision or int(metadata["resourceVersion"])
    return State(shown, metadata.get("uid", ""), value, (metadata.get("labels") or {}).get("side", ""))


@lru_cache(maxsize=32)
def _token(server: ServerProcess) -> str:
    """Return the token of a server. It stays the same when the server restarts, and reading YAML takes milliseconds."""
    return server.token


def client(server: ServerProcess) -> Client:
    return Client(server.url, _token(server))


async def established(server: ServerProcess, name: str, seconds: float = 10) -> dict[str, Any]:
    """Wait until the CRD's conditions say that it is served, and return it."""
    async with asyncio.timeout(seconds), client(server) as asking:
        while True:
            reply = await asking.call("GET", f"{CRDS}/{name}")
            crd: dict[str, Any] = reply.json()
            conditions = crd.get("status", {}).get("conditions") or []
            if any(c["type"] == "Established" and c["status"] == "True" for c in conditions):
                return crd
            await asyncio.sleep(0.02)


async def define(servers: Sequence[ServerProcess], group: str, crd: dict[str, Any] | None = None) -> None:
    """Create the CRD through the first replica and wait until all replicas serve all its versions."""
    crd = crd or definition(group)
    async with client(servers[0]) as creating:
        reply = await creating.call("POST", CRDS, crd)
        assert reply.status == 201, reply.body
    for server in servers:
        await established(server, f"registers.{group}")
        async with asyncio.timeout(10), client(server) as asking:
            for version in crd["spec"]["versions"]:
                while (await asking.call("GET", path(group, version=version["name"]))).status != 200:
                    await asyncio.sleep(0.02)
