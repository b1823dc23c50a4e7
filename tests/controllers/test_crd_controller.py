"""The CRD controller and finalizer on a running server."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from polykind.contract import JsonObject
from polykind.store.sqlite import SqliteStore
from tests.support.live import DEFINITIONS, Live, live
from tests.support.waiting import eventually_async
from tests.support.widgets import ALL, GROUP, MERGE, NAME, WIDGETS, definition, widget


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Live]:
    async with live(tmp_path) as running:
        await running.define(definition())
        yield running


async def fill(running: Live, count: int) -> None:
    numbers = iter(range(count))

    async def worker() -> None:
        async with running.another() as client:
            for number in numbers:
                assert (await client.call("POST", WIDGETS, widget(f"w{number}"))).status == 201

    await asyncio.gather(*(worker() for _ in range(16)))


async def test_crd_is_served_when_its_create_returns(tmp_path: Path) -> None:
    async with live(tmp_path) as running:
        for number in range(20):
            plural = f"things{number}"
            await running.define(definition(plural, f"Thing{number}"))
            path = f"/apis/{GROUP}/v1/namespaces/default/{plural}"
            await running.ask("POST", path, widget("x", kind=f"Thing{number}"))
            served = await running.ask("GET", f"/apis/{GROUP}/v1")
            assert plural in {r["name"] for r in served["resources"]}


async def test_new_crd_and_its_status_are_written_in_one_transaction(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with live(tmp_path) as running:
        store = running.server.store
        written: list[str] = []
        put_twice = store.put_twice

        async def record(key: str, first: bytes, second: bytes, *, expect: int | None) -> int:
            written.append(key)
            return await put_twice(key, first, second, expect=expect)

        monkeypatch.setattr(store, "put_twice", record)
        created = await running.define(definition())
        assert written == [f"/registry/apiextensions.k8s.io/customresourcedefinitions/{NAME}"]
        assert created["status"]["conditions"] is None
        stored = await running.ask("GET", f"{DEFINITIONS}/{NAME}")
        revision = int(created["metadata"]["resourceVersion"])
        assert stored["metadata"]["resourceVersion"] == str(revision + 1)
        assert [c["type"] for c in stored["status"]["conditions"]] == ["NamesAccepted", "Established"]
        assert "kube-apiserver" in [entry["manager"] for entry in stored["metadata"]["managedFields"]]
        events = running.watch(f"{DEFINITIONS}?watch=1&resourceVersion={revision - 1}")
        seen = [await anext(events) for _ in range(2)]
        assert [(event["type"], event["object"]) for event in seen] == [("ADDED", created), ("MODIFIED", stored)]


async def test_first_status_has_the_managed_fields_of_a_later_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compare CRDs whose status was written with them, and CRDs whose status was written later."""
    crds = [
        definition("ants", "Ant"),
        definition("bees", "Bee"),
        definition("cows", "Ant"),
        definition("dogs", "Ant"),
        definition("emus", "Emu"),
    ]
    crds[4]["spec"]["names"] |= {"shortNames": ["em"], "categories": ["all"]}
    managed: list[list[JsonObject]] = []
    for together in (True, False):
        monkeypatch.setattr(SqliteStore, "can_put_twice", together)
        async with live(tmp_path / str(together)) as running:
            for crd in crds:
                await running.ask("POST", f"{DEFINITIONS}?fieldManager=me", crd)
            listed = (await running.ask("GET", DEFINITIONS))["items"]
            entries = [{**entry, "time": ""} for item in listed for entry in item["metadata"]["managedFields"]]
            managed.append(sorted(entries, key=str))
    assert managed[0] == managed[1]


async def test_failed_create_of_a_crd_frees_its_names(tmp_path: Path) -> None:
    async with live(tmp_path) as running:
        await running.define(definition("ants", "Ant"))
        contested = definition("ants", "Animal")
        assert (await running.client.call("POST", DEFINITIONS, contested)).status == 409
        await running.define(definition("bees", "Animal"))
        bees = await running.ask("GET", f"{DEFINITIONS}/bees.{GROUP}")
        assert bees["status"]["acceptedNames"]["kind"] == "Animal"


async def test_only_one_of_concurrent_crds_gets_a_contested_name(tmp_path: Path) -> None:
    async with live(tmp_path) as running:
        plurals = ("ants", "bees", "cows")

        async def create(plural: str) -> None:
            async with running.another() as client:
                assert (await client.call("POST", DEFINITIONS, definition(plural, "Animal"))).status == 201

        for _ in range(5):
            await asyncio.gather(*map(create, plurals))
            crds = [await running.ask("GET", f"{DEFINITIONS}/{plural}.{GROUP}") for plural in plurals]
            kinds = [crd["status"]["acceptedNames"]["kind"] for crd in crds]
            assert sorted(kinds) == ["", "", "Animal"]
            for plural in plurals:
                await running.ask("DELETE", f"{DEFINITIONS}/{plural}.{GROUP}")
            for plural in plurals:
                await running.gone(DEFINITIONS, f"{plural}.{GROUP}")


async def test_crd_deletion_deletes_its_instances(running: Live) -> None:
    await fill(running, 500)
    await running.ask("DELETE", f"{DEFINITIONS}/{NAME}")
    await running.gone(DEFINITIONS, NAME)
    assert await running.ask("GET", ALL, expect=404) == b"404 page not found\n"
    remaining = await running.server.store.range(f"/registry/{GROUP}/widgets/")
    assert remaining.items == []
    await running.define(definition())
    assert (await running.ask("GET", ALL))["items"] == []


async def test_terminating_crd_waits_for_finalizers_and_rejects_creates(running: Live) -> None:
    await running.ask("POST", WIDGETS, widget("kept", meta={"finalizers": ["example.com/x"]}))
    await running.ask("POST", WIDGETS, widget("free"))
    await running.ask("DELETE", f"{DEFINITIONS}/{NAME}")
    await running.gone(WIDGETS, "free")
    error = await running.ask("POST", WIDGETS, widget("new"), expect=403)
    assert error["message"] == (
        f'widgets.{GROUP} "new" is forbidden: create not allowed while custom resource definition is terminating'
    )
    crd = await running.ask("GET", f"{DEFINITIONS}/{NAME}")
    terminating = next(c for c in crd["status"]["conditions"] if c["type"] == "Terminating")
    assert (terminating["status"], terminating["reason"]) == ("True", "InstanceDeletionInProgress")
    await running.ask("PATCH", f"{WIDGETS}/kept", {"metadata": {"finalizers": None}}, kind=MERGE)
    await running.gone(DEFINITIONS, NAME)


async def test_deleted_crd_that_was_never_established_gets_the_condition(running: Live) -> None:
    rival = definition("gadgets", "Widget")
    rival["metadata"]["finalizers"] = ["example.com/hold"]
    await running.ask("POST", DEFINITIONS, rival)
    await running.ask("DELETE", f"{DEFINITIONS}/gadgets.{GROUP}")
    released = await running.until(
        f"{DEFINITIONS}?fieldSelector=metadata.name=gadgets.{GROUP}",
        lambda _, crd: crd["metadata"]["finalizers"] == ["example.com/hold"] and "deletionTimestamp" in crd["metadata"],
    )
    conditions = released["object"]["status"]["conditions"]
    terminating = next(c for c in conditions if c["type"] == "Terminating")
    assert (terminating["status"], terminating["reason"]) == ("False", "NeverEstablished")
    owned = {e["manager"]: e["fieldsV1"] for e in released["object"]["metadata"]["managedFields"]}["kube-apiserver"]
    assert {"f:message", "f:reason", "f:status"} <= owned["f:status"]["f:conditions"]['k:{"type":"Terminating"}'].keys()


async def test_crd_can_reuse_a_name_that_it_frees_itself(running: Live) -> None:
    path = f"{DEFINITIONS}/{NAME}"
    for names in ({"shortNames": ["w"]}, {"shortNames": None, "singular": "w"}):
        await running.ask("PATCH", path, {"spec": {"names": names}}, kind=MERGE)
    crd = await running.ask("GET", path)
    assert crd["status"]["acceptedNames"] == crd["spec"]["names"]
    accepted = next(c for c in crd["status"]["conditions"] if c["type"] == "NamesAccepted")
    assert accepted["reason"] == "NoConflicts"


async def test_names_cleared_from_a_status_return_to_the_same_crd(running: Live) -> None:
    await running.define(definition("gadgets", "Widget"))
    cleared = {"status": {"acceptedNames": {"kind": ""}}}
    await running.ask("PATCH", f"{DEFINITIONS}/{NAME}/status", cleared, kind=MERGE)
    crd = await running.ask("GET", f"{DEFINITIONS}/{NAME}")
    assert crd["status"]["acceptedNames"]["kind"] == "Widget"
    rival = await running.ask("GET", f"{DEFINITIONS}/gadgets.{GROUP}")
    assert rival["status"]["acceptedNames"]["kind"] == ""


async def test_crd_deletion_continues_after_a_restart(tmp_path: Path) -> None:
    async with live(tmp_path) as before:
        await before.define(definition())
        await before.ask("POST", WIDGETS, widget("kept", meta={"finalizers": ["example.com/x"]}))
        await before.ask("DELETE", f"{DEFINITIONS}/{NAME}")
    async with live(tmp_path) as after:
        await after.ask("PATCH", f"{WIDGETS}/kept", {"metadata": {"finalizers": None}}, kind=MERGE)
        await after.gone(DEFINITIONS, NAME)


async def test_watches_end_when_the_crd_changes_or_is_deleted(running: Live) -> None:
    async def follow() -> list[str]:
        return [e["type"] async for e in running.watch(f"{WIDGETS}?watch=1")]

    await running.ask("POST", WIDGETS, widget("w"))
    watching = asyncio.create_task(follow())
    await eventually_async(lambda: any(k.channels for k in running.server.registry.resources()))
    column = {"name": "Size", "type": "integer", "jsonPath": ".spec.size"}
    patch = [{"op": "add", "path": "/spec/versions/0/additionalPrinterColumns", "value": [column]}]
    await running.ask("PATCH", f"{DEFINITIONS}/{NAME}", patch, kind="application/json-patch+json")
    async with asyncio.timeout(10):
        assert await watching == ["ADDED"]
    second_watch = asyncio.create_task(follow())
    await asyncio.sleep(0.05)
    await running.ask("DELETE", f"{DEFINITIONS}/{NAME}")
    async with asyncio.timeout(10):
        assert await second_watch == ["ADDED", "DELETED"]


async def test_changed_schema_applies_to_stored_objects(running: Live) -> None:
    await running.ask("POST", WIDGETS, widget("w", size=5, note="x"))
    crd = await running.ask("GET", f"{DEFINITIONS}/{NAME}")
    for version in crd["spec"]["versions"]:
        spec = version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
        del spec["note"]
        spec["color"] = {"type": "string", "default": "red"}
    await running.ask("PUT", f"{DEFINITIONS}/{NAME}", crd)
    for version in ("v1", "v2"):
        obj = await running.ask("GET", f"/apis/{GROUP}/{version}/namespaces/default/widgets/w")
        assert obj["spec"] == {"size": 5, "color": "red"}
    listed = await running.ask("GET", WIDGETS)
    assert [item["spec"] for item in listed["items"]] == [{"size": 5, "color": "red"}]


INVALID_CRDS = {
    "bytes": b"\x00\xffnonsense",
    "no object": b"[1]",
    "no spec": b'{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"odd"}}',
    "odd spec": (
        b'{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"odd","uid":"u"},'
        b'"spec":{"group":1,"names":[],"versions":{}},"status":7}'
    ),
    "odd names": (
        b'{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"odd","uid":"u"},'
        b'"spec":{"group":"odd.com","scope":"Namespaced","names":{"plural":"odds"},"versions":[{"name":"v1"}]},'
        b'"status":{"conditions":[{"type":"Established","status":"True"},{"type":"NamesAccepted","status":"True"}]}}'
    ),
}


@pytest.mark.parametrize("case", INVALID_CRDS)
async def test_invalid_stored_crd_does_not_affect_the_server(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, case: str
) -> None:
    key = "/registry/apiextensions.k8s.io/customresourcedefinitions/odd"
    async with live(tmp_path) as before:
        await before.define(definition())
        await before.server.store.put(key, INVALID_CRDS[case], expect=0)
        await before.ask("POST", WIDGETS, widget("w"))
        await before.ask("GET", "/apis")
    async with live(tmp_path) as after:
        assert [i["metadata"]["name"] for i in (await after.ask("GET", WIDGETS))["items"]] == ["w"]
        await after.ask("GET", "/apis")
        await after.ask("GET", "/openapi/v2")
        await after.define(definition("gadgets", "Gadget"))
        reply = await after.client.call("GET", f"{DEFINITIONS}/odd")
        assert reply.status in (200, 500)
        if reply.status == 500:
            assert reply.json()["reason"] == "InternalError"
        await after.server.store.delete(key, expect=None)
        assert len((await after.ask("GET", DEFINITIONS))["items"]) == 2
    assert case == "no spec" or "stored CRD odd" in caplog.text


async def test_deleted_crd_leaves_no_cache_behind(tmp_path: Path) -> None:
    """Memory returns when CRDs are deleted: neither a controller nor a metric keeps anything of the resource."""

    def kept(type_name: str) -> list[object]:
        gc.collect()
        return [thing for thing in gc.get_objects() if type(thing).__name__ == type_name]

    async with live(tmp_path) as running:
        before = len(kept("ResourceCache")), len(kept("CustomResource")), len(kept("CRDSummary"))
        await running.define(definition())
        await running.ask("POST", WIDGETS, widget("w"))
        await running.ask("GET", WIDGETS)
        assert len(kept("ResourceCache")) == before[0] + 1
        await running.ask("DELETE", f"{DEFINITIONS}/{NAME}")
        await eventually_async(
            lambda: (len(kept("ResourceCache")), len(kept("CustomResource")), len(kept("CRDSummary"))) == before
        )
        page = await running.ask("GET", "/metrics")
        assert [line for line in page.decode().splitlines() if GROUP in line or "widgets" in line] == []
