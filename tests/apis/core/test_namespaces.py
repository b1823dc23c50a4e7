"""Namespaces as objects: names, finalizers, phases and subresources."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from polykind.contract import JsonObject
from tests.support.live import Live, live

NAMESPACES = "/api/v1/namespaces"
MERGE = "application/merge-patch+json"
UNQUALIFIED = "name is neither a standard finalizer name nor is it fully qualified"


def named(name: str, **more: object) -> JsonObject:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}, **more}


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Live]:
    async with live(tmp_path) as running:
        await running.ask("POST", NAMESPACES, named("a"))
        yield running


async def test_name_must_be_a_dns_label(server: Live) -> None:
    refused = await server.ask("POST", NAMESPACES, named("a.b"), expect=422)
    assert (
        refused["message"] == 'Namespace "a.b" is invalid: metadata.name: Invalid value: "a.b": must not contain dots'
    )
    refused = await server.ask("POST", NAMESPACES, named("UP"), expect=422)
    assert "a lowercase RFC 1123 label must consist of" in refused["message"]


async def test_name_label_belongs_to_the_creator(server: Live) -> None:
    made = await server.ask("GET", f"{NAMESPACES}/a")
    assert made["metadata"]["labels"] == {"kubernetes.io/metadata.name": "a"}
    (entry,) = made["metadata"]["managedFields"]
    assert entry["fieldsV1"]["f:metadata"]["f:labels"] == {".": {}, "f:kubernetes.io/metadata.name": {}}


async def test_finalizers_must_be_qualified(server: Live) -> None:
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "b", "finalizers": ["x"]}}
    refused = await server.ask("POST", NAMESPACES, body, expect=422)
    assert refused["message"] == f'Namespace "b" is invalid: metadata.finalizers[0]: Invalid value: "x": {UNQUALIFIED}'
    refused = await server.ask("POST", NAMESPACES, named("b", spec={"finalizers": ["x"]}), expect=422)
    assert refused["message"] == f'Namespace "b" is invalid: spec.finalizers: Invalid value: "x": {UNQUALIFIED}'


async def test_status_update_validates_finalizers(server: Live) -> None:
    body = {"metadata": {"finalizers": ["x"]}}
    refused = await server.ask("PATCH", f"{NAMESPACES}/a/status", body, kind=MERGE, expect=422)
    assert refused["message"] == f'Namespace "a" is invalid: metadata.finalizers[0]: Invalid value: "x": {UNQUALIFIED}'


async def test_rejected_strategic_merge_patch_is_quoted(server: Live) -> None:
    kind = "application/strategic-merge-patch+json"
    body: JsonObject = {"metadata": {"labels": "x", "annotations": {"b": 1, "a": [None]}}}
    refused = await server.ask("PATCH", f"{NAMESPACES}/a", body, kind=kind, expect=422)
    shown = '"map[metadata:map[annotations:map[a:[<nil>] b:1] labels:x]]"'
    assert refused["message"] == f' "" is invalid: patch: Invalid value: {shown}: cannot restore map from string'
    body = {"spec": {"zoo": 1, "ant": 2}}
    refused = await server.ask("PATCH", f"{NAMESPACES}/a?fieldValidation=Strict", body, kind=kind, expect=422)
    reason = 'strict decoding error: unknown field "spec.ant", unknown field "spec.zoo"'
    assert refused["message"] == f' "" is invalid: patch: Invalid value: "map[spec:map[ant:2 zoo:1]]": {reason}'


async def test_strategic_merge_patch_ignores_another_kind(server: Live) -> None:
    kind = "application/strategic-merge-patch+json"
    kept = await server.ask("PATCH", f"{NAMESPACES}/a", {"kind": "Foo", "apiVersion": "v9"}, kind=kind)
    assert (kept["kind"], kept["apiVersion"]) == ("Namespace", "v1")


async def test_update_needs_no_resource_version_and_keeps_the_spec(server: Live) -> None:
    changed = await server.ask("PUT", f"{NAMESPACES}/a", named("a", spec={"finalizers": ["x.y/z"]}))
    assert (changed["spec"], changed["status"]) == ({"finalizers": ["kubernetes"]}, {"phase": "Active"})


async def test_generation_never_changes(server: Live) -> None:
    made = await server.ask(
        "POST", NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "b", "generation": 5}}
    )
    assert made["metadata"]["generation"] == 5
    for path in (f"{NAMESPACES}/b", f"{NAMESPACES}/b/status"):
        changed = await server.ask("PATCH", path, {"metadata": {"generation": 50}}, kind=MERGE)
        assert changed["metadata"]["generation"] == 5
    changed = await server.ask("PATCH", f"{NAMESPACES}/a/status", {"metadata": {"generation": 50}}, kind=MERGE)
    assert "generation" not in changed["metadata"]


async def test_empty_managed_fields_drop_all_managers(server: Live) -> None:
    changed = await server.ask("PATCH", f"{NAMESPACES}/a", {"metadata": {"managedFields": []}}, kind=MERGE)
    assert "managedFields" not in changed["metadata"]


async def test_finalize_changes_spec_finalizers(server: Live) -> None:
    path = f"{NAMESPACES}/a/finalize"
    changed = await server.ask("PUT", path, named("a", spec={"finalizers": ["x.y/z"]}))
    assert (changed["spec"], changed["status"]) == ({"finalizers": ["x.y/z"]}, {"phase": "Active"})
    refused = await server.ask("PUT", path, named("a", spec={"finalizers": ["x"]}), expect=422)
    assert refused["details"]["causes"][0]["field"] == "spec.finalizers[0]"
    for method in ("GET", "PATCH", "POST"):
        await server.ask(method, path, {}, expect=405)


async def test_patch_may_omit_but_not_change_the_kind(server: Live) -> None:
    kept = await server.ask("PATCH", f"{NAMESPACES}/a", {"kind": None}, kind=MERGE)
    assert kept["kind"] == "Namespace"
    refused = await server.ask("PATCH", f"{NAMESPACES}/a", {"kind": "X"}, kind=MERGE, expect=422)
    assert 'no kind "X" is registered for version "v1"' in refused["message"]
    assert (await server.ask("GET", f"{NAMESPACES}/a"))["kind"] == "Namespace"


async def test_phase_is_selectable_and_follows_the_deletion(server: Live) -> None:
    listed = await server.ask("GET", f"{NAMESPACES}?fieldSelector=status.phase%3DActive,metadata.name%3Da")
    assert len(listed["items"]) == 1
    refused = await server.ask(
        "PATCH", f"{NAMESPACES}/a/status", {"status": {"phase": "Terminating"}}, kind=MERGE, expect=422
    )
    says = "may only be 'Active' if `deletionTimestamp` is empty"
    assert refused["message"] == f'Namespace "a" is invalid: status.Phase: Invalid value: "Terminating": {says}'


async def test_deletion_sets_no_grace_period(server: Live) -> None:
    deleted = await server.ask("DELETE", f"{NAMESPACES}/a?dryRun=All")
    assert deleted["status"] == {"phase": "Terminating"}
    assert "deletionTimestamp" in deleted["metadata"]
    assert "deletionGracePeriodSeconds" not in deleted["metadata"]
    refused = await server.ask("DELETE", f"{NAMESPACES}/a", {"preconditions": {"uid": "x"}}, expect=409)
    assert "Precondition failed: UID in precondition: x, UID in object meta: " in refused["message"]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("PUT", NAMESPACES, 405),
        ("PATCH", NAMESPACES, 405),
        ("DELETE", NAMESPACES, 405),
        ("OPTIONS", NAMESPACES, 405),
        ("POST", f"{NAMESPACES}/a", 405),
        ("DELETE", f"{NAMESPACES}/a/status", 405),
        ("GET", f"{NAMESPACES}/a/other", 404),
        ("GET", f"{NAMESPACES}/a/status/more", 404),
        ("GET", "/api/v1/machines", 404),
        ("GET", "/api/v9/namespaces", 404),
        ("GET", "/api/v9", 404),
        ("GET", "/apis/apiextensions.k8s.io/v1/others", 404),
    ],
)
async def test_unsupported_methods_of_built_in_resources(server: Live, method: str, path: str, status: int) -> None:
    says = {
        404: ("NotFound", "the server could not find the requested resource"),
        405: ("MethodNotAllowed", "the server does not allow this method on the requested resource"),
    }
    refused = await server.ask(method, path, {}, expect=status)
    assert (refused["reason"], refused["message"], refused["details"]) == (*says[status], {})
