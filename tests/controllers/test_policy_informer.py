"""ValidatingAdmissionPolicies on a running server: all verbs, params, and restarts."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from polykind.contract import JsonObject
from tests.support.live import Live, live
from tests.support.widgets import APPLY, GROUP, MERGE, WIDGETS, definition, widget

GROUP_VERSION = "admissionregistration.k8s.io/v1"
POLICIES = f"/apis/{GROUP_VERSION}/validatingadmissionpolicies"
BINDINGS = f"/apis/{GROUP_VERSION}/validatingadmissionpolicybindings"


def policy(*expressions: str, name: str = "p", plural: str = "widgets", **spec: Any) -> JsonObject:
    rule = {"apiGroups": [GROUP], "apiVersions": ["*"], "operations": ["*"], "resources": [plural, f"{plural}/*"]}
    return {
        "apiVersion": GROUP_VERSION,
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {
            "matchConstraints": {"resourceRules": [rule]},
            "validations": [{"expression": expression} for expression in expressions],
            **spec,
        },
    }


def binding(name: str = "b", of: str = "p", *actions: str, **spec: Any) -> JsonObject:
    return {
        "apiVersion": GROUP_VERSION,
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {"policyName": of, "validationActions": list(actions) or ["Deny"], **spec},
    }


def denied(expression: str, name: str = "w") -> str:
    return (
        f"widgets.{GROUP} \"{name}\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: "
        f"failed expression: {expression}"
    )


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Live]:
    async with live(tmp_path) as running:
        crd = definition()
        for version in crd["spec"]["versions"]:
            version["subresources"]["scale"] = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}
        await running.define(crd)
        yield running


async def bind(running: Live, *expressions: str, **spec: Any) -> None:
    await running.ask("POST", POLICIES, policy(*expressions, **spec))
    await running.ask("POST", BINDINGS, binding())


async def error_message(running: Live, *request: Any, expect: int = 422, **more: Any) -> str:
    status = await running.ask(*request, expect=expect, **more)
    assert status["kind"] == "Status"
    message: str = status["message"]
    return message


async def test_policy_is_in_effect_while_it_is_bound(running: Live) -> None:
    await running.ask("POST", POLICIES, policy("object.spec.size < 5"))
    await running.ask("POST", WIDGETS, widget("a", size=7))
    await running.ask("POST", BINDINGS, binding())
    assert await error_message(running, "POST", WIDGETS, widget("w", size=7)) == denied("object.spec.size < 5")
    await running.ask("PATCH", f"{POLICIES}/p", {"spec": {"validations": [{"expression": "true"}]}}, kind=MERGE)
    await running.ask("POST", WIDGETS, widget("w", size=7))
    await running.ask("PATCH", f"{POLICIES}/p", {"spec": {"validations": [{"expression": "1 > 2"}]}}, kind=MERGE)
    assert await error_message(running, "POST", WIDGETS, widget("w", size=7)) == denied("1 > 2")
    await running.ask("DELETE", f"{BINDINGS}/b")
    await running.ask("POST", WIDGETS, widget("b", size=7))
    await running.ask("POST", BINDINGS, binding())
    await running.ask("DELETE", f"{POLICIES}/p")
    await running.ask("POST", WIDGETS, widget("c", size=7))


async def test_policy_validates_every_write_verb(running: Live) -> None:
    await running.ask("POST", WIDGETS, widget("w", size=1))
    rule = "request.operation == 'DELETE' || object.spec.size < 5"
    await bind(running, rule)
    path, message = f"{WIDGETS}/w", denied(rule)
    big = {"spec": {"size": 9}}
    before = await running.ask("GET", path)
    assert await error_message(running, "PUT", path, {**before, **big}) == message
    assert await error_message(running, "PATCH", path, big, kind=MERGE) == message
    assert (
        await error_message(running, "PATCH", f"{path}?fieldManager=me&force=true", widget("w", size=9), kind=APPLY)
        == message
    )
    new_path = f"{WIDGETS}/w2?fieldManager=me"
    assert await error_message(running, "PATCH", new_path, widget("w2", size=9), kind=APPLY) == denied(rule, "w2")
    assert await error_message(running, "PATCH", path.replace("/v1/", "/v2/"), big, kind=MERGE) == message
    assert await error_message(running, "POST", f"{WIDGETS}?dryRun=All", widget("w", size=9)) == message
    assert await running.ask("GET", path) == before
    await running.ask("DELETE", path)


async def test_policy_validates_subresources_and_deletions(running: Live) -> None:
    await running.ask("POST", WIDGETS, widget("w", size=1))
    await bind(
        running,
        "request.operation != 'DELETE' || has(oldObject.metadata.labels)",
        "!has(request.subResource) || request.subResource != 'status' || object.status.ready",
        "!has(request.subResource) || request.subResource != 'scale' || object.spec.replicas < 3",
    )
    path = f"{WIDGETS}/w"
    assert (await error_message(running, "DELETE", path)).endswith("has(oldObject.metadata.labels)")
    assert (await error_message(running, "DELETE", WIDGETS)).startswith(f'widgets.{GROUP} "Unknown" is forbidden: ')
    status = {"status": {"ready": False}}
    assert (await error_message(running, "PATCH", f"{path}/status", status, kind=MERGE)).endswith("object.status.ready")
    await running.ask("PATCH", f"{path}/status", {"status": {"ready": True}}, kind=MERGE)
    scaled = {"spec": {"replicas": 4}}
    assert (await error_message(running, "PATCH", f"{path}/scale", scaled, kind=MERGE)).endswith(
        "object.spec.replicas < 3"
    )
    await running.ask("PATCH", f"{path}/scale", {"spec": {"replicas": 2}}, kind=MERGE)
    await running.ask("PATCH", path, {"metadata": {"labels": {"a": "b"}}}, kind=MERGE)
    await running.ask("DELETE", path)


async def test_warn_action_adds_a_warning_header(running: Live) -> None:
    await running.ask("POST", POLICIES, policy("object.spec.size < 5"))
    await running.ask("POST", BINDINGS, binding("b", "p", "Warn"))
    reply = await running.client.call("POST", WIDGETS, widget("w", size=9))
    assert reply.status == 201
    assert reply.headers[b"warning"] == (
        b"299 - \"Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b': "
        b'failed expression: object.spec.size < 5"'
    )


async def test_custom_resources_as_params(running: Live) -> None:
    await running.define(definition("limits", "Limit"))
    limits = f"/apis/{GROUP}/v1/namespaces/default/limits"
    kind = {"apiVersion": f"{GROUP}/v2", "kind": "Limit"}
    await running.ask("POST", POLICIES, policy("object.spec.size <= params.spec.size", paramKind=kind))
    ref: JsonObject = {"name": "most", "parameterNotFoundAction": "Deny"}
    await running.ask("POST", BINDINGS, binding(paramRef=ref))
    missing = await error_message(running, "POST", WIDGETS, widget("w", size=3))
    assert missing.endswith(
        "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction"
    )
    await running.ask("POST", limits, widget("most", kind="Limit", size=3))
    await running.ask("POST", WIDGETS, widget("w", size=3))
    assert await error_message(running, "POST", WIDGETS, widget("x", size=4)) == denied(
        "object.spec.size <= params.spec.size", "x"
    )
    selected = {"spec": {"paramRef": {"name": None, "selector": {"matchLabels": {"a": "b"}}}}}
    await running.ask("PATCH", f"{BINDINGS}/b", selected, kind=MERGE)
    await running.ask("PATCH", f"{limits}/most", {"metadata": {"labels": {"a": "b"}}}, kind=MERGE)
    assert await error_message(running, "POST", WIDGETS, widget("x", size=4)) == denied(
        "object.spec.size <= params.spec.size", "x"
    )
    await running.ask("DELETE", f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/limits.{GROUP}")
    await running.gone("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", f"limits.{GROUP}")
    assert (await error_message(running, "POST", WIDGETS, widget("x", size=1))).endswith(
        "denied request: failed to configure policy: failed to find resource referenced by paramKind: "
        f"'{GROUP}/v2, Kind=Limit'"
    )


async def test_policy_validates_builtin_objects(running: Live) -> None:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["namespaces"]}
    spec = {"matchConstraints": {"resourceRules": [rule]}}
    await bind(running, "object.metadata.name != 'no' && namespaceObject == null", **spec)
    await running.ask("POST", "/api/v1/namespaces", {"metadata": {"name": "yes"}})
    await running.ask("POST", "/api/v1/namespaces", {"metadata": {"name": "no"}}, expect=422)


async def test_policies_are_in_effect_after_a_restart(tmp_path: Path) -> None:
    async with live(tmp_path) as running:
        await running.define(definition())
        await bind(running, "object.spec.size < 5")
    async with live(tmp_path) as running:
        assert await error_message(running, "POST", WIDGETS, widget("w", size=7)) == denied("object.spec.size < 5")


async def test_policy_does_not_apply_to_policies_and_bindings(running: Live) -> None:
    every = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]}
    await bind(running, "false", matchConstraints={"resourceRules": [every]})
    assert await error_message(running, "POST", WIDGETS, widget("w")) == denied("false")
    await running.ask("PATCH", f"{BINDINGS}/b", {"spec": {"validationActions": ["Audit"]}}, kind=MERGE)
    await running.ask("POST", WIDGETS, widget("w"))


async def test_invalid_stored_policies_are_ignored(running: Live, caplog: pytest.LogCaptureFixture) -> None:
    await bind(running, "object.spec.size < 5")
    cache = running.server.cache.resource("", "validatingadmissionpolicies")
    broken = policy("true", name="q", matchConstraints={"objectSelector": {"matchExpressions": [{"operator": "Nope"}]}})
    for name, stored in (("q", json.dumps(broken).encode()), ("r", b'{"spec": 5, "metadata": {"name": "r"}}')):
        await running.server.store.put(cache.prefix + name, stored, expect=0)
    for name in ("q", "r"):
        assert f"admission: cannot decode stored ValidatingAdmissionPolicy {name}, ignoring it" in caplog.text
    assert await error_message(running, "POST", WIDGETS, widget("w", size=7)) == denied("object.spec.size < 5")
