"""The namespace controller on a running server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from polykind.contract import CompactedError
from tests.support.live import Live, live
from tests.support.widgets import GROUP, MERGE, definition, namespace, widget

NAMESPACES = "/api/v1/namespaces"


def collection(name: str, plural: str = "widgets") -> str:
    return f"/apis/{GROUP}/v1/namespaces/{name}/{plural}"


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Live]:
    async with live(tmp_path) as running:
        await running.define(definition())
        await running.define(definition("gadgets", "Gadget"))
        await running.ask("POST", NAMESPACES, namespace("doomed"))
        yield running


async def test_initial_namespaces_exist_from_the_start(running: Live) -> None:
    listed = await running.ask("GET", NAMESPACES)
    phases = {n["metadata"]["name"]: n["status"]["phase"] for n in listed["items"]}
    initial = ("default", "kube-node-lease", "kube-public", "kube-system")
    assert phases == dict.fromkeys((*initial, "doomed"), "Active")


async def test_kube_apiserver_manages_the_labels_of_initial_namespaces(running: Live) -> None:
    [managed] = (await running.ask("GET", "/api/v1/namespaces/default"))["metadata"]["managedFields"]
    assert (managed["manager"], managed["operation"]) == ("kube-apiserver", "Update")
    assert managed["fieldsV1"] == {"f:metadata": {"f:labels": {".": {}, "f:kubernetes.io/metadata.name": {}}}}


async def test_namespace_deletion_deletes_its_content(running: Live) -> None:
    for number in range(150):
        await running.ask("POST", collection("doomed"), widget(f"w{number}"))
    await running.ask("POST", collection("doomed", "gadgets"), widget("g", kind="Gadget"))
    await running.ask("POST", collection("default"), widget("bystander"))
    deleted = await running.ask("DELETE", f"{NAMESPACES}/doomed")
    assert deleted["status"]["phase"] == "Terminating"
    await running.gone(NAMESPACES, "doomed")
    for plural in ("widgets", "gadgets"):
        assert (await running.ask("GET", collection("doomed", plural)))["items"] == []
    assert len((await running.ask("GET", collection("default")))["items"]) == 1
    error = await running.ask("POST", collection("doomed"), widget("late"), expect=404)
    assert error["message"] == 'namespaces "doomed" not found'
    await running.ask("POST", NAMESPACES, namespace("doomed"))
    await running.ask("POST", collection("doomed"), widget("again"))


async def test_terminating_namespace_waits_for_finalizers_and_rejects_creates(running: Live) -> None:
    path = f"{collection('doomed')}/kept"
    await running.ask("POST", collection("doomed"), widget("kept", meta={"finalizers": ["example.com/x"]}))
    await running.ask("POST", collection("doomed"), widget("loose"))
    await running.ask("DELETE", f"{NAMESPACES}/doomed")
    await running.gone(collection("doomed"), "loose")
    kept = await running.ask("GET", path)
    assert kept["metadata"]["deletionTimestamp"]
    error = await running.ask("POST", collection("doomed"), widget("new"), expect=403)
    assert error["message"] == (
        f'widgets.{GROUP} "new" is forbidden: unable to create new content in namespace doomed '
        "because it is being terminated"
    )
    assert error["details"]["causes"] == [
        {
            "reason": "NamespaceTerminating",
            "message": "namespace doomed is being terminated",
            "field": "metadata.namespace",
        }
    ]
    await running.ask("PATCH", path, {"spec": {"size": 2}}, kind=MERGE)
    await running.ask("PATCH", path, {"metadata": {"finalizers": None}}, kind=MERGE)
    await running.gone(NAMESPACES, "doomed")


async def test_namespace_with_own_finalizers_stays_without_content(running: Live) -> None:
    patch = {"metadata": {"finalizers": ["example.com/x"]}}
    await running.ask("PATCH", f"{NAMESPACES}/doomed", patch, kind=MERGE)
    await running.ask("POST", collection("doomed"), widget("w"))
    await running.ask("DELETE", f"{NAMESPACES}/doomed")
    await running.until(
        f"{NAMESPACES}", lambda _, n: n["metadata"]["name"] == "doomed" and not n["spec"].get("finalizers")
    )
    assert (await running.ask("GET", collection("doomed")))["items"] == []
    await running.ask("PATCH", f"{NAMESPACES}/doomed", {"metadata": {"finalizers": None}}, kind=MERGE)
    await running.gone(NAMESPACES, "doomed")


async def test_namespace_deletion_continues_after_a_restart(tmp_path: Path) -> None:
    async with live(tmp_path) as before:
        await before.define(definition())
        await before.ask("POST", NAMESPACES, namespace("doomed"))
        await before.ask("POST", collection("doomed"), widget("kept", meta={"finalizers": ["example.com/x"]}))
        await before.ask("DELETE", f"{NAMESPACES}/doomed")
    async with live(tmp_path) as after:
        path = f"{collection('doomed')}/kept"
        await after.ask("PATCH", path, {"metadata": {"finalizers": None}}, kind=MERGE)
        await after.gone(NAMESPACES, "doomed")


async def test_namespace_deletion_missed_by_the_watch_is_processed(running: Live) -> None:
    """Another replica may have started the deletion while this one had lost its watch."""
    server = running.server
    watching = server.cache._watch
    assert watching is not None
    watching.close()
    await running.ask("POST", NAMESPACES, namespace("other"))
    deletion = asyncio.create_task(running.ask("DELETE", f"{NAMESPACES}/doomed"))
    await asyncio.sleep(0.01)
    server.cache.on_lost(CompactedError(1, 2))
    await deletion
    await running.gone(NAMESPACES, "doomed")


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public"])
async def test_protected_namespaces_cannot_be_deleted(running: Live, name: str) -> None:
    error = await running.ask("DELETE", f"{NAMESPACES}/{name}", expect=403)
    assert error["message"] == f'namespaces "{name}" is forbidden: this namespace may not be deleted'


async def test_undeletable_object_keeps_the_namespace_only(running: Live, caplog: pytest.LogCaptureFixture) -> None:
    await running.ask("POST", collection("doomed"), widget("w"))
    await running.ask("POST", collection("doomed", "gadgets"), widget("g", kind="Gadget"))
    key = f"/registry/{GROUP}/widgets/doomed/odd"
    await running.server.store.put(key, b"nonsense", expect=0)
    await running.ask("DELETE", f"{NAMESPACES}/doomed")
    await running.gone(collection("doomed", "gadgets"), "g")
    assert (await running.ask("GET", f"{NAMESPACES}/doomed"))["status"]["phase"] == "Terminating"
    await running.server.store.delete(key, expect=None)
    await running.gone(NAMESPACES, "doomed")
    assert (await running.ask("GET", collection("doomed")))["items"] == []
    warnings = [r for r in caplog.records if "cannot delete the content of doomed" in r.message]
    assert len(warnings) == 1
