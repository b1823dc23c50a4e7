"""Webhooks that change what is not theirs: names, revisions, kinds, and metadata that does not fit."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.admission.hooks import CONFIGURATIONS, AdmissionHook, add, configuration, patching
from tests.support.live import Live, live
from tests.support.widgets import APPLY, GROUP, MERGE, WIDGETS, definition, widget

V2 = WIDGETS.replace("/v1/", "/v2/")
_OTHER_NAMESPACE = "the namespace of the provided object does not match the namespace sent on the request"


@pytest.fixture
async def hook() -> AsyncIterator[AdmissionHook]:
    async with AdmissionHook() as running:
        yield running


@pytest.fixture
async def running(tmp_path: Path, hook: AdmissionHook) -> AsyncIterator[Live]:
    async with live(tmp_path) as running:
        crd = definition()
        for version in crd["spec"]["versions"]:
            paths = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}
            version["subresources"] = {"status": {}, "scale": paths}
        await running.define(crd)
        await running.ask("POST", WIDGETS, widget("a"))
        await running.ask(
            "POST", f"{CONFIGURATIONS}/mutatingwebhookconfigurations", configuration("Mutating", hook.stanza())
        )
        yield running


async def said(running: Live, method: str, path: str, body: object, code: int, kind: str = MERGE) -> tuple[Any, Any]:
    kind = kind if method == "PATCH" else "application/json"
    answer = await running.ask(method, path, body, kind=kind, expect=code)
    return answer["message"], answer.get("reason")


async def test_an_apply_creates_where_the_path_says(running: Live, hook: AdmissionHook) -> None:
    hook.behaviour = patching(add("/metadata/name", "other"))
    for name in ("b", "c"):
        made = await running.ask("PATCH", f"{WIDGETS}/{name}?fieldManager=me", widget(name), kind=APPLY, expect=201)
        assert made["metadata"]["name"] == "other"
        assert (await running.ask("GET", f"{WIDGETS}/{name}"))["metadata"]["name"] == "other"


async def test_a_revision_means_nothing_to_an_apply_that_creates_but_must_be_one(
    running: Live, hook: AdmissionHook
) -> None:
    hook.behaviour = patching(add("/metadata/resourceVersion", "1"))
    await running.ask("PATCH", f"{WIDGETS}/b?fieldManager=me", widget("b"), kind=APPLY, expect=201)
    hook.behaviour = patching(add("/metadata/resourceVersion", "abc"))
    assert await said(running, "PATCH", f"{WIDGETS}/c?fieldManager=me", widget("c"), 500, APPLY) == (
        'strconv.ParseUint: parsing "abc": invalid syntax',
        None,
    )


async def test_a_revision_is_missed_before_another_namespace_is_seen(running: Live, hook: AdmissionHook) -> None:
    hook.behaviour = patching(add("/metadata/namespace", "other"))
    message, reason = await said(running, "PUT", f"{WIDGETS}/a", widget("a"), 422)
    assert "metadata.resourceVersion" in message
    assert reason == "Invalid"
    assert await said(running, "PATCH", f"{WIDGETS}/a", {}, 400) == (_OTHER_NAMESPACE, "BadRequest")


async def test_where_a_scale_says_it_is_means_nothing(running: Live, hook: AdmissionHook) -> None:
    hook.behaviour = patching(add("/metadata/namespace", "other"), add("/metadata/uid", "other"))
    scale = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "a"}, "spec": {"replicas": 3}}
    changed = await running.ask("PUT", f"{WIDGETS}/a/scale", scale)
    assert (changed["metadata"]["namespace"], changed["spec"]) == ("default", {"replicas": 3})


@pytest.mark.parametrize(
    ("path", "value", "why"),
    [
        (
            "/metadata/name",
            5,
            "unable to convert unstructured object to autoscaling/v1, Kind=Scale: cannot convert int",
        ),
        (
            "/metadata/labels",
            "x",
            "unable to convert unstructured object to autoscaling/v1, Kind=Scale: cannot restore",
        ),
        ("/apiVersion", None, "Object 'apiVersion' is missing in 'unstructured object has no version'"),
        ("/kind", "Other", 'no kind "Other" is registered for version "autoscaling/v1" in scheme "k8s.io/client-go/k'),
    ],
)
async def test_what_is_no_scale_any_more_is_refused(
    running: Live, hook: AdmissionHook, path: str, value: object, why: str
) -> None:
    hook.behaviour = patching(add(path, value))
    message, reason = await said(running, "PATCH", f"{WIDGETS}/a/scale", {"spec": {"replicas": 5}}, 500)
    assert message.startswith(why)
    assert reason is None


async def test_metadata_that_does_not_fit_is_dropped_unless_it_is_converted(running: Live, hook: AdmissionHook) -> None:
    hook.behaviour = patching(add("/metadata/labels", []))
    made = await running.ask("POST", WIDGETS, widget("b"))
    assert "labels" not in made["metadata"]
    why = "json: cannot unmarshal array into Go struct field ObjectMeta.labels of type map[string]string"
    other = widget("c") | {"apiVersion": f"{GROUP}/v2"}
    assert await said(running, "POST", V2, other, 500) == (why, None)
    assert await said(running, "PATCH", f"{V2}/a", {}, 500) == (why, None)


async def test_the_answer_to_a_removed_last_finalizer_is_what_was_made(running: Live, hook: AdmissionHook) -> None:
    await running.ask("PATCH", f"{WIDGETS}/a", {"metadata": {"finalizers": ["x.io/y"]}}, kind=MERGE)
    await running.ask("DELETE", f"{WIDGETS}/a")
    hook.behaviour = patching(add("/spec/stray", 1))
    gone = await running.ask("PATCH", f"{WIDGETS}/a", {"metadata": {"finalizers": None}}, kind=MERGE)
    assert gone["spec"] == {"size": 1, "stray": 1}


async def test_a_built_in_object_that_does_not_say_its_kind_is_of_it_and_no_other(
    running: Live, hook: AdmissionHook
) -> None:
    path = f"{CONFIGURATIONS}/mutatingwebhookconfigurations/hooks"
    rule = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["namespaces"]}
    change = [{"op": "replace", "path": "/webhooks/0/rules", "value": [rule]}]
    await running.ask("PATCH", path, change, kind="application/json-patch+json")
    hook.behaviour = patching({"op": "remove", "path": "/kind"}, {"op": "remove", "path": "/apiVersion"})
    made = await running.ask("POST", "/api/v1/namespaces", {"metadata": {"name": "n"}})
    assert (made["apiVersion"], made["kind"]) == ("v1", "Namespace")
    hook.behaviour = patching(add("/kind", "Other"))
    why = 'no kind "Other" is registered for version "v1" in scheme "pkg/api/legacyscheme/scheme.go:30"'
    told = await said(running, "POST", "/api/v1/namespaces", {"metadata": {"name": "o"}}, 500)
    assert told == (f"Internal error occurred: {why}", "InternalError")
