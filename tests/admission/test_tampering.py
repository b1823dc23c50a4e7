"""Mutating webhooks that change names, resource versions, kinds or metadata."""

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
async def running(tmp_path: Path, hook: AdmissionHook) -> AsyncIterator[Live]:
    async with live(tmp_path) as running:
        crd = definition()
        for version in crd["spec"]["versions"]:
            paths = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}
            version["subresources"] = {"status": {}, "scale": paths}
        await running.define(crd)
        await running.ask("POST", WIDGETS, widget("a"))
        await running.ask(
            "POST", f"{CONFIGURATIONS}/mutatingwebhookconfigurations", configuration("Mutating", hook.webhook_config())
        )
        yield running


async def error_of(
    running: Live, method: str, path: str, body: object, code: int, kind: str = MERGE
) -> tuple[Any, Any]:
    kind = kind if method == "PATCH" else "application/json"
    answer = await running.ask(method, path, body, kind=kind, expect=code)
    return answer["message"], answer.get("reason")


async def test_apply_creates_under_the_name_of_the_path(running: Live, hook: AdmissionHook) -> None:
    hook.behaviour = patching(add("/metadata/name", "other"))
    for name in ("b", "c"):
        obj = await running.ask("PATCH", f"{WIDGETS}/{name}?fieldManager=me", widget(name), kind=APPLY, expect=201)
        assert obj["metadata"]["name"] == "other"
        assert (await running.ask("GET", f"{WIDGETS}/{name}"))["metadata"]["name"] == "other"


async def test_apply_that_creates_ignores_a_valid_resource_version(running: Live, hook: AdmissionHook) -> None:
    hook.behaviour = patching(add("/metadata/resourceVersion", "1"))
    await running.ask("PATCH", f"{WIDGETS}/b?fieldManager=me", widget("b"), kind=APPLY, expect=201)
    hook.behaviour = patching(add("/metadata/resourceVersion", "abc"))
    assert await error_of(running, "PATCH", f"{WIDGETS}/c?fieldManager=me", widget("c"), 500, APPLY) == (
        'strconv.ParseUint: parsing "abc": invalid syntax',
        None,
    )


async def test_missing_resource_version_is_reported_before_changed_namespace(
    running: Live, hook: AdmissionHook
) -> None:
    hook.behaviour = patching(add("/metadata/namespace", "other"))
    message, reason = await error_of(running, "PUT", f"{WIDGETS}/a", widget("a"), 422)
    assert "metadata.resourceVersion" in message
    assert reason == "Invalid"
    assert await error_of(running, "PATCH", f"{WIDGETS}/a", {}, 400) == (_OTHER_NAMESPACE, "BadRequest")


async def test_metadata_of_a_scale_is_ignored(running: Live, hook: AdmissionHook) -> None:
    hook.behaviour = patching(add("/metadata/namespace", "other"), add("/metadata/uid", "other"))
    scale = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "a"}, "spec": {"replicas": 3}}
    changed = await running.ask("PUT", f"{WIDGETS}/a/scale", scale)
    assert (changed["metadata"]["namespace"], changed["spec"]) == ("default", {"replicas": 3})


@pytest.mark.parametrize(
    ("path", "value", "message_text"),
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
async def test_invalid_scale_is_rejected(
    running: Live, hook: AdmissionHook, path: str, value: object, message_text: str
) -> None:
    hook.behaviour = patching(add(path, value))
    message, reason = await error_of(running, "PATCH", f"{WIDGETS}/a/scale", {"spec": {"replicas": 5}}, 500)
    assert message.startswith(message_text)
    assert reason is None


async def test_invalid_metadata_is_dropped_unless_converted(running: Live, hook: AdmissionHook) -> None:
    hook.behaviour = patching(add("/metadata/labels", []))
    obj = await running.ask("POST", WIDGETS, widget("b"))
    assert "labels" not in obj["metadata"]
    message_text = "json: cannot unmarshal array into Go struct field ObjectMeta.labels of type map[string]string"
    other = widget("c") | {"apiVersion": f"{GROUP}/v2"}
    assert await error_of(running, "POST", V2, other, 500) == (message_text, None)
    assert await error_of(running, "PATCH", f"{V2}/a", {}, 500) == (message_text, None)


async def test_removing_the_last_finalizer_returns_the_mutated_object(running: Live, hook: AdmissionHook) -> None:
    await running.ask("PATCH", f"{WIDGETS}/a", {"metadata": {"finalizers": ["x.io/y"]}}, kind=MERGE)
    await running.ask("DELETE", f"{WIDGETS}/a")
    hook.behaviour = patching(add("/spec/stray", 1))
    gone = await running.ask("PATCH", f"{WIDGETS}/a", {"metadata": {"finalizers": None}}, kind=MERGE)
    assert gone["spec"] == {"size": 1, "stray": 1}


async def test_builtin_object_without_kind_gets_the_kind_of_the_resource(running: Live, hook: AdmissionHook) -> None:
    path = f"{CONFIGURATIONS}/mutatingwebhookconfigurations/hooks"
    rule = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["namespaces"]}
    change = [{"op": "replace", "path": "/webhooks/0/rules", "value": [rule]}]
    await running.ask("PATCH", path, change, kind="application/json-patch+json")
    hook.behaviour = patching({"op": "remove", "path": "/kind"}, {"op": "remove", "path": "/apiVersion"})
    obj = await running.ask("POST", "/api/v1/namespaces", {"metadata": {"name": "n"}})
    assert (obj["apiVersion"], obj["kind"]) == ("v1", "Namespace")
    hook.behaviour = patching(add("/kind", "Other"))
    message_text = 'no kind "Other" is registered for version "v1" in scheme "pkg/api/legacyscheme/scheme.go:30"'
    error = await error_of(running, "POST", "/api/v1/namespaces", {"metadata": {"name": "o"}}, 500)
    assert error == (f"Internal error occurred: {message_text}", "InternalError")
