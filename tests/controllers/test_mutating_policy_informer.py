"""MutatingAdmissionPolicies on a running server: all verbs, the order with webhooks, and restarts."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from polykind.contract import JsonObject
from tests.admission.hooks import AdmissionHook, add, configuration, encoded, review_response
from tests.support.hook import Call, Reply
from tests.support.live import Live, live
from tests.support.widgets import APPLY, GROUP, JSON, MERGE, WIDGETS, definition, namespace, widget

GROUP_VERSION = "admissionregistration.k8s.io/v1"
POLICIES = f"/apis/{GROUP_VERSION}/mutatingadmissionpolicies"
BINDINGS = f"/apis/{GROUP_VERSION}/mutatingadmissionpolicybindings"
GROW = "Object{spec: Object.spec{size: object.spec.size + 1}}"


def policy(expression: str, name: str = "p", *, resources: tuple[str, ...] = ("widgets",), **spec: Any) -> JsonObject:
    rule = {"apiGroups": [GROUP, ""], "apiVersions": ["*"], "operations": ["*"], "resources": list(resources)}
    is_apply = expression.startswith("Object")
    field = "applyConfiguration" if is_apply else "jsonPatch"
    mutation = {"patchType": "ApplyConfiguration" if is_apply else "JSONPatch", field: {"expression": expression}}
    return {
        "apiVersion": GROUP_VERSION,
        "kind": "MutatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {
            "matchConstraints": {"resourceRules": [rule]},
            "mutations": [mutation],
            "reinvocationPolicy": "Never",
            **spec,
        },
    }


def binding(of: str = "p", **spec: Any) -> JsonObject:
    return {
        "apiVersion": GROUP_VERSION,
        "kind": "MutatingAdmissionPolicyBinding",
        "metadata": {"name": f"b-{of}"},
        "spec": {"policyName": of, **spec},
    }


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Live]:
    async with live(tmp_path) as running:
        await running.define(definition())
        yield running


async def bind(running: Live, expression: str, name: str = "p", **spec: Any) -> None:
    await running.ask("POST", POLICIES, policy(expression, name, **spec))
    await running.ask("POST", BINDINGS, binding(name))


async def test_policy_is_in_effect_while_it_is_bound(running: Live) -> None:
    await running.ask("POST", POLICIES, policy(GROW))
    assert (await running.ask("POST", WIDGETS, widget("a", size=1)))["spec"]["size"] == 1
    await running.ask("POST", BINDINGS, binding())
    assert (await running.ask("POST", WIDGETS, widget("b", size=1)))["spec"]["size"] == 2
    await running.ask("PATCH", f"{POLICIES}/p", {"spec": {"reinvocationPolicy": "IfNeeded"}}, kind=MERGE)
    assert (await running.ask("POST", WIDGETS, widget("c", size=1)))["spec"]["size"] == 3
    await running.ask("DELETE", f"{BINDINGS}/b-p")
    assert (await running.ask("POST", WIDGETS, widget("d", size=1)))["spec"]["size"] == 1


async def test_policy_mutates_with_every_write_verb(running: Live) -> None:
    await bind(running, GROW)
    written = await running.ask("POST", WIDGETS, widget("w", size=1))
    written["spec"]["size"] = 10
    assert (await running.ask("PUT", f"{WIDGETS}/w", written))["spec"]["size"] == 11
    patched = await running.ask("PATCH", f"{WIDGETS}/w", {"spec": {"size": 20}}, kind=MERGE)
    assert patched["spec"]["size"] == 21
    patch = [{"op": "replace", "path": "/spec/size", "value": 30}]
    assert (await running.ask("PATCH", f"{WIDGETS}/w", patch, kind=JSON))["spec"]["size"] == 31
    applied = widget("w", size=40)
    path = f"{WIDGETS}/w?fieldManager=me&force=true"
    assert (await running.ask("PATCH", path, applied, kind=APPLY))["spec"]["size"] == 41
    dry = await running.ask("PATCH", f"{WIDGETS}/w?dryRun=All", {"spec": {"size": 50}}, kind=MERGE)
    assert dry["spec"]["size"] == 51
    assert (await running.ask("GET", f"{WIDGETS}/w"))["spec"]["size"] == 41


async def test_mutated_object_is_defaulted_and_validated_again(running: Live) -> None:
    await bind(running, '[JSONPatch{op: "remove", path: "/spec/size"}]')
    assert (await running.ask("POST", WIDGETS, widget("a", size=5)))["spec"] == {"size": 1}
    await bind(running, '[JSONPatch{op: "add", path: "/spec/note", value: 5}]', "q")
    error = await running.ask("POST", WIDGETS, widget("b"), expect=422)
    assert 'spec.note in body must be of type string: "integer"' in error["message"]


async def test_status_is_mutated_on_the_subresource_only(running: Live) -> None:
    await bind(running, "Object{status: Object.status{ready: true}}", resources=("widgets", "widgets/status"))
    assert "status" not in await running.ask("POST", WIDGETS, widget("w"))
    written = await running.ask("PATCH", f"{WIDGETS}/w/status", {"status": {"ready": False}}, kind=MERGE)
    assert written["status"] == {"ready": True}


async def test_failing_policy_rejects_the_write_unless_failure_policy_is_ignore(running: Live) -> None:
    await bind(running, "Object{spec: Object.spec{nope: 1}}")
    error = await running.ask("POST", WIDGETS, widget("w"), expect=403)
    message = (
        "policy 'p' with binding 'b-p' denied request: error applying patch: failed to convert patch object to typed "
        "object: .spec.nope: field not declared in schema"
    )
    assert error["message"] == message
    assert error["reason"] == "Invalid"
    details = {"name": "w", "group": GROUP, "kind": "widgets", "causes": [{"message": message}]}
    assert error["details"] == details
    await running.ask("PATCH", f"{POLICIES}/p", {"spec": {"failurePolicy": "Ignore"}}, kind=MERGE)
    await running.ask("POST", WIDGETS, widget("w"))


async def test_params_are_read_from_the_server(running: Live) -> None:
    await running.ask("POST", WIDGETS, widget("param", size=7))
    kind = {"apiVersion": f"{GROUP}/v1", "kind": "Widget"}
    await running.ask("POST", POLICIES, policy("Object{spec: Object.spec{size: params.spec.size}}", paramKind=kind))
    ref = {"name": "param", "parameterNotFoundAction": "Deny"}
    await running.ask("POST", BINDINGS, binding(paramRef=ref))
    assert (await running.ask("POST", WIDGETS, widget("w", size=1)))["spec"]["size"] == 7


async def test_builtin_objects_are_mutated_and_decoded_strictly(running: Live) -> None:
    await bind(running, 'Object{metadata: Object.metadata{labels: {"by": "policy"}}}', resources=("namespaces",))
    written = await running.ask("POST", "/api/v1/namespaces", namespace("a"))
    assert written["metadata"]["labels"] == {"by": "policy", "kubernetes.io/metadata.name": "a"}
    await bind(running, '[JSONPatch{op: "add", path: "/spec/nope", value: 1}]', "q", resources=("namespaces",))
    error = await running.ask("POST", "/api/v1/namespaces", namespace("b"), expect=500)
    assert error["message"] == 'Internal error occurred: strict decoding error: unknown field "spec.nope"'


@pytest.mark.parametrize(
    ("policies", "webhooks", "written"),
    [
        ("Never", "Never", "pw"),
        ("Never", "IfNeeded", "pw"),
        ("IfNeeded", "Never", "pwp"),
        ("IfNeeded", "IfNeeded", "pwpw"),
    ],
)
async def test_policies_run_before_webhooks_and_share_reinvocation(
    running: Live, policies: str, webhooks: str, written: str
) -> None:
    def append(call: Call) -> Reply:
        note = call.review["request"]["object"]["spec"]["note"]
        return review_response(call, patch=encoded(add("/spec/note", f"{note}w")), patchType="JSONPatch")

    async with AdmissionHook(behaviour=append) as hook:
        stanza = hook.webhook_config(reinvocationPolicy=webhooks)
        path = f"/apis/{GROUP_VERSION}/mutatingwebhookconfigurations"
        await running.ask("POST", path, configuration("Mutating", stanza))
        grow = 'Object{spec: Object.spec{note: object.spec.note + "p"}}'
        await bind(running, grow, reinvocationPolicy=policies)
        assert (await running.ask("POST", WIDGETS, widget("w", note="")))["spec"]["note"] == written


async def test_policies_are_in_effect_after_a_restart(tmp_path: Path) -> None:
    async with live(tmp_path) as running:
        await running.define(definition())
        await bind(running, GROW)
    async with live(tmp_path) as running:
        assert (await running.ask("POST", WIDGETS, widget("w", size=1)))["spec"]["size"] == 2
