"""Services that an earlier build stored are found at the keys that Kubernetes uses."""

from __future__ import annotations

import json
from pathlib import Path

from polykind.store.sqlite import SqliteStore
from tests.support.live import live


async def test_services_move_to_the_keys_of_kubernetes(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    store = SqliteStore(tmp_path / "data")
    await store.start()
    for name in ("a", "b"):
        service = {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": name, "namespace": "default", "uid": name},
        }
        value = json.dumps(
            {**service, "spec": {"type": "ExternalName", "externalName": f"{name}.example.com"}}
        ).encode()
        await store.put(f"/registry/polykind/services/default/{name}", value, expect=0)
    await store.put("/registry/services/specs/default/b", value.replace(b"b.example.com", b"new.example.com"), expect=0)
    await store.close()
    async with live(tmp_path) as running:
        for name, host in (("a", "a.example.com"), ("b", "new.example.com")):
            found = await running.ask("GET", f"/api/v1/namespaces/default/services/{name}")
            assert found["spec"]["externalName"] == host
        assert not (await running.server.store.range("/registry/polykind/")).items
