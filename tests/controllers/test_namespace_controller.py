"""Namespaces: emptied before they go, and closed while they do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from polykind.contract import CompactedError
from tests.support.live import Live, live
from tests.support.widgets import GROUP, MERGE, definition, namespace, widget

NAMESPACES = "/api/v1/namespaces"


def collection(space: str, plural: str = "widgets") -> str:
    return f"/apis/{GROUP}/v1/namespaces/{space}/{plural}"


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Live]:
    async with live(tmp_path) as running:
        await running.define(definition())
        await running.define(definition("gadgets", "Gadget"))
        await running.ask("POST", NAMESPACES, namespace("doomed"))
        yield running


async def test_the_first_namespaces_are_there_from_the_start(running: Live) -> None:
    listed = await running.ask("GET", NAMESPACES)
    found = {n["metadata"]["name"]: n["status"]["phase"] for n in listed["items"]}
    initial = ("default", "kube-node-lease", "kube-public", "kube-system")
    assert found == dict.fromkeys((*initial, "doomed"), "Active")


async def test_the_server_owns_what_it_says_of_the_first_namespaces(running: Live) -> None:
    [entry] = (await running.ask("GET", "/api/v1/namespaces/default"))["metadata"]["managedFields"]
    assert (entry["manager"], entry["operation"]) == ("kube-apiserver", "Update")
    assert entry["fieldsV1"] == {"f:metadata": {"f:labels": {".": {}, "f:kubernetes.io/metadata.name": {}}}}


async def test_a_deleted_namespace_takes_everything_in_it_along(running: Live) -> None:
    for number in range(150):
        await running.ask("POST", collection("doomed"), widget(f"w{number}"))
    await running.ask("POST", collection("doomed", "gadgets"), widget("g", kind="Gadget"))
    await running.ask("POST", collection("default"), widget("bystander"))
    answer = await running.ask("DELETE", f"{NAMESPACES}/doomed")
    assert answer["status"]["phase"] == "Terminating"
    await running.gone(NAMESPACES, "doomed")
    for plural in ("widgets", "gadgets"):
        assert (await running.ask("GET", collection("doomed", plural)))["items"] == []
    assert len((await running.ask("GET", collection("default")))["items"]) == 1
    refused = await running.ask("POST", collection("doomed"), widget("late"), expect=404)
    assert refused["message"] == 'namespaces "doomed" not found'
    await running.ask("POST", NAMESPACES, namespace("doomed"))
    await running.ask("POST", collection("doomed"), widget("again"))


async def test_a_namespace_waits_for_finalizers_and_refuses_what_is_new(running: Live) -> None:
    path = f"{collection('doomed')}/kept"
    await running.ask("POST", collection("doomed"), widget("kept", meta={"finalizers": ["example.com/x"]}))
    await running.ask("POST", collection("doomed"), widget("loose"))
    await running.ask("DELETE", f"{NAMESPACES}/doomed")
    await running.gone(collection("doomed"), "loose")
    kept = await running.ask("GET", path)
    assert kept["metadata"]["deletionTimestamp"]
    refused = await running.ask("POST", collection("doomed"), widget("new"), expect=403)
    assert refused["message"] == (
        f'widgets.{GROUP} "new" is forbidden: unable to create new content in namespace doomed '
        "because it is being terminated"
    )
    assert refused["details"]["causes"] == [
        {
            "reason": "NamespaceTerminating",
            "message": "namespace doomed is being terminated",
            "field": "metadata.namespace",
        }
    ]
    await running.ask("PATCH", path, {"spec": {"size": 2}}, kind=MERGE)
    await running.ask("PATCH", path, {"metadata": {"finalizers": None}}, kind=MERGE)
    await running.gone(NAMESPACES, "doomed")


async def test_a_namespace_with_finalizers_of_its_own_is_emptied_and_stays(running: Live) -> None:
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


async def test_an_emptying_goes_on_after_a_restart(tmp_path: Path) -> None:
    async with live(tmp_path) as before:
        await before.define(definition())
        await before.ask("POST", NAMESPACES, namespace("doomed"))
        await before.ask("POST", collection("doomed"), widget("kept", meta={"finalizers": ["example.com/x"]}))
        await before.ask("DELETE", f"{NAMESPACES}/doomed")
    async with live(tmp_path) as after:
        path = f"{collection('doomed')}/kept"
        await after.ask("PATCH", path, {"metadata": {"finalizers": None}}, kind=MERGE)
        await after.gone(NAMESPACES, "doomed")


async def test_a_deletion_that_the_watch_missed_is_seen_to(running: Live) -> None:
    """Another replica may have begun it while this one had lost sight of the store."""
    server = running.server
    watching = server.cache._watch
    assert watching is not None
    watching.close()
    await running.ask("POST", NAMESPACES, namespace("other"))
    asked = asyncio.create_task(running.ask("DELETE", f"{NAMESPACES}/doomed"))
    await asyncio.sleep(0.01)
    server.cache.on_lost(CompactedError(1, 2))
    await asked
    await running.gone(NAMESPACES, "doomed")


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public"])
async def test_some_namespaces_may_not_be_deleted(running: Live, name: str) -> None:
    refused = await running.ask("DELETE", f"{NAMESPACES}/{name}", expect=403)
    assert refused["message"] == f'namespaces "{name}" is forbidden: this namespace may not be deleted'


async def test_what_cannot_be_deleted_keeps_the_namespace_but_not_the_rest(
    running: Live, caplog: pytest.LogCaptureFixture
) -> None:
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
    warned = [r for r in caplog.records if "cannot delete the content of doomed" in r.message]
    assert len(warned) == 1
