"""Namespaces that are deleted and created again while the namespace controller works on them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from polykind.contract import JsonObject
from polykind.controllers import object_client
from polykind.controllers.namespace_content import NamespaceContent
from polykind.resources.resource import Resource
from tests.support.gate import held
from tests.support.live import Live, live
from tests.support.widgets import GROUP, MERGE, definition, namespace, widget

NAMESPACES = "/api/v1/namespaces"
PATH = f"{NAMESPACES}/doomed"
WIDGETS = f"/apis/{GROUP}/v1/namespaces/doomed/widgets"
CONFIG_MAPS = f"{PATH}/configmaps"
PODS = f"{PATH}/pods"
HOLD = {"finalizers": ["example.com/hold"]}


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Live]:
    async with live(tmp_path) as running:
        await running.define(definition())
        await running.ask("POST", NAMESPACES, namespace("doomed"))
        yield running


async def reconcile(running: Live) -> None:
    """Let the controller process the namespace now."""
    await running.server.controllers.namespaces.attempt("doomed")


async def replace(running: Live) -> JsonObject:
    """Finalize the namespace although it has content, as an administrator may, and create it again."""
    body = {"metadata": {"name": "doomed"}, "spec": {"finalizers": []}}
    await running.ask("PUT", f"{PATH}/finalize", body)
    created: JsonObject = await running.ask("POST", NAMESPACES, namespace("doomed"))
    return created


async def release(running: Live, path: str) -> None:
    await running.ask("PATCH", path, {"metadata": {"finalizers": None}}, kind=MERGE)


async def is_terminating(running: Live, path: str) -> bool:
    return bool((await running.ask("GET", path))["metadata"].get("deletionTimestamp"))


async def until_terminating(running: Live, path: str) -> None:
    collection, _, name = path.rpartition("/")
    await running.until(
        collection, lambda _, obj: obj["metadata"]["name"] == name and "deletionTimestamp" in obj["metadata"]
    )


async def assert_intact(running: Live, created: JsonObject, *objects: str) -> None:
    """The new namespace and its objects exist, and the controller has no work with them."""
    await reconcile(running)
    after = await running.ask("GET", PATH)
    assert after["metadata"]["uid"] == created["metadata"]["uid"]
    assert (after["status"], after["spec"]) == ({"phase": "Active"}, {"finalizers": ["kubernetes"]})
    for path in objects:
        assert not await is_terminating(running, path)


async def test_new_namespace_keeps_its_objects_while_an_old_one_is_stuck(running: Live) -> None:
    await running.ask("POST", WIDGETS, widget("stuck", meta=HOLD))
    await running.ask("DELETE", PATH)
    await until_terminating(running, f"{WIDGETS}/stuck")
    created = await replace(running)
    await running.ask("POST", WIDGETS, widget("new"))
    await running.ask("POST", CONFIG_MAPS, {"metadata": {"name": "new"}})
    await assert_intact(running, created, f"{WIDGETS}/new", f"{CONFIG_MAPS}/new")
    await release(running, f"{WIDGETS}/stuck")
    await running.gone(WIDGETS, "stuck")
    await assert_intact(running, created, f"{WIDGETS}/new", f"{CONFIG_MAPS}/new")


async def test_object_with_the_name_of_a_deleted_one_survives(running: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    await running.ask("POST", WIDGETS, widget("w"))
    async with held(monkeypatch, object_client, "delete_object", lambda op, *_, **__: op.name == "w") as gate:
        await running.ask("DELETE", PATH)
        await gate.reached()
        await running.ask("DELETE", f"{WIDGETS}/w")
        created = await replace(running)
        await running.ask("POST", WIDGETS, widget("w"))
        await gate.open()
    await assert_intact(running, created, f"{WIDGETS}/w")


async def test_listed_objects_belong_to_the_deleted_namespace(running: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    """The controller is held after it has read the namespace and before it lists a resource."""
    await running.ask("POST", WIDGETS, widget("w"))

    def lists_widgets(_: NamespaceContent, resource: Resource, *__: object) -> bool:
        return resource.plural == "widgets"

    async with held(monkeypatch, NamespaceContent, "_list", lists_widgets) as gate:
        await running.ask("DELETE", PATH)
        await gate.reached()
        created = await replace(running)
        await running.ask("POST", WIDGETS, widget("new"))
        await gate.open()
    await assert_intact(running, created, f"{WIDGETS}/new", f"{WIDGETS}/w")


@pytest.mark.parametrize("subresource", ["status", "finalize"])
async def test_namespace_is_not_changed_in_place_of_a_deleted_one(
    running: Live, monkeypatch: pytest.MonkeyPatch, subresource: str
) -> None:
    def is_write(change: Any, *_: Any, **__: Any) -> bool:
        return bool(change.op.subresource == subresource)

    async with held(monkeypatch, object_client, "change_object", is_write) as gate:
        await running.ask("DELETE", PATH)
        await gate.reached()
        created = await replace(running)
        await gate.open()
        assert gate.failure is not None
    await assert_intact(running, created)


# ---------------------------------------------------------------------- order and conditions


def conditions(obj: JsonObject) -> dict[str, tuple[str, str, str]]:
    return {one["type"]: (one["status"], one["reason"], one["message"]) for one in obj["status"]["conditions"]}


async def test_pods_are_deleted_before_other_objects(running: Live) -> None:
    pod = {"metadata": {"name": "p", **HOLD}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    await running.ask("POST", PODS, pod)
    await running.ask("POST", CONFIG_MAPS, {"metadata": {"name": "m"}})
    await running.ask("POST", WIDGETS, widget("w"))
    await running.ask("DELETE", PATH)
    await until_terminating(running, f"{PODS}/p")
    await reconcile(running)
    for path in (f"{CONFIG_MAPS}/m", f"{WIDGETS}/w"):
        assert not await is_terminating(running, path)
    await release(running, f"{PODS}/p")
    await running.gone(NAMESPACES, "doomed")


async def test_conditions_report_what_remains(running: Live) -> None:
    await running.ask("POST", WIDGETS, widget("w", meta=HOLD))
    for name in ("m", "n"):
        await running.ask("POST", CONFIG_MAPS, {"metadata": {"name": name, "finalizers": ["example.com/a"]}})
    await running.ask("DELETE", PATH)
    await reconcile(running)
    assert conditions(await running.ask("GET", PATH)) == {
        "NamespaceDeletionDiscoveryFailure": (
            "False",
            "ResourcesDiscovered",
            "All resources successfully discovered",
        ),
        "NamespaceDeletionGroupVersionParsingFailure": (
            "False",
            "ParsedGroupVersions",
            "All legacy kube types successfully parsed",
        ),
        "NamespaceDeletionContentFailure": (
            "False",
            "ContentDeleted",
            "All content successfully deleted, may be waiting on finalization",
        ),
        "NamespaceContentRemaining": (
            "True",
            "SomeResourcesRemain",
            f"Some resources are remaining: configmaps. has 2 resource instances, widgets.{GROUP} has 1 resource "
            "instances",
        ),
        "NamespaceFinalizersRemaining": (
            "True",
            "SomeFinalizersRemain",
            "Some content in the namespace has finalizers remaining: example.com/a in 2 resource instances, "
            "example.com/hold in 1 resource instances",
        ),
    }


async def test_conditions_report_failures(running: Live) -> None:
    await running.server.store.put(f"/registry/{GROUP}/widgets/doomed/odd", b"nonsense", expect=0)
    await running.ask("DELETE", PATH)
    await reconcile(running)
    status, reason, message = conditions(await running.ask("GET", PATH))["NamespaceDeletionContentFailure"]
    assert (status, reason) == ("True", "ContentDeletionFailed")
    assert message.startswith("Failed to delete all resource types, 1 remaining: ")


async def test_conditions_of_an_empty_namespace_that_stays(running: Live) -> None:
    await running.ask("PATCH", PATH, {"metadata": HOLD}, kind=MERGE)
    await running.ask("DELETE", PATH)
    await reconcile(running)
    kept = await running.ask("GET", PATH)
    assert {status for status, _, _ in conditions(kept).values()} == {"False"}
    assert "finalizers" not in kept["spec"]
    managers = [entry["manager"] for entry in kept["metadata"]["managedFields"]]
    assert "kube-controller-manager" in managers
    await release(running, PATH)
    await running.gone(NAMESPACES, "doomed")
