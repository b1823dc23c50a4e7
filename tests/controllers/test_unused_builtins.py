"""Controllers find the objects of built-in kinds that no request has used since the start of the server."""

from __future__ import annotations

from pathlib import Path

import pytest

from polykind.controllers.garbage_collector import GarbageCollector
from tests.support.live import Live, live

NAMESPACES = "/api/v1/namespaces"
CORE = "/api/v1/namespaces/default"


@pytest.fixture(autouse=True)
def absent_owners(monkeypatch: pytest.MonkeyPatch) -> None:
    """Treat unknown owners as deleted at once. The collector may read a child only after the deletion of its parent."""
    monkeypatch.setattr(GarbageCollector, "absent_owner_delay", 0.0)


def built(running: Live) -> set[str]:
    return {resource.plural for resource in running.server.registry.resources()}


async def test_deleted_namespace_loses_objects_of_unused_kinds(tmp_path: Path) -> None:
    async with live(tmp_path) as running:
        await running.ask("POST", NAMESPACES, {"metadata": {"name": "old"}})
        await running.ask("POST", f"{NAMESPACES}/old/secrets", {"metadata": {"name": "a"}})
        await running.ask("POST", "/apis/coordination.k8s.io/v1/namespaces/old/leases", {"metadata": {"name": "b"}})
    async with live(tmp_path) as running:
        assert not {"secrets", "leases"} & built(running)
        await running.ask("DELETE", f"{NAMESPACES}/old")
        await running.gone(NAMESPACES, "old")
        for prefix in ("secrets/old/", "leases/old/"):
            assert not (await running.server.store.range(f"/registry/{prefix}")).items
        assert "endpointslices" not in built(running)


async def test_garbage_collector_knows_dependents_of_unused_kinds(tmp_path: Path) -> None:
    async with live(tmp_path) as running:
        parent = await running.ask("POST", f"{CORE}/configmaps", {"metadata": {"name": "parent"}})
        owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "parent", "uid": parent["metadata"]["uid"]}
        await running.ask("POST", f"{CORE}/secrets", {"metadata": {"name": "child", "ownerReferences": [owner]}})
    async with live(tmp_path) as running:
        await running.ask("DELETE", f"{CORE}/configmaps/parent")
        await running.gone(f"{CORE}/secrets", "child")


async def test_garbage_collector_notices_unused_kinds_of_other_writers(tmp_path: Path) -> None:
    async with live(tmp_path) as running:
        parent = await running.ask("POST", f"{CORE}/configmaps", {"metadata": {"name": "parent"}})
        uid = parent["metadata"]["uid"]
        value = (
            b'{"apiVersion":"v1","kind":"Secret","metadata":{"name":"child","namespace":"default","ownerReferences":'
            b'[{"apiVersion":"v1","kind":"ConfigMap","name":"parent","uid":"%b"}],"uid":"1"},"type":"Opaque"}'
        ) % uid.encode()
        await running.server.store.put("/registry/secrets/default/child", value, expect=0)
        await running.ask("DELETE", f"{CORE}/configmaps/parent")
        await running.gone(f"{CORE}/secrets", "child")
