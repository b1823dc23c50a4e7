"""Admission webhooks called by a running server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from polykind.contract import JsonObject
from tests.admission.hooks import (
    CONFIGURATIONS,
    AdmissionHook,
    add,
    configuration,
    consent,
    encoded,
    patching,
    refuse,
    review_response,
)
from tests.conversion.hook import Hook as ConversionHook
from tests.conversion.hook import converted
from tests.support.hook import Call, Reply
from tests.support.live import Live, live
from tests.support.widgets import APPLY, GROUP, MERGE, WIDGETS, definition, namespace, widget

V2 = WIDGETS.replace("/v1/", "/v2/")


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Live]:
    async with live(tmp_path) as running:
        crd = definition()
        for version in crd["spec"]["versions"]:
            paths = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}
            version["subresources"] = {"status": {}, "scale": paths}
        await running.define(crd)
        yield running


async def configure(running: Live, kind: str, *webhooks: JsonObject, name: str = "hooks") -> None:
    path = f"{CONFIGURATIONS}/{kind.lower()}webhookconfigurations"
    await running.ask("POST", path, configuration(kind, *webhooks, name=name))


async def expect_denied(
    running: Live, method: str, path: str, body: object = None, code: int = 403, kind: str = MERGE
) -> str:
    kind = "application/json" if method == "POST" else kind
    answer = await running.ask(method, path, body, kind=kind, expect=code)
    message: str = answer["message"]
    return message


async def test_webhook_is_called_for_every_kind_of_write(running: Live, hook: AdmissionHook) -> None:
    await configure(running, "Mutating", hook.webhook_config("m"))
    await configure(running, "Validating", hook.webhook_config("v"))

    async def requests_for(method: str, path: str, body: object = None, kind: str = "application/json") -> list[Any]:
        await running.ask(method, path, body, kind=kind)
        first, second = hook.requests()
        fields = ("operation", "subResource", "name", "namespace")
        assert [first.get(f) for f in fields[:2]] == [second.get(f) for f in fields[:2]]
        presence = [obj is not None for obj in (first["object"], first["oldObject"])]
        return [first[f] for f in fields if f in first] + presence

    assert await requests_for("POST", WIDGETS, widget("a")) == ["CREATE", "a", "default", True, False]
    change = {"spec": {"note": "x"}}
    assert await requests_for("PATCH", f"{WIDGETS}/a", change, MERGE) == ["UPDATE", "a", "default", True, True]
    assert await requests_for("PUT", f"{WIDGETS}/a", await running.ask("GET", f"{WIDGETS}/a")) == [
        *("UPDATE", "a", "default", True, True)
    ]
    applied = f"{WIDGETS}/b?fieldManager=me"
    assert await requests_for("PATCH", applied, widget("b"), APPLY) == ["CREATE", "b", "default", True, False]
    assert await requests_for("PATCH", applied, widget("b", note="x"), APPLY) == ["UPDATE", "b", "default", True, True]
    status = {"status": {"ready": True}}
    assert await requests_for("PATCH", f"{WIDGETS}/a/status", status, MERGE) == [
        *("UPDATE", "status", "a", "default", True, True)
    ]
    scale = {"spec": {"replicas": 3}}
    assert await requests_for("PATCH", f"{WIDGETS}/a/scale", scale, MERGE) == [
        "UPDATE",
        "scale",
        "a",
        "default",
        True,
        True,
    ]
    assert await requests_for("DELETE", f"{WIDGETS}/a") == ["DELETE", "a", "default", False, True]
    assert await requests_for("DELETE", WIDGETS) == ["DELETE", "default", False, True]


async def test_reads_and_other_groups_do_not_match(running: Live, hook: AdmissionHook) -> None:
    await configure(running, "Validating", hook.webhook_config())
    await running.ask("GET", WIDGETS)
    await running.ask("POST", "/api/v1/namespaces", namespace("other"))
    assert hook.requests() == []


async def test_webhook_configurations_are_exempt(running: Live, hook: AdmissionHook) -> None:
    rule = {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"]}
    hook.behaviour = refuse
    await configure(running, "Validating", hook.webhook_config(rules=[rule]))
    await configure(running, "Mutating", hook.webhook_config(rules=[rule]))
    assert "denied the request" in await expect_denied(running, "POST", "/api/v1/namespaces", namespace("other"))
    await running.ask("DELETE", f"{CONFIGURATIONS}/validatingwebhookconfigurations/hooks")
    await running.ask("DELETE", f"{CONFIGURATIONS}/mutatingwebhookconfigurations/hooks")
    await running.ask("POST", "/api/v1/namespaces", namespace("other"))


async def test_denial_leaves_objects_unchanged(running: Live, hook: AdmissionHook) -> None:
    await running.ask("POST", WIDGETS, widget("a"))
    hook.behaviour = refuse
    await configure(running, "Validating", hook.webhook_config())
    why = 'admission webhook "one.example.com" denied the request: not today'
    assert await expect_denied(running, "POST", WIDGETS, widget("b")) == why
    assert await expect_denied(running, "PATCH", f"{WIDGETS}/a", {"spec": {"note": "x"}}) == why
    assert await expect_denied(running, "DELETE", f"{WIDGETS}/a") == why
    assert await expect_denied(running, "DELETE", WIDGETS) == why
    listed = await running.ask("GET", WIDGETS)
    assert [(w["metadata"]["name"], w["spec"]) for w in listed["items"]] == [("a", {"size": 1})]


async def test_mutated_object_is_defaulted_pruned_and_validated(running: Live, hook: AdmissionHook) -> None:
    await configure(running, "Mutating", hook.webhook_config(rules=[_rule("CREATE")]))
    hook.behaviour = patching(add("/spec", {"note": "made", "stray": 1}), add("/metadata/labels", {"by": "hook"}))
    obj = await running.ask("POST", WIDGETS, widget("a", size=5))
    assert (obj["spec"], obj["metadata"]["labels"]) == ({"note": "made", "size": 1}, {"by": "hook"})
    hook.behaviour = patching(add("/spec/size", "big"))
    assert 'must be of type integer: "string"' in await expect_denied(running, "POST", WIDGETS, widget("b"), 422)
    hook.behaviour = patching(add("/metadata/namespace", "elsewhere"))
    assert "does not match the namespace" in await expect_denied(running, "POST", WIDGETS, widget("b"), 400)
    hook.behaviour = patching(add("/metadata/name", "other"))
    assert (await running.ask("POST", WIDGETS, widget("b")))["metadata"]["name"] == "other"


async def test_invalid_managed_fields_are_restored(running: Live, hook: AdmissionHook) -> None:
    await configure(running, "Mutating", hook.webhook_config())
    hook.behaviour = patching(add("/metadata/managedFields", [{"manager": "m", "operation": "Guess"}]))
    reply = await running.client.call("POST", WIDGETS, widget("a", note="x"))
    assert b"operation must be `Apply` or `Update`" in reply.headers[b"warning"]
    assert [entry["operation"] for entry in reply.json()["metadata"]["managedFields"]] == ["Update"]


async def test_status_write_keeps_only_mutated_status(running: Live, hook: AdmissionHook) -> None:
    await running.ask("POST", WIDGETS, widget("a"))
    await configure(running, "Mutating", hook.webhook_config())
    hook.behaviour = patching(add("/status/ready", False), add("/spec/size", 9))
    obj = await running.ask("PATCH", f"{WIDGETS}/a/status", {"status": {"ready": True}}, kind=MERGE)
    assert (obj["spec"], obj["status"]) == ({"size": 1}, {"ready": False})


async def test_scale_is_mutated_as_scale(running: Live, hook: AdmissionHook) -> None:
    await running.ask("POST", WIDGETS, widget("a"))
    await configure(running, "Mutating", hook.webhook_config())
    hook.behaviour = patching(add("/spec/replicas", 7))
    obj = await running.ask("PATCH", f"{WIDGETS}/a/scale", {"spec": {"replicas": 2}}, kind=MERGE)
    assert obj["spec"] == {"replicas": 7}
    (requests_for,) = hook.requests()
    assert requests_for["kind"] == {"group": "autoscaling", "version": "v1", "kind": "Scale"}
    assert (requests_for["object"]["spec"], requests_for["oldObject"]["spec"]) == ({"replicas": 2}, {"replicas": 1})


async def test_deletion_cannot_be_mutated(running: Live, hook: AdmissionHook) -> None:
    await running.ask("POST", WIDGETS, widget("a"))
    await configure(running, "Mutating", hook.webhook_config())
    hook.behaviour = patching(add("/spec/size", 2))
    assert await expect_denied(running, "DELETE", f"{WIDGETS}/a", code=500) == (
        'Internal error occurred: admission webhook "one.example.com" attempted to modify the object, '
        "which is not supported for this operation"
    )


async def test_failing_patch_is_reported(running: Live, hook: AdmissionHook) -> None:
    await configure(running, "Mutating", hook.webhook_config(failurePolicy="Ignore"))
    hook.behaviour = patching({"op": "remove", "path": "/spec/nothing"})
    assert await expect_denied(running, "POST", WIDGETS, widget("a"), 500) == (
        "Internal error occurred: error in remove for path: '/spec/nothing': "
        "Unable to remove nonexistent key: nothing: missing value"
    )
    # An undecodable patch is a failed call, so the failure policy ignores it.
    hook.behaviour = lambda call: review_response(call, patch="e30=", patchType="JSONPatch")
    await running.ask("POST", WIDGETS, widget("a"))


async def test_webhooks_are_called_in_order_of_configuration_and_position(running: Live, hook: AdmissionHook) -> None:
    await configure(running, "Mutating", hook.webhook_config("c"), hook.webhook_config("a"), name="z")
    await configure(running, "Mutating", hook.webhook_config("b"), name="y")

    def append_path(call: Call) -> Reply:
        note = call.review["request"]["object"]["spec"].get("note", "")
        return review_response(call, patch=encoded(add("/spec/note", note + call.path[1])), patchType="JSONPatch")

    hook.behaviour = append_path
    obj = await running.ask("POST", WIDGETS, widget("a"))
    assert obj["spec"]["note"] == "bca"


async def test_webhook_is_reinvoked_after_a_change(running: Live, hook: AdmissionHook) -> None:
    again = hook.webhook_config("again", reinvocationPolicy="IfNeeded")
    await configure(running, "Mutating", again, hook.webhook_config("changes"), hook.webhook_config("never"))

    def change_once(call: Call) -> Reply:
        note = encoded(add("/spec/note", "x"))
        return (
            review_response(call, patch=note, patchType="JSONPatch")
            if call.path.startswith("/changes")
            else consent(call)
        )

    hook.behaviour = change_once
    await running.ask("POST", WIDGETS, widget("a"))
    assert [call.path.split("?")[0] for call in hook.calls] == ["/again", "/changes", "/never", "/again"]
    hook.calls.clear()
    await running.ask("POST", WIDGETS, widget("b", note="x"))
    assert len(hook.calls) == 3


async def test_object_is_converted_to_the_version_of_the_rule(running: Live, hook: AdmissionHook) -> None:
    await configure(running, "Mutating", hook.webhook_config(rules=[_rule("*", version="v2")]))
    hook.behaviour = patching(add("/spec/note", "from v2"))
    obj = await running.ask("POST", WIDGETS, widget("a"))
    assert (obj["apiVersion"], obj["spec"]["note"]) == (f"{GROUP}/v1", "from v2")
    (requests_for,) = hook.requests()
    assert (requests_for["kind"]["version"], requests_for["requestKind"]["version"]) == ("v2", "v1")
    assert requests_for["object"]["apiVersion"] == f"{GROUP}/v2"
    await running.ask("POST", V2, {**widget("b"), "apiVersion": f"{GROUP}/v2"})
    (requests_for,) = hook.requests()
    assert (requests_for["kind"]["version"], requests_for["requestKind"]["version"]) == ("v2", "v2")


async def test_match_policy_exact_matches_only_its_version(running: Live, hook: AdmissionHook) -> None:
    await configure(running, "Validating", hook.webhook_config(rules=[_rule("*", version="v2")], matchPolicy="Exact"))
    await running.ask("POST", WIDGETS, widget("a"))
    assert hook.requests() == []
    await running.ask("POST", V2, {**widget("b"), "apiVersion": f"{GROUP}/v2"})
    assert len(hook.requests()) == 1


async def test_selectors_are_honoured(running: Live, hook: AdmissionHook) -> None:
    await running.ask("POST", "/api/v1/namespaces", namespace("quiet"))
    elsewhere = {"matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["quiet"]}]}
    labelled = {"matchLabels": {"watched": "yes"}}
    await configure(running, "Validating", hook.webhook_config(namespaceSelector=elsewhere, objectSelector=labelled))
    watched = {"labels": {"watched": "yes"}}
    await running.ask("POST", WIDGETS, widget("a"))
    await running.ask("POST", WIDGETS.replace("default", "quiet"), widget("a", meta=watched))
    assert hook.requests() == []
    await running.ask("POST", WIDGETS, widget("b", meta=watched))
    await running.ask("PATCH", f"{WIDGETS}/b", {"metadata": {"labels": None}}, kind=MERGE)
    await running.ask("PATCH", f"{WIDGETS}/b", {"spec": {"note": "x"}}, kind=MERGE)
    assert [requests_for["operation"] for requests_for in hook.requests()] == ["CREATE", "UPDATE"]


async def test_dry_run_is_passed_on(running: Live, hook: AdmissionHook) -> None:
    await configure(running, "Validating", hook.webhook_config())
    await running.ask("POST", f"{WIDGETS}?dryRun=All", widget("a"))
    (requests_for,) = hook.requests()
    assert (requests_for["dryRun"], requests_for["options"]["dryRun"]) == (True, ["All"])


async def test_warnings_become_headers(running: Live, hook: AdmissionHook) -> None:
    await configure(running, "Validating", hook.webhook_config())
    hook.behaviour = lambda call: review_response(call, warnings=["mind the gap", "mind the gap"])
    reply = await running.client.call("POST", WIDGETS, widget("a"))
    assert reply.headers[b"warning"] == b'299 - "mind the gap"'


async def test_failures_follow_the_failure_policy(running: Live, hook: AdmissionHook) -> None:
    away = {"url": "https://127.0.0.1:1/x"}
    await configure(running, "Validating", hook.webhook_config(clientConfig=away, failurePolicy="Ignore"))
    await running.ask("POST", WIDGETS, widget("a"))
    path = f"{CONFIGURATIONS}/validatingwebhookconfigurations/hooks"
    await running.ask(
        "PATCH", path, [{"op": "replace", "path": "/webhooks/0/failurePolicy", "value": "Fail"}], kind=_JSON
    )
    message = await expect_denied(running, "POST", WIDGETS, widget("b"), 500)
    assert "dial tcp 127.0.0.1:1: connect: connection refused; while calling https://127.0.0.1:1/x (review " in message
    page = (await running.client.call("GET", "/metrics")).body.decode()
    assert 'apiserver_admission_webhook_fail_open_count{name="one.example.com",type="validating"} 1' in page
    rejection = 'error_type="calling_webhook_error",name="one.example.com",operation="CREATE",rejection_code="503"'
    assert f'apiserver_admission_webhook_rejection_count{{{rejection},type="validating"}} 1' in page


async def test_changed_configuration_takes_effect_at_once(running: Live, hook: AdmissionHook) -> None:
    await configure(running, "Validating", hook.webhook_config("one"))
    path = f"{CONFIGURATIONS}/validatingwebhookconfigurations/hooks"
    await running.ask("POST", WIDGETS, widget("a"))
    changed = {"webhooks": [hook.webhook_config("one"), hook.webhook_config("two")]}
    await running.ask("PATCH", path, changed, kind=MERGE)
    await running.ask("POST", WIDGETS, widget("b"))
    assert sorted(call.path for call in hook.calls) == ["/one?timeout=10s", "/one?timeout=10s", "/two?timeout=10s"]
    hook.calls.clear()
    await running.ask("DELETE", path)
    await running.ask("POST", WIDGETS, widget("c"))
    assert hook.calls == []


async def test_webhooks_are_called_right_after_start(tmp_path: Path, hook: AdmissionHook) -> None:
    async with live(tmp_path) as running:
        await running.define(definition())
        await configure(running, "Validating", hook.webhook_config())
    hook.behaviour = refuse
    async with live(tmp_path) as running:
        assert "not today" in await expect_denied(running, "POST", WIDGETS, widget("a"))


async def test_validating_webhooks_are_called_concurrently(running: Live) -> None:
    async with AdmissionHook() as first, AdmissionHook() as second:
        both = asyncio.Barrier(2)

        async def together(call: Call) -> Reply:
            await both.wait()
            return consent(call)

        first.behaviour = second.behaviour = together
        await configure(running, "Validating", first.webhook_config("one"), second.webhook_config("two"))
        await running.ask("POST", WIDGETS, widget("a"))


_JSON = "application/json-patch+json"


def _rule(operation: str, version: str = "*") -> JsonObject:
    return {"operations": [operation], "apiGroups": [GROUP], "apiVersions": [version], "resources": ["widgets"]}


async def test_v1beta1_crds_are_converted_for_v1_rules(tmp_path: Path, hook: AdmissionHook) -> None:
    rule = {
        "operations": ["CREATE"],
        "apiGroups": ["apiextensions.k8s.io"],
        "apiVersions": ["v1"],
        "resources": ["customresourcedefinitions"],
    }
    old = {
        "apiVersion": "apiextensions.k8s.io/v1beta1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"widgets.{GROUP}"},
        "spec": {
            "group": GROUP,
            "version": "v1",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
        },
    }
    async with live(tmp_path, serve_v1beta1=True) as running:
        await configure(running, "Mutating", hook.webhook_config(rules=[rule]))
        hook.behaviour = patching(add("/metadata/labels", {"by": "hook"}))
        obj = await running.ask("POST", "/apis/apiextensions.k8s.io/v1beta1/customresourcedefinitions", old)
        assert (obj["apiVersion"], obj["metadata"]["labels"]) == (old["apiVersion"], {"by": "hook"})
        assert obj["spec"]["version"] == "v1"
        (requests_for,) = hook.requests()
        assert (requests_for["kind"]["version"], requests_for["requestKind"]["version"]) == ("v1", "v1beta1")
        assert [v["name"] for v in requests_for["object"]["spec"]["versions"]] == ["v1"]


async def test_empty_fields_of_a_crd_are_not_sent(tmp_path: Path, hook: AdmissionHook) -> None:
    rule = {**_rule("CREATE"), "apiGroups": ["apiextensions.k8s.io"], "resources": ["customresourcedefinitions"]}
    async with live(tmp_path) as running:
        await configure(running, "Mutating", hook.webhook_config(rules=[rule]))
        crd = definition()
        schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
        schema |= {"required": [], "items": 5}
        await running.ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd)
        (requests_for,) = hook.requests()
        assert requests_for["object"]["spec"]["versions"][0]["schema"]["openAPIV3Schema"].keys() == {
            "type",
            "properties",
        }


def _only_to_v2(call: Call) -> Reply:
    if call.review["request"]["desiredAPIVersion"] == f"{GROUP}/v2":
        return Reply(json.dumps(converted(call.review)).encode())
    return Reply(b"no", 500, {"Content-Type": "text/plain"})


async def test_failed_conversion_fails_validating_admission(tmp_path: Path, hook: AdmissionHook) -> None:
    async with live(tmp_path) as running, ConversionHook() as converter:
        crd = definition()
        crd["spec"]["conversion"] = {"strategy": "Webhook", "webhook": converter.webhook_config()}
        await running.define(crd)
        await configure(running, "Validating", hook.webhook_config(rules=[_rule("CREATE", version="v2")]))
        converter.behaviour = lambda call: Reply(b"no", 500, {"Content-Type": "text/plain"})
        message = await expect_denied(running, "POST", WIDGETS, widget("b"), 500)
        assert message.startswith(f"Internal error occurred: conversion webhook for {GROUP}/v1, Kind=Widget failed: ")


async def test_objects_are_converted_for_webhooks_by_their_converter(tmp_path: Path, hook: AdmissionHook) -> None:
    async with live(tmp_path) as running, ConversionHook() as converter:
        crd = definition()
        crd["spec"]["conversion"] = {"strategy": "Webhook", "webhook": converter.webhook_config()}
        await running.define(crd)
        converter.behaviour = lambda call: Reply(
            json.dumps(converted(call.review, lambda obj, _: obj["spec"].update(note=obj["apiVersion"]))).encode()
        )
        await configure(running, "Mutating", hook.webhook_config(rules=[_rule("CREATE", version="v2")]))
        hook.behaviour = patching(add("/spec/size", 4))
        obj = await running.ask("POST", WIDGETS, widget("a"))
        (requests_for,) = hook.requests()
        assert requests_for["object"]["spec"]["note"] == f"{GROUP}/v2"
        assert obj["spec"] == {"note": f"{GROUP}/v1", "size": 4}
        converter.behaviour = lambda call: Reply(b"no", 500, {"Content-Type": "text/plain"})
        message = await expect_denied(running, "POST", WIDGETS, widget("b"), 500)
        failed = 'failed: an error on the server ("no") has prevented the request from succeeding'
        assert message.startswith(
            f"Internal error occurred: Internal error occurred: conversion webhook for {GROUP}/v1, Kind=Widget {failed}"
        )
        converter.behaviour = _only_to_v2
        message = await expect_denied(running, "POST", WIDGETS, widget("b"), 500)
        assert message.startswith(f"conversion webhook for {GROUP}/v2, Kind=Widget {failed}")
