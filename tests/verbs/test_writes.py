"""Concurrent writes, writes without changes, dry runs, finalizers and apply."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import AsyncIterator, Iterator
from itertools import chain, repeat
from pathlib import Path
from typing import Any

import pytest

from polykind.codec import json_codec
from polykind.server.server import Server
from polykind.server.settings import Settings
from polykind.verbs import apply, change, patches
from polykind.verbs.commit import LostRaceError, commit
from tests.support.client import Client
from tests.support.live import Live, live
from tests.support.widgets import APPLY, JSON, MERGE, WIDGETS, definition, widget


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Live]:
    async with live(tmp_path) as running:
        await running.define(definition())
        yield running


async def revision(running: Live) -> int:
    return await running.server.store.revision()


# ---------------------------------------------------------------------- contention


async def test_concurrent_patches_are_all_applied(running: Live) -> None:
    await running.ask("POST", WIDGETS, widget("w"))

    async def writer(number: int) -> None:
        async with running.another() as client:
            for turn in range(10):
                patch = {"metadata": {"annotations": {f"k{number}-{turn}": "x"}}}
                reply = await client.call("PATCH", f"{WIDGETS}/w", patch, MERGE)
                assert reply.status == 200, reply.body
                assert reply.json()["metadata"]["annotations"][f"k{number}-{turn}"] == "x"

    await asyncio.gather(*(writer(n) for n in range(10)))
    result = await running.ask("GET", f"{WIDGETS}/w")
    assert len(result["metadata"]["annotations"]) == 100
    assert result["metadata"]["generation"] == 1


async def test_concurrent_unconditional_updates_all_succeed(running: Live) -> None:
    await running.ask("POST", "/api/v1/namespaces", {"metadata": {"name": "team"}})

    async def writer(number: int) -> None:
        async with running.another() as client:
            for turn in range(10):
                sent = {"metadata": {"name": "team", "labels": {"by": f"{number}-{turn}"}}}
                reply = await client.call("PUT", "/api/v1/namespaces/team", sent)
                assert reply.status == 200, reply.body
                assert reply.json()["metadata"]["labels"]["by"] == f"{number}-{turn}"

    await asyncio.gather(*(writer(n) for n in range(10)))


async def test_one_of_several_updates_with_the_same_revision_wins(running: Live) -> None:
    made = await running.ask("POST", WIDGETS, widget("w"))

    async def writer(number: int) -> int:
        async with running.another() as client:
            changed = {**made, "spec": {"size": number + 10}}
            reply = await client.call("PUT", f"{WIDGETS}/w", changed)
            if reply.status == 409:
                assert reply.json()["message"] == (
                    'Operation cannot be fulfilled on widgets.test.example.com "w": the object has been modified; '
                    "please apply your changes to the latest version and try again"
                )
            return reply.status

    statuses = await asyncio.gather(*(writer(n) for n in range(20)))
    assert sorted(statuses) == [200] + [409] * 19
    assert (await running.ask("GET", f"{WIDGETS}/w"))["metadata"]["generation"] == 2


async def test_one_of_several_creates_of_a_name_wins(running: Live) -> None:
    async def creator(number: int) -> int:
        async with running.another() as client:
            return (await client.call("POST", WIDGETS, widget("w", size=number))).status

    assert sorted(await asyncio.gather(*(creator(n) for n in range(20)))) == [201] + [409] * 19


async def test_concurrent_deletes_and_creates_alternate(running: Live) -> None:
    """In any interleaving, a watch sees ADDED and DELETED alternate."""
    start = (await running.ask("GET", WIDGETS))["metadata"]["resourceVersion"]

    async def worker(method: str) -> None:
        async with running.another() as client:
            for _ in range(20):
                path = WIDGETS if method == "POST" else f"{WIDGETS}/w"
                reply = await client.call(method, path, widget("w") if method == "POST" else None)
                assert reply.status in (200, 201, 404, 409)

    await asyncio.gather(*(worker(m) for m in ("POST", "POST", "DELETE", "DELETE")))
    path = f"{WIDGETS}?watch=1&resourceVersion={start}&timeoutSeconds=1"
    received = [event["type"] async for event in running.watch(path)]
    assert received
    assert received == [("ADDED", "DELETED")[i % 2] for i in range(len(received))]


# ---------------------------------------------------------------------- generated names


class Loaded:
    """An id source with predetermined suffixes."""

    def __init__(self, suffixes: Iterator[str]) -> None:
        self.suffixes, self.uids = suffixes, iter(range(10_000))

    def uid(self) -> str:
        return f"00000000-0000-4000-8000-{next(self.uids):012}"

    def suffix(self) -> str:
        return next(self.suffixes)


async def test_taken_generated_names_are_retried(tmp_path: Path) -> None:
    chance = Loaded(chain(["aaaaa"], ["aaaaa", "aaaaa", "bbbbb"], repeat("aaaaa")))
    async with Server(Settings(data_dir=tmp_path, secure_port=0), ids=chance) as server:
        running = Live(server)
        await running.define(definition())
        generated = widget(meta={"generateName": "w-"})
        assert (await running.ask("POST", WIDGETS, generated))["metadata"]["name"] == "w-aaaaa"
        assert (await running.ask("POST", WIDGETS, generated))["metadata"]["name"] == "w-bbbbb"
        rejected = await running.ask("POST", WIDGETS, generated, expect=409)
        assert rejected["reason"] == "AlreadyExists"
        assert rejected["message"] == (
            'widgets.test.example.com "w-aaaaa" already exists, the server was not able to generate a unique name '
            "for the object"
        )
        assert rejected["details"]["retryAfterSeconds"] == 1
        running.client.close()


async def test_long_generate_names_are_truncated(running: Live) -> None:
    made = await running.ask("POST", WIDGETS, widget(meta={"generateName": "x" * 100}))
    assert len(made["metadata"]["name"]) == 63
    assert made["metadata"]["generateName"] == "x" * 100


# ---------------------------------------------------------------------- writes that change nothing


@pytest.mark.parametrize("how", ["put", "merge", "json", "apply", "status"])
async def test_write_without_changes_is_not_stored(running: Live, how: str) -> None:
    path = f"{WIDGETS}/w"
    body = {**widget("w", size=3)}
    if how == "apply":
        made = await running.ask("PATCH", f"{path}?fieldManager=me", body, kind=APPLY)
    else:
        made = await running.ask("POST", WIDGETS, body)
    before = await revision(running)
    if how == "put":
        again = await running.ask("PUT", path, made)
    elif how == "merge":
        again = await running.ask("PATCH", path, {"spec": {"size": 3}}, kind=MERGE)
    elif how == "json":
        again = await running.ask("PATCH", path, [{"op": "replace", "path": "/spec/size", "value": 3}], kind=JSON)
    elif how == "apply":
        again = await running.ask("PATCH", f"{path}?fieldManager=me", body, kind=APPLY)
    else:
        again = await running.ask("PUT", f"{path}/status", made)
    assert again == made
    assert await revision(running) == before


async def test_apply_of_reset_fields_keeps_the_manager_time(running: Live) -> None:
    await running.ask("POST", f"{WIDGETS}?fieldManager=one", widget("w", size=3))
    path = f"{WIDGETS}/w?fieldManager=two"
    await running.ask("PATCH", path, widget("w", size=3), kind=APPLY)
    again = await running.ask("PATCH", path, {**widget("w", size=3), "status": {"ready": True}}, kind=APPLY)
    assert [(e["manager"], "time" in e) for e in again["metadata"]["managedFields"]] == [("two", False), ("one", True)]


# ---------------------------------------------------------------------- dry runs


async def test_object_that_is_too_large_with_its_managers_is_stored_without_them(running: Live) -> None:
    maps = "/api/v1/namespaces/default/configmaps"
    data = {f"k{number:05d}": "x" * 28 for number in range(30_000)}
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}, "data": data}
    await running.ask("PATCH", f"{maps}/m?fieldManager=m", body, kind=APPLY, expect=500)
    assert "managedFields" not in (await running.ask("POST", maps, body))["metadata"]
    half = {**body, "data": dict(list(data.items())[:15_000])}
    for method, kind in (("PUT", "application/json"), ("PATCH", MERGE)):
        await running.ask("DELETE", f"{maps}/m")
        assert (await running.ask("POST", maps, half))["metadata"]["managedFields"]
        changed = await running.ask(method, f"{maps}/m", body, kind=kind)
        assert ("managedFields" in changed["metadata"], len(changed["data"])) == (False, 30_000)


async def test_dry_runs_respond_as_real_writes_and_change_nothing(running: Live) -> None:
    made = await running.ask("POST", WIDGETS, widget("w", size=3))
    kept = await running.ask("POST", WIDGETS, widget("f", meta={"finalizers": ["example.com/x"]}))
    before = await revision(running)
    dry = "dryRun=All"
    created = await running.ask("POST", f"{WIDGETS}?{dry}", widget("new", size=4), expect=201)
    assert created["spec"] == {"size": 4}
    assert created["metadata"]["uid"]
    assert "resourceVersion" not in created["metadata"]
    generated = await running.ask("POST", f"{WIDGETS}?{dry}", widget(meta={"generateName": "g-"}), expect=201)
    assert generated["metadata"]["name"].startswith("g-")
    await running.ask("POST", f"{WIDGETS}?{dry}", widget("w"), expect=409)
    updated = await running.ask("PUT", f"{WIDGETS}/w?{dry}", {**made, "spec": {"size": 5}})
    assert (updated["spec"], updated["metadata"]["generation"]) == ({"size": 5}, 2)
    assert updated["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]
    patched = await running.ask("PATCH", f"{WIDGETS}/w?{dry}", {"spec": {"size": 6}}, kind=MERGE)
    assert patched["spec"] == {"size": 6}
    applied = await running.ask(
        "PATCH", f"{WIDGETS}/a?{dry}&fieldManager=me", widget("a", size=7), kind=APPLY, expect=201
    )
    assert applied["spec"] == {"size": 7}
    await running.ask("PUT", f"{WIDGETS}/w?{dry}", {**made, "spec": {"size": "no"}}, expect=422)
    await running.ask("DELETE", f"{WIDGETS}/w?{dry}")
    marked = await running.ask("DELETE", f"{WIDGETS}/f?{dry}")
    assert marked["metadata"]["deletionTimestamp"]
    finished = await running.ask("PATCH", f"{WIDGETS}/f?{dry}", {"metadata": {"finalizers": None}}, kind=MERGE)
    assert finished["metadata"]["name"] == "f"
    await running.ask("DELETE", f"{WIDGETS}?{dry}")
    assert await revision(running) == before
    assert [await running.ask("GET", f"{WIDGETS}/{n}") for n in ("w", "f")] == [made, kept]
    assert len((await running.ask("GET", WIDGETS))["items"]) == 2


# ---------------------------------------------------------------------- finalizers


@pytest.mark.parametrize("how", ["POST", "PATCH"])
async def test_dry_run_create_returns_the_stated_resource_version(running: Live, how: str) -> None:
    body = {**widget("w"), "metadata": {"name": "w", "resourceVersion": "5"}}
    path = WIDGETS if how == "POST" else f"{WIDGETS}/w"
    sent = APPLY if how == "PATCH" else "application/json"
    reply = await running.client.call(how, f"{path}?dryRun=All&fieldManager=m", body, sent)
    assert reply.status == 201, reply.body
    assert reply.json()["metadata"]["resourceVersion"] == "5"


async def test_propagation_policy_keeps_the_order_of_existing_finalizers(running: Live) -> None:
    held = ["foregroundDeletion", "example.com/held"]
    await running.ask("POST", WIDGETS, {**widget("w"), "metadata": {"name": "w", "finalizers": held}})
    reply = await running.client.call("DELETE", f"{WIDGETS}/w?propagationPolicy=Foreground")
    assert reply.json()["metadata"]["finalizers"] == held


async def test_update_cannot_change_the_deletion_timestamp(running: Live) -> None:
    await running.ask("POST", WIDGETS, widget("w", meta={"finalizers": ["example.com/a"]}))
    since = (await running.ask("DELETE", f"{WIDGETS}/w"))["metadata"]["deletionTimestamp"]
    for stated in (None, "2001-01-01T00:00:00Z"):
        body = {"metadata": {"deletionTimestamp": stated}}
        changed = await running.ask("PATCH", f"{WIDGETS}/w", body, kind=MERGE)
        assert changed["metadata"]["deletionTimestamp"] == since


async def test_object_is_deleted_with_its_last_finalizer(running: Live) -> None:
    path = f"{WIDGETS}/w"
    await running.ask("POST", WIDGETS, widget("w", meta={"finalizers": ["example.com/a", "example.com/b"]}))
    deleted = await running.ask("DELETE", path)
    assert deleted["metadata"]["deletionTimestamp"]
    again = await running.ask("DELETE", path)
    assert again["metadata"]["resourceVersion"] == deleted["metadata"]["resourceVersion"]
    more = {"metadata": {"finalizers": ["example.com/a", "example.com/b", "example.com/c"]}}
    rejected = await running.ask("PATCH", path, more, kind=MERGE, expect=422)
    assert "no new finalizers can be added if the object is being deleted" in rejected["message"]
    still = await running.ask("PATCH", path, {"metadata": {"finalizers": ["example.com/b"]}}, kind=MERGE)
    assert still["metadata"]["deletionTimestamp"] == deleted["metadata"]["deletionTimestamp"]
    clash = await running.ask("POST", WIDGETS, widget("w"), expect=409)
    assert clash["message"] == 'object is being deleted: widgets.test.example.com "w" already exists'
    last = await running.ask("PATCH", path, {"metadata": {"finalizers": []}}, kind=MERGE)
    assert last["metadata"]["uid"] == deleted["metadata"]["uid"]
    await running.ask("GET", path, expect=404)


async def test_concurrent_finalizer_removals_delete_once(running: Live) -> None:
    names = [f"example.com/{i}" for i in range(8)]
    await running.ask("POST", WIDGETS, widget("w", meta={"finalizers": names}))
    start = (await running.ask("DELETE", f"{WIDGETS}/w"))["metadata"]["resourceVersion"]

    async def remove(name: str, client: Client) -> None:
        while True:
            reply = await client.call("GET", f"{WIDGETS}/w")
            obj: dict[str, Any] = reply.json()
            obj["metadata"]["finalizers"] = [f for f in obj["metadata"]["finalizers"] if f != name]
            if (await client.call("PUT", f"{WIDGETS}/w", obj)).status == 200:
                client.close()
                return

    await asyncio.gather(*(remove(name, running.another()) for name in names))
    await running.ask("GET", f"{WIDGETS}/w", expect=404)
    path = f"{WIDGETS}?watch=1&resourceVersion={start}&timeoutSeconds=1"
    received = [event["type"] async for event in running.watch(path)]
    assert received == ["MODIFIED"] * 7 + ["DELETED"]


# ---------------------------------------------------------------------- numbers


@pytest.mark.parametrize("default", [None, 2, 1e-7], ids=["no default", "a whole default", "a small default"])
@pytest.mark.parametrize("given", [b"", b"3", b"3.0", b"1e21", b"0.5"], ids=["none", "whole", "zero", "large", "half"])
async def test_numbers_are_encoded_as_kube_apiserver_encodes_them(
    tmp_path: Path, default: float | None, given: bytes
) -> None:
    made = definition()
    for version in made["spec"]["versions"]:
        spec = version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
        spec["n"] = {"type": "number", **({} if default is None else {"default": default})}
        spec["m"] = {"type": "number"}
    async with live(tmp_path) as running:
        await running.define(made)
        raw = json_codec.encode(widget("w")).replace(
            b'"spec":{}', b'"spec":{"m":%b}' % given if given else b'"spec":{}'
        )
        async with running.another() as client:
            answers = [
                (await client.call(method, path, sent)).body
                for method, path, sent in (("POST", WIDGETS, raw), ("GET", f"{WIDGETS}/w", None))
            ]
        spelled = {b"": b"", b"3": b'"m":3', b"3.0": b'"m":3', b"1e21": b'"m":1e+21', b"0.5": b'"m":0.5'}[given]
        filled = {None: b"", 2: b'"n":2', 1e-7: b'"n":1e-7'}[default]
        wanted = b'"spec":{%b}' % b",".join(part for part in (spelled, filled, b'"size":1') if part)
        assert all(wanted in answer for answer in answers), (wanted, answers)


async def test_apply_reports_conversion_errors_of_builtin_types_before_the_name(server: Live) -> None:
    sent = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "b", "creationTimestamp": "bad"}}
    path = "/api/v1/namespaces/a?fieldManager=m"
    rejected = await server.ask("PATCH", path, sent, kind="application/apply-patch+yaml", expect=500)
    assert rejected["message"] == (
        "failed to convert new object (/b; /v1, Kind=Namespace) to proper version: unable to convert unstructured "
        'object to /v1, Kind=Namespace: parsing time "bad" as "2006-01-02T15:04:05Z07:00": cannot parse "bad" as "2006"'
    )


async def test_creating_update_keeps_a_stated_deletion_timestamp(server: Live) -> None:
    roles, when = "/apis/rbac.authorization.k8s.io/v1/clusterroles", "2020-01-01T00:00:00Z"
    sent = {"metadata": {"name": "r", "deletionTimestamp": when, "creationTimestamp": when}}
    made = await server.ask("PUT", f"{roles}/r", sent, expect=201)
    assert (made["metadata"]["deletionTimestamp"], made["metadata"]["creationTimestamp"] == when) == (when, False)
    posted = await server.ask("POST", roles, {"metadata": {"name": "p", "deletionTimestamp": when}})
    assert "deletionTimestamp" not in posted["metadata"]


async def test_self_link_is_not_stored_but_returned_by_a_dry_run(running: Live) -> None:
    await running.ask("POST", WIDGETS, widget("w"))
    patch = {"metadata": {"selfLink": "/here"}}
    tried = await running.client.call("PATCH", f"{WIDGETS}/w?dryRun=All", patch, MERGE)
    assert tried.json()["metadata"]["selfLink"] == "/here"
    made = await running.client.call("PATCH", f"{WIDGETS}/w", patch, MERGE)
    assert "selfLink" not in made.json()["metadata"]


async def test_invalid_applied_metadata_fails_a_conversion(running: Live) -> None:
    applied = widget("w", meta={"deletionTimestamp": 5})
    path = f"{WIDGETS.replace('v1', 'v2')}/w?fieldManager=me"
    reply = await running.client.call("PATCH", path, applied | {"apiVersion": "test.example.com/v2"}, APPLY)
    assert reply.status == 500
    assert reply.json()["message"] == (
        "json: cannot unmarshal number into Go struct field ObjectMeta.deletionTimestamp of type string"
    )
    assert (await running.client.call("PATCH", f"{WIDGETS}/w?fieldManager=me", applied, APPLY)).status == 201


async def test_apply_that_removes_the_last_finalizer_returns_the_applied_metadata(running: Live) -> None:
    path = f"{WIDGETS}/w?fieldManager=me"
    await running.client.call("PATCH", path, widget("w", meta={"finalizers": ["example.com/a"]}), APPLY)
    await running.ask("DELETE", f"{WIDGETS}/w")
    reply = await running.client.call("PATCH", path, widget("w", meta={"annotations": {}}), APPLY)
    assert reply.json()["metadata"]["annotations"] == {}


@pytest.mark.parametrize("meta", [{"labels": {}}, {"finalizers": []}, {"annotations": {"a": None}}])
async def test_metadata_is_stored_as_it_was_applied(running: Live, meta: dict[str, Any]) -> None:
    async def applied(manager: str, meta: dict[str, Any]) -> str:
        path = f"{WIDGETS}/w?fieldManager={manager}"
        reply = await running.client.call("PATCH", path, widget("w", meta=meta), APPLY)
        return str(reply.json()["metadata"]["resourceVersion"])

    await applied("me", meta)
    other = await applied("other", {})
    # A read returns it differently, so an update without changes stores it differently.
    assert await applied("other", {}) == other
    await applied("me", meta)
    assert await applied("other", {}) != other


async def test_applied_object_is_pruned_when_read(tmp_path: Path) -> None:
    crd = definition()
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"] = {
        "type": "object",
        "properties": {"free": {"type": "object"}},
    }
    async with live(tmp_path) as running:
        await running.define(crd)
        reply = await running.client.call("PATCH", f"{WIDGETS}/w?fieldManager=me", widget("w", free={"a": 1}), APPLY)
        assert reply.json()["spec"] == {"free": {}}
        stored = await running.server.store.get("/registry/test.example.com/widgets/default/w")
        assert stored is not None
        assert json_codec.decode(stored.value)["spec"] == {"free": {"a": 1}}


async def test_apply_cannot_remove_the_deletion_timestamp(running: Live) -> None:
    path = f"{WIDGETS}/w?fieldManager=me"
    kept = {"finalizers": ["example.com/a"]}
    await running.client.call("PATCH", path, widget("w", meta=kept), APPLY)
    await running.ask("DELETE", f"{WIDGETS}/w")
    reply = await running.client.call("PATCH", path, widget("w", meta={**kept, "deletionTimestamp": None}), APPLY)
    assert reply.json()["metadata"]["deletionTimestamp"]
    assert (await running.ask("GET", f"{WIDGETS}/w"))["metadata"]["deletionTimestamp"]


async def test_status_update_resets_fields_only_at_versions_with_status(tmp_path: Path) -> None:
    crd = definition()
    crd["spec"]["versions"][0]["subresources"] = {}
    async with live(tmp_path) as running:
        await running.define(crd)
        await running.ask("POST", WIDGETS, widget("w", size=3))
        path = f"{WIDGETS.replace('v1', 'v2')}/w/status"
        reply = await running.client.call("PATCH", path, {"spec": {"size": 4}}, MERGE)
        result = reply.json()
        assert result["spec"] == {"size": 3}
        assert [cached["fieldsV1"] for cached in result["metadata"]["managedFields"]] == [{"f:spec": {}}]


async def test_last_applied_annotation_alone_does_not_set_defaults(tmp_path: Path) -> None:
    crd = definition()
    crd["spec"]["versions"][1] = copy.deepcopy(crd["spec"]["versions"][1])
    spec = crd["spec"]["versions"][1]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    spec["properties"]["note"]["default"] = "none"
    note = {"annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}"}}
    async with live(tmp_path) as running:
        await running.define(crd)
        await running.ask("POST", WIDGETS, widget("w", meta=note))
        path = f"{WIDGETS.replace('v1', 'v2')}/w?fieldManager=kubectl"
        applied = {**widget("w"), "apiVersion": "test.example.com/v2"}
        del applied["spec"]
        reply = await running.client.call("PATCH", path, applied, APPLY)
        assert reply.json()["metadata"]["annotations"] != note["annotations"]
        assert reply.json()["metadata"]["generation"] == 1
        applied["metadata"] = {**applied["metadata"], **note}
        reply = await running.client.call("PATCH", f"{path}&force=true", applied, APPLY)
        assert reply.json()["metadata"]["generation"] == 2


# ---------------------------------------------------------------------- merges that share values


FORCED = "fieldManager=m&force=true"
PATCHES: list[dict[str, Any]] = [
    {"metadata": {"labels": {"a": "2", "b": None, "c": "3"}}},
    {"spec": {"note": None, "size": None}},
    {"spec": {"unknown": {"x": [1]}, "note": "new"}},
    {"spec": None},
    {"status": {"ready": False}, "metadata": {"annotations": None}},
    {"metadata": {"finalizers": ["example.com/f"], "managedFields": None}},
    {},
]


APPLIED: list[dict[str, Any]] = [
    {"metadata": {"labels": {"a": "2", "c": "3"}}},
    {"spec": {"note": "new"}},
    {"spec": {"size": 2, "unknown": {"x": [1]}}},
    {"spec": {"note": None}},
    {"spec": {}},
    {"status": {"ready": False}, "metadata": {"annotations": {}}},
    {"spec": {"note": 1}},
    {},
]


async def patch_twice(running: Live, name: str, patch: dict[str, Any], path: str, kind: str = MERGE) -> tuple[int, Any]:
    """Create an object and patch it. Return the status and the result without the values that differ each time."""
    meta = {"labels": {"a": "1", "b": "2"}, "annotations": {"k": "v"}}
    await running.ask("POST", WIDGETS, widget(name, meta=meta, note="x"))
    await running.ask("PATCH", f"{WIDGETS}/{name}/status", {"status": {"ready": True}}, kind=MERGE)
    if kind == APPLY:
        patch, path = {"apiVersion": "test.example.com/v1", "kind": "Widget", **patch}, f"{path}?{FORCED}"
    for _ in range(2):
        reply = await running.client.call("PATCH", f"{WIDGETS}/{name}{path}", patch, kind)
    result = json_codec.decode(reply.body)
    if reply.status != 200:
        return reply.status, result["message"].replace(name, "")
    assert await running.ask("GET", f"{WIDGETS}/{name}") == result
    for field in ("name", "uid", "resourceVersion", "creationTimestamp"):
        del result["metadata"][field]
    # The order of entries depends on their times.
    entries = result["metadata"].get("managedFields", [])
    for entry in entries:
        entry.pop("time", None)
    entries.sort(key=repr)
    return reply.status, result


async def test_merge_patch_has_the_same_result_if_it_shares_values(
    running: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    cases = [(patch, path) for patch in PATCHES for path in ("", "/status")]
    shared = [await patch_twice(running, f"shared-{n}", *case) for n, case in enumerate(cases)]
    monkeypatch.setattr(patches, "may_share_old", lambda *_: False)
    copied = [await patch_twice(running, f"copied-{n}", *case) for n, case in enumerate(cases)]
    assert shared == copied


async def test_apply_has_the_same_result_if_it_shares_values(running: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    cases = [(applied, path, APPLY) for applied in APPLIED for path in ("", "/status")]
    shared = [await patch_twice(running, f"shared-{n}", *case) for n, case in enumerate(cases)]
    monkeypatch.setattr(apply, "may_share_old", lambda *_: False)
    copied = [await patch_twice(running, f"copied-{n}", *case) for n, case in enumerate(cases)]
    assert shared == copied
    assert {status for status, _ in shared} == {200, 422, 500}


async def test_apply_does_not_own_the_defaults_that_a_lost_attempt_has_set(
    running: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = widget("w")
    del body["spec"]
    await running.ask("POST", WIDGETS, body)
    lost = [True]

    async def commit_at_second_attempt(*args: Any, **options: Any) -> Any:
        if lost:
            lost.pop()
            raise LostRaceError
        return await commit(*args, **options)

    monkeypatch.setattr(change, "commit", commit_at_second_attempt)
    result = await running.ask("PATCH", f"{WIDGETS}/w?{FORCED}", widget("w", note="x"), kind=APPLY)
    assert result["spec"] == {"note": "x", "size": 1}
    assert [entry["fieldsV1"] for entry in result["metadata"]["managedFields"]] == [{"f:spec": {"f:note": {}}}]
