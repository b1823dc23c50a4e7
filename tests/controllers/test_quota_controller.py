"""The quota controller on one server: usage is filled in, never exceeded, and freed again."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.live import Live, live

CRD: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "vats.x.io"},
    "spec": {
        "group": "x.io",
        "scope": "Namespaced",
        "names": {"plural": "vats", "kind": "Vat"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {"spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
                    }
                },
                "subresources": {"status": {}},
            }
        ],
    },
}
MERGE = "application/merge-patch+json"
CORE = "/api/v1/namespaces/default"
VATS = "/apis/x.io/v1/namespaces/default/vats"
QUOTA = f"{CORE}/resourcequotas/q"
COUNT = "count/vats.x.io"
BYTES = "polykind.dev/bytes"


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Live]:
    async with live(tmp_path) as server:
        await server.define(CRD)
        yield server


def vat(name: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": "x.io/v1", "kind": "Vat", "metadata": {"name": name}, "spec": spec}


async def limit(running: Live, hard: dict[str, str]) -> None:
    """Create or replace the limits of the quota `q`, and wait until they are in force."""
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": {"hard": hard}}
    await running.ask("PATCH", f"{QUOTA}?fieldManager=me&force=true", quota, kind="application/apply-patch+yaml")
    await running.until(f"{CORE}/resourcequotas", lambda _, obj: (obj.get("status") or {}).get("hard") == hard)


async def used(running: Live, wanted: dict[str, str], quota: str = "q") -> None:
    """Wait until the usage of a quota is as wanted."""
    path = f"{CORE}/resourcequotas?fieldSelector=metadata.name={quota}"
    await running.until(path, lambda _, obj: (obj.get("status") or {}).get("used") == wanted)


async def stored_bytes(running: Live) -> int:
    """Return the bytes of the stored vats: their JSON without the resourceVersion."""
    total = 0
    for item in (await running.ask("GET", VATS))["items"]:
        del item["metadata"]["resourceVersion"]
        total += len(json.dumps(item, separators=(",", ":")))
    return total


async def test_existing_and_new_objects_count(running: Live) -> None:
    await running.ask("POST", VATS, vat("a"))
    await limit(running, {COUNT: "2", "configmaps": "1"})
    await used(running, {COUNT: "1", "configmaps": "0"})
    await running.ask("POST", VATS, vat("b"))
    reply = await running.ask("POST", VATS, vat("c"), expect=403)
    assert reply["message"] == (
        'vats.x.io "c" is forbidden: exceeded quota: q, requested: count/vats.x.io=1, used: count/vats.x.io=2, '
        "limited: count/vats.x.io=2"
    )
    await running.ask("DELETE", f"{VATS}/a")
    await used(running, {COUNT: "1", "configmaps": "0"})
    await running.ask("POST", VATS, vat("c"))


async def test_concurrent_creates_and_deletes_never_exceed_the_quota(running: Live) -> None:
    await limit(running, {COUNT: "20"})
    created: list[str] = []

    async def create(name: str) -> int:
        async with running.another() as client:
            status = (await client.call("POST", VATS, vat(name))).status
            if status == 201:
                created.append(name)
                if len(created) % 3 == 0:
                    assert (await client.call("DELETE", f"{VATS}/{created.pop(0)}")).status == 200
            return status

    async def most_vats() -> int:
        most, present = 0, set()
        async for event in running.watch(f"{VATS}?watch=1"):
            name = event["object"]["metadata"]["name"]
            present.add(name) if event["type"] == "ADDED" else present.discard(name)
            most = max(most, len(present))
            if name == "last":
                return most
        raise AssertionError("the watch ended")

    async with asyncio.TaskGroup() as group:
        watching = group.create_task(most_vats())
        statuses = await asyncio.gather(*(create(f"v{number}") for number in range(50)))
        await used(running, {COUNT: str(len(created))})
        await running.ask("DELETE", VATS)
        await used(running, {COUNT: "0"})
        await running.ask("POST", VATS, vat("last"))
    assert set(statuses) == {201, 403}
    assert watching.result() == 20


async def test_limit_beyond_int64_is_accepted(running: Live) -> None:
    await limit(running, {"count/configmaps": "1e300"})
    await running.ask("POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"name": "m"}})
    await used(running, {"count/configmaps": "1"})


async def test_failed_writes_use_nothing(running: Live) -> None:
    await limit(running, {COUNT: "3", BYTES: "10Ki"})
    await running.ask("POST", VATS, vat("a"))
    size = await stored_bytes(running)
    await running.ask("POST", VATS, vat("a"), expect=409)
    await running.ask("POST", f"{VATS}?dryRun=All", vat("b"))
    await running.ask("POST", VATS, {**vat("b"), "spec": 1}, expect=422)
    await used(running, {COUNT: "1", BYTES: str(size)})


async def test_object_with_finalizer_counts_until_it_is_gone(running: Live) -> None:
    await limit(running, {COUNT: "1"})
    held = vat("held")
    held["metadata"]["finalizers"] = ["x.io/hold"]
    await running.ask("POST", VATS, held)
    await running.ask("DELETE", f"{VATS}/held")
    await running.ask("POST", VATS, vat("next"), expect=403)
    await running.ask("PATCH", f"{VATS}/held", {"metadata": {"finalizers": None}}, kind=MERGE)
    await used(running, {COUNT: "0"})
    await running.ask("POST", VATS, vat("next"))


async def test_bytes_of_creates_and_updates_are_limited(running: Live) -> None:
    each = f"{BYTES}.vats.x.io"
    await limit(running, {BYTES: "100Ki", each: "2Ki"})
    await running.ask("POST", VATS, vat("a", text="x" * 500))
    size = await stored_bytes(running)
    await used(running, {BYTES: str(size), each: str(size)})
    reply = await running.ask("POST", VATS, vat("b", text="x" * 2000), expect=403)
    assert f'vats.x.io "b" is forbidden: exceeded quota: q, requested: {each}=' in reply["message"]
    assert f"used: {each}={size}, limited: {each}=2Ki" in reply["message"]
    for path in (f"{VATS}/a", f"{VATS}/a?dryRun=All"):
        await running.ask("PATCH", path, {"spec": {"more": "x" * 2000}}, kind=MERGE, expect=403)
    await running.ask("PATCH", f"{VATS}/a", {"spec": {"more": "x" * 200}}, kind=MERGE)
    grown = await stored_bytes(running)
    await used(running, {BYTES: str(grown), each: str(grown)})
    await running.ask("PATCH", f"{VATS}/a", {"spec": {"more": None, "text": None}}, kind=MERGE)
    shrunk = await stored_bytes(running)
    assert shrunk < size < grown
    await used(running, {BYTES: str(shrunk), each: str(shrunk)})
    await running.ask("DELETE", f"{VATS}/a")
    await used(running, {BYTES: "0", each: "0"})


async def test_new_limits_and_new_kinds_are_counted(running: Live) -> None:
    await running.ask("POST", VATS, vat("a"))
    await limit(running, {COUNT: "1", "count/jars.x.io": "1"})
    await used(running, {COUNT: "1", "count/jars.x.io": "0"})
    names = {"plural": "jars", "kind": "Jar"}
    await running.define({**CRD, "metadata": {"name": "jars.x.io"}, "spec": {**CRD["spec"], "names": names}})
    jars = VATS.replace("vats", "jars")
    await running.ask("POST", jars, {**vat("a"), "kind": "Jar"})
    await running.ask("POST", jars, {**vat("b"), "kind": "Jar"}, expect=403)
    await limit(running, {COUNT: "5", "secrets": "1"})
    await used(running, {COUNT: "1", "secrets": "0"})


async def test_builtin_kinds_and_scopes_are_counted(running: Live) -> None:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "500m"}}}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [container]}}
    await running.ask("POST", f"{CORE}/pods", pod)
    spec = {"hard": {"pods": "3"}, "scopes": ["BestEffort"]}
    await running.ask("POST", f"{CORE}/resourcequotas", {"metadata": {"name": "idle"}, "spec": spec})
    await limit(running, {"requests.cpu": "1", "pods": "5"})
    await used(running, {"requests.cpu": "500m", "pods": "1"})
    await used(running, {"pods": "0"}, "idle")
    await running.ask("PATCH", f"{CORE}/pods/p/status", {"status": {"phase": "Succeeded"}}, kind=MERGE)
    await used(running, {"requests.cpu": "0", "pods": "0"})


async def test_namespace_with_quota_can_be_deleted(running: Live) -> None:
    await running.ask("POST", "/api/v1/namespaces", {"metadata": {"name": "team"}})
    quota = {"metadata": {"name": "q"}, "spec": {"hard": {COUNT: "5"}}}
    await running.ask("POST", "/api/v1/namespaces/team/resourcequotas", quota)
    for number in range(3):
        await running.ask("POST", VATS.replace("default", "team"), vat(f"v{number}"))
    await running.ask("DELETE", "/api/v1/namespaces/team")
    await running.gone("/api/v1/namespaces", "team")


async def test_usage_is_counted_after_a_restart(tmp_path: Path) -> None:
    async with live(tmp_path, quota_controller=False) as running:
        await running.define(CRD)
        quota = {"metadata": {"name": "q"}, "spec": {"hard": {COUNT: "5"}}}
        await running.ask("POST", f"{CORE}/resourcequotas", quota)
        await running.ask("POST", VATS, vat("a"))
        assert "used" not in (await running.ask("GET", QUOTA))["status"]
    async with live(tmp_path) as running:
        await used(running, {COUNT: "1"})
