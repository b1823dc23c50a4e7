"""The garbage collector on a running server: background, foreground and orphan deletion."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from polykind.contract import JsonObject, ScanPage
from polykind.controllers.garbage_collector import GarbageCollector
from tests.support.kubectl import Kubectl
from tests.support.live import Live, live
from tests.support.server import ServerProcess

GROUP = "garden.example.com"
PLANTS = f"/apis/{GROUP}/v1/namespaces/default/plants"
BEDS = f"/apis/{GROUP}/v1/beds"


def definition(plural: str, kind: str, scope: str, group: str = GROUP) -> JsonObject:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": scope,
            "names": {"plural": plural, "kind": kind},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        },
    }


@pytest.fixture(autouse=True)
def absent_owners(monkeypatch: pytest.MonkeyPatch) -> None:
    """Treat owners that the collector has never observed as deleted at once, from the start of a server."""
    monkeypatch.setattr(GarbageCollector, "absent_owner_delay", 0.0)


@pytest.fixture
async def garden(tmp_path: Path) -> AsyncIterator[Live]:
    async with live(tmp_path) as running:
        await running.define(definition("plants", "Plant", "Namespaced"))
        await running.define(definition("beds", "Bed", "Cluster"))
        yield running


def plant(name: str, *owners: JsonObject, **more: Any) -> JsonObject:
    references = [
        {k: o[k] for k in ("apiVersion", "kind", "name", "uid", "blockOwnerDeletion") if k in o} for o in owners
    ]
    meta = {"name": name, "ownerReferences": references, **more}
    return {"apiVersion": f"{GROUP}/v1", "kind": "Plant", "metadata": meta}


def bed(name: str, *owners: JsonObject) -> JsonObject:
    return {**plant(name, *owners), "kind": "Bed"}


def owner(obj: JsonObject, *, blocks: bool = False, **more: Any) -> JsonObject:
    meta = obj["metadata"]
    reference = {"apiVersion": obj["apiVersion"], "kind": obj["kind"], "name": meta["name"], "uid": meta["uid"]}
    return {**reference, **({"blockOwnerDeletion": True} if blocks else {}), **more}


def policy(name: str) -> JsonObject:
    return {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": name}


async def names(garden: Live, collection: str = PLANTS) -> list[str]:
    return [item["metadata"]["name"] for item in (await garden.ask("GET", collection))["items"]]


async def until_processed(garden: Live) -> None:
    """Wait until the collector has processed all earlier writes: it deletes a new object with an absent owner."""
    marker = {"apiVersion": f"{GROUP}/v1", "kind": "Plant", "name": "none", "uid": "none"}
    await garden.ask("POST", PLANTS, plant("marker", marker))
    await garden.gone(PLANTS, "marker")


async def test_background_deletion_deletes_dependents(garden: Live) -> None:
    tree = await garden.ask("POST", PLANTS, plant("tree"))
    branch = await garden.ask("POST", PLANTS, plant("branch", owner(tree)))
    await garden.ask("POST", PLANTS, plant("leaf", owner(branch)))
    await garden.ask("POST", PLANTS, plant("stone"))
    await garden.ask("DELETE", f"{PLANTS}/tree", policy("Background"))
    await garden.gone(PLANTS, "tree", "branch", "leaf")
    assert await names(garden) == ["stone"]


async def test_dependent_stays_while_one_owner_exists(garden: Live) -> None:
    one, two = [await garden.ask("POST", PLANTS, plant(name)) for name in ("one", "two")]
    await garden.ask("POST", PLANTS, plant("graft", owner(one), owner(two)))
    await garden.ask("DELETE", f"{PLANTS}/one")

    def has_one_owner_left(_: str, obj: JsonObject) -> bool:
        owners = [o["name"] for o in obj["metadata"].get("ownerReferences", [])]
        return bool(obj["metadata"]["name"] == "graft" and owners == ["two"])

    await garden.until(PLANTS, has_one_owner_left)
    await garden.ask("DELETE", f"{PLANTS}/two")
    await garden.gone(PLANTS, "graft")


async def test_cluster_scoped_owner_has_dependents_in_all_namespaces(garden: Live) -> None:
    flowers = await garden.ask("POST", BEDS, bed("flowers"))
    await garden.ask("POST", PLANTS, plant("rose", owner(flowers)))
    await garden.ask("POST", PLANTS.replace("default", "kube-public"), plant("tulip", owner(flowers)))
    await garden.ask("DELETE", f"{BEDS}/flowers")
    await garden.gone(PLANTS, "rose")
    await garden.gone(PLANTS.replace("default", "kube-public"), "tulip")


async def test_namespaces_and_crds_can_be_owners(garden: Live) -> None:
    namespace = await garden.ask(
        "POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "plot"}}
    )
    crd = await garden.define(definition("tools", "Tool", "Cluster"))
    await garden.ask("POST", BEDS, bed("of-space", owner(namespace)))
    await garden.ask("POST", BEDS, bed("of-tools", owner(crd)))
    await garden.ask("DELETE", "/api/v1/namespaces/plot")
    await garden.ask("DELETE", f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/tools.{GROUP}")
    await garden.gone(BEDS, "of-space", "of-tools")


async def test_owner_in_another_namespace_counts_as_absent(garden: Live) -> None:
    elsewhere = await garden.ask("POST", PLANTS.replace("default", "kube-public"), plant("tree"))
    await garden.ask("POST", PLANTS, plant("lost", owner(elsewhere)))
    await garden.gone(PLANTS, "lost")


async def test_owner_with_another_uid_counts_as_absent(garden: Live) -> None:
    tree = await garden.ask("POST", PLANTS, plant("tree"))
    await garden.ask("POST", PLANTS, plant("cuckoo", owner(tree, uid="another")))
    await garden.gone(PLANTS, "cuckoo")
    assert await names(garden) == ["tree"]


async def test_dependent_of_a_never_observed_owner_is_kept_for_a_while(garden: Live) -> None:
    tree = await garden.ask("POST", PLANTS, plant("tree"))
    await garden.ask("POST", PLANTS, plant("leaf", owner(tree)))
    garden.server.controllers.garbage_collector.absent_owner_delay = 3600.0
    await garden.ask("POST", PLANTS, plant("cuckoo", owner(tree, uid="another")))
    await garden.ask("DELETE", f"{PLANTS}/tree")
    await garden.gone(PLANTS, "leaf")
    assert await names(garden) == ["cuckoo"]


async def test_owner_of_an_unserved_kind_keeps_its_dependents(garden: Live) -> None:
    saucer = {"apiVersion": "v1", "kind": "Saucer", "name": "s", "uid": "s"}
    await garden.ask("POST", PLANTS, plant("of-saucer", saucer))
    tree = await garden.ask("POST", PLANTS, plant("tree"))
    await garden.ask("POST", BEDS, bed("of-tree", owner(tree)))
    await until_processed(garden)
    assert await names(garden) == ["of-saucer", "tree"]
    assert await names(garden, BEDS) == ["of-tree"]


async def test_dependents_are_processed_when_their_owners_kind_is_served(garden: Live) -> None:
    tool = {"apiVersion": f"{GROUP}/v1", "kind": "Tool", "name": "spade", "uid": "gone"}
    await garden.ask("POST", PLANTS, plant("of-spade", tool))
    await until_processed(garden)
    assert await names(garden) == ["of-spade"]
    await garden.define(definition("tools", "Tool", "Cluster"))
    await garden.gone(PLANTS, "of-spade")


async def test_foreground_deletion_deletes_the_owner_last(garden: Live) -> None:
    tree = await garden.ask("POST", PLANTS, plant("tree"))
    branch = await garden.ask("POST", PLANTS, plant("branch", owner(tree, blocks=True)))
    await garden.ask("POST", PLANTS, plant("leaf", owner(branch, blocks=True), finalizers=["example.com/hold"]))
    since = (await garden.ask("GET", PLANTS))["metadata"]["resourceVersion"]
    terminating = await garden.ask("DELETE", f"{PLANTS}/tree", policy("Foreground"))
    assert terminating["metadata"]["finalizers"] == ["foregroundDeletion"]
    order: list[str] = []
    async with asyncio.timeout(20):
        async for event in garden.watch(f"{PLANTS}?watch=1&resourceVersion={since}"):
            meta = event["object"]["metadata"]
            if event["type"] == "DELETED":
                order.append(meta["name"])
                if len(order) == 3:
                    break
            elif meta["name"] == "leaf" and meta.get("deletionTimestamp"):
                assert await names(garden) == ["branch", "leaf", "tree"]
                patch = [{"op": "remove", "path": "/metadata/finalizers"}]
                await garden.ask("PATCH", f"{PLANTS}/leaf", patch, kind="application/json-patch+json")
    assert order == ["leaf", "branch", "tree"]


async def test_foreground_deletion_does_not_wait_for_nonblocking_dependents(garden: Live) -> None:
    tree = await garden.ask("POST", PLANTS, plant("tree"))
    await garden.ask("POST", PLANTS, plant("moss", owner(tree), finalizers=["example.com/hold"]))
    await garden.ask("DELETE", f"{PLANTS}/tree", policy("Foreground"))
    await garden.gone(PLANTS, "tree")
    await garden.until(PLANTS, lambda _, o: bool(o["metadata"].get("deletionTimestamp")))


async def test_foreground_deletion_ends_when_the_dependent_drops_its_owner(garden: Live) -> None:
    tree = await garden.ask("POST", PLANTS, plant("tree"))
    await garden.ask("POST", PLANTS, plant("nest", owner(tree, blocks=True), finalizers=["example.com/hold"]))
    await garden.ask("DELETE", f"{PLANTS}/tree", policy("Foreground"))
    patch = {"metadata": {"ownerReferences": None}}
    await garden.ask("PATCH", f"{PLANTS}/nest", patch, kind="application/merge-patch+json")
    await garden.gone(PLANTS, "tree")


async def test_foreground_deletion_resolves_an_owner_cycle(garden: Live) -> None:
    one = await garden.ask("POST", PLANTS, plant("one"))
    two = await garden.ask("POST", PLANTS, plant("two", owner(one, blocks=True)))
    patch = {"metadata": {"ownerReferences": [owner(two, blocks=True)]}}
    await garden.ask("PATCH", f"{PLANTS}/one", patch, kind="application/merge-patch+json")
    await garden.ask("DELETE", f"{PLANTS}/one", policy("Foreground"))
    await garden.gone(PLANTS, "one", "two")


async def test_object_that_owns_itself_can_be_deleted(garden: Live) -> None:
    narcissus = await garden.ask("POST", PLANTS, plant("narcissus"))
    patch = {"metadata": {"ownerReferences": [owner(narcissus, blocks=True)]}}
    await garden.ask("PATCH", f"{PLANTS}/narcissus", patch, kind="application/merge-patch+json")
    await garden.ask("DELETE", f"{PLANTS}/narcissus", policy("Foreground"))
    await garden.gone(PLANTS, "narcissus")


async def test_orphan_deletion_removes_owner_references(garden: Live) -> None:
    tree = await garden.ask("POST", PLANTS, plant("tree"))
    other = await garden.ask("POST", PLANTS, plant("other"))
    await garden.ask("POST", PLANTS, plant("apple", owner(tree)))
    await garden.ask("POST", PLANTS, plant("graft", owner(tree), owner(other)))
    terminating = await garden.ask("DELETE", f"{PLANTS}/tree", policy("Orphan"))
    assert terminating["metadata"]["finalizers"] == ["orphan"]
    await garden.gone(PLANTS, "tree")
    assert await names(garden) == ["apple", "graft", "other"]
    assert "ownerReferences" not in (await garden.ask("GET", f"{PLANTS}/apple"))["metadata"]
    remaining = (await garden.ask("GET", f"{PLANTS}/graft"))["metadata"]["ownerReferences"]
    assert [o["name"] for o in remaining] == ["other"]
    await until_processed(garden)
    assert await names(garden) == ["apple", "graft", "other"]


async def test_namespace_deleted_in_the_foreground_loses_its_content_first(garden: Live) -> None:
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "plot"}}
    await garden.ask("POST", "/api/v1/namespaces", namespace)
    plants = PLANTS.replace("default", "plot")
    await garden.ask("POST", plants, plant("weed", finalizers=["example.com/hold"]))
    await garden.ask("DELETE", "/api/v1/namespaces/plot", policy("Foreground"))
    await garden.until(
        "/api/v1/namespaces", lambda _, o: o["metadata"]["name"] == "plot" and "finalizers" not in o["metadata"]
    )
    assert await names(garden, plants) == ["weed"]
    patch = [{"op": "remove", "path": "/metadata/finalizers"}]
    await garden.until(plants, lambda _, o: bool(o["metadata"].get("deletionTimestamp")))
    await garden.ask("PATCH", f"{plants}/weed", patch, kind="application/json-patch+json")
    await garden.gone("/api/v1/namespaces", "plot")


async def test_garbage_from_before_the_start_is_collected(tmp_path: Path) -> None:
    async with live(tmp_path, garbage_collector=False) as running:
        await running.define(definition("plants", "Plant", "Namespaced"))
        tree = await running.ask("POST", PLANTS, plant("tree"))
        await running.ask("POST", PLANTS, plant("leaf", owner(tree)))
        await running.ask("DELETE", f"{PLANTS}/tree")
        held = await running.ask("POST", PLANTS, plant("held"))
        await running.ask("POST", PLANTS, plant("fruit", owner(held, blocks=True)))
        await running.ask("DELETE", f"{PLANTS}/held", policy("Foreground"))
        await running.ask("POST", PLANTS, plant("let-go"))
        await running.ask("DELETE", f"{PLANTS}/let-go", policy("Orphan"))
        assert await names(running) == ["fruit", "held", "leaf", "let-go"]
    async with live(tmp_path) as restarted:
        await restarted.gone(PLANTS, "leaf", "held", "fruit", "let-go")
        assert await names(restarted) == []


async def test_resources_without_owners_are_not_loaded_into_the_cache(tmp_path: Path) -> None:
    async with live(tmp_path) as running:
        await running.define(definition("plants", "Plant", "Namespaced"))
        await running.define(definition("beds", "Bed", "Cluster"))
        flowers = await running.ask("POST", BEDS, bed("flowers"))
        await running.define(definition("tools", "Tool", "Cluster"))
        spade = {"apiVersion": f"{GROUP}/v1", "kind": "Tool", "metadata": {"name": "spade"}}
        await running.ask("POST", f"/apis/{GROUP}/v1/tools", spade)
        await running.ask("POST", PLANTS, plant("rose", owner(flowers)))
    async with live(tmp_path) as restarted:
        await restarted.ask("DELETE", f"{BEDS}/flowers")
        await restarted.gone(PLANTS, "rose")
        tools = restarted.server.registry.resource(GROUP, "tools")
        assert tools is not None
        assert not tools.cache.loaded
        remaining = await restarted.ask("GET", f"/apis/{GROUP}/v1/tools/spade")
        await restarted.ask("POST", PLANTS, plant("handle", owner(remaining)))
        await restarted.ask("DELETE", f"/apis/{GROUP}/v1/tools/spade")
        await restarted.gone(PLANTS, "handle")


async def test_new_resources_of_a_group_are_searched_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with live(tmp_path) as running:
        store, scanned = running.server.store, []
        synced = running.server.controllers.garbage_collector.builder.synced
        await synced.wait()
        absent = {"apiVersion": f"{GROUP}/v1", "kind": "Plant", "name": "none", "uid": "none"}
        leaf = plant("leaf", absent, uid="1")
        await store.put(f"/registry/{GROUP}/plants/default/leaf", json.dumps(leaf).encode(), expect=0)
        scan = store.scan

        async def record(prefix: str, *, after: str = "") -> ScanPage:
            scanned.append(prefix)
            return await scan(prefix, after=after)

        monkeypatch.setattr(store, "scan", record)
        for plural in ("beds", "tools", "pots"):
            await running.define(definition(plural, plural.capitalize(), "Cluster"))
            await synced.wait()
        assert scanned == [f"/registry/{GROUP}/"]
        await running.define(definition("plants", "Plant", "Namespaced"))
        await running.gone(PLANTS, "leaf")


async def test_hundreds_of_dependents_are_deleted(garden: Live) -> None:
    tree = await garden.ask("POST", PLANTS, plant("tree"))
    clients = [garden.another() for _ in range(16)]

    async def grow(client: Any, start: int) -> None:
        for index in range(start, 500, 16):
            reply = await client.call("POST", PLANTS, plant(f"leaf-{index}", owner(tree, blocks=index % 2 == 0)))
            assert reply.status == 201
        client.close()

    await asyncio.gather(*(grow(client, start) for start, client in enumerate(clients)))
    await garden.ask("DELETE", f"{PLANTS}/tree", policy("Foreground"))
    await garden.gone(PLANTS, "tree")
    await garden.gone(PLANTS, *(f"leaf-{index}" for index in range(500)))


@pytest.mark.parametrize("cascade", ["foreground", "background", "orphan"])
def test_kubectl_delete_cascade(server: ServerProcess, tmp_path: Path, group: str, cascade: str) -> None:
    kubectl = Kubectl(server.kubeconfig, tmp_path)
    kubectl("apply", "-f", "-", stdin=json.dumps(definition("plants", "Plant", "Namespaced", group)))
    kubectl("wait", "--for=condition=Established", f"crd/plants.{group}", "--timeout=20s")
    plants = f"plants.{group}"

    tree = applied(kubectl, group, plant("tree"))
    applied(kubectl, group, plant("leaf", owner(tree, blocks=True)))
    kubectl("delete", plants, "tree", f"--cascade={cascade}", "--timeout=20s")
    if cascade == "orphan":
        assert "ownerReferences" not in kubectl.json("get", plants, "leaf")["metadata"]
    else:
        kubectl("wait", "--for=delete", f"{plants}/leaf", "--timeout=20s")


def applied(kubectl: Kubectl, group: str, obj: JsonObject) -> Any:
    text = json.dumps({**obj, "apiVersion": f"{group}/v1"})
    return json.loads(kubectl("apply", "-f", "-", "-o", "json", stdin=text).out)
