"""Admission of exec, attach, portforward and proxy requests."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from polykind.contract import JsonObject
from tests.admission.hooks import CONFIGURATIONS, AdmissionHook, add, configuration, patching, refuse
from tests.admission.support import binding, policy
from tests.support.live import Live, live

NAMESPACE = "/api/v1/namespaces/default"
PODS = f"{NAMESPACE}/pods"
RULE = {"operations": ["CONNECT"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["*/*"]}


@pytest.fixture
async def hook() -> AsyncIterator[AdmissionHook]:
    async with AdmissionHook() as running:
        yield running


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Live]:
    async with live(tmp_path) as server:
        containers = [{"name": name, "image": "app"} for name in ("a", "b")]
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": {"containers": containers}}
        await server.ask("POST", PODS, pod)
        yield server


async def configure(running: Live, hook: AdmissionHook, kind: str, **more: Any) -> None:
    path = f"{CONFIGURATIONS}/{kind.lower()}webhookconfigurations"
    await running.ask("POST", path, configuration(kind, hook.webhook_config(**{"rules": [RULE], **more})))


async def message(running: Live, path: str, *, expect: int = 400, method: str = "GET") -> str:
    text: str = (await running.ask(method, path, expect=expect))["message"]
    return text


@pytest.mark.parametrize(
    ("path", "options"),
    [
        (
            f"{PODS}/web/exec?command=ls&command=-l&stdin=true&stdout=0&container=a",
            {"kind": "PodExecOptions", "stdin": True, "container": "a", "command": ["ls", "-l"]},
        ),
        (f"{PODS}/web/exec", {"kind": "PodExecOptions", "command": None}),
        (f"{PODS}/web/attach?tty=1", {"kind": "PodAttachOptions", "tty": True}),
        (f"{PODS}/web/portforward?ports=80&ports=81,82", {"kind": "PodPortForwardOptions", "ports": [80, 81, 82]}),
        (f"{PODS}/web/proxy", {"kind": "PodProxyOptions"}),
        (f"{PODS}/web/proxy/", {"kind": "PodProxyOptions", "path": "/"}),
        (f"{PODS}/web/proxy/a//b%20/?path=x", {"kind": "PodProxyOptions", "path": "/a//b /"}),
        (f"{NAMESPACE}/services/s/proxy/x", {"kind": "ServiceProxyOptions", "path": "/x"}),
        ("/api/v1/nodes/n/proxy/x", {"kind": "NodeProxyOptions", "path": "/x"}),
    ],
)
async def test_webhook_sees_the_options(running: Live, hook: AdmissionHook, path: str, options: JsonObject) -> None:
    await configure(running, hook, "Validating")
    await running.client.call("GET", path)
    (request,) = hook.requests()
    assert request["object"] == {"apiVersion": "v1", **options}
    assert request["kind"]["kind"] == options["kind"]
    assert (request["operation"], request["options"], request["oldObject"]) == ("CONNECT", None, None)


async def test_webhook_denies_before_the_pod_is_read(running: Live, hook: AdmissionHook) -> None:
    hook.behaviour = refuse
    await configure(running, hook, "Validating")
    text = await message(running, f"{PODS}/missing/exec", expect=403)
    assert text.startswith('admission webhook "one.example.com" denied the request')


async def test_mutating_webhook_changes_the_options(running: Live, hook: AdmissionHook) -> None:
    hook.behaviour = patching(add("/container", "c"))
    await configure(running, hook, "Mutating")
    assert await message(running, f"{PODS}/web/exec?container=a") == "container c is not valid for pod web"


async def test_mutating_webhook_cannot_change_the_kind(running: Live, hook: AdmissionHook) -> None:
    hook.behaviour = patching(add("/kind", "Pod"))
    await configure(running, hook, "Mutating")
    text = await message(running, f"{PODS}/web/exec", expect=500)
    assert text == "converting (v1.Pod) to (core.PodExecOptions): unknown conversion"


async def test_object_selector_never_matches_options(running: Live, hook: AdmissionHook) -> None:
    absent = {"matchExpressions": [{"key": "x", "operator": "DoesNotExist"}]}
    await configure(running, hook, "Validating", objectSelector=absent)
    await message(running, f"{PODS}/web/exec")
    assert hook.requests() == []


async def test_policy_applies(running: Live) -> None:
    denies = policy("object.command != ['sh']", matchConstraints={"resourceRules": [RULE]})
    await running.ask("POST", f"{CONFIGURATIONS}/validatingadmissionpolicies", denies)
    await running.ask("POST", f"{CONFIGURATIONS}/validatingadmissionpolicybindings", binding())
    assert "denied request" in await message(running, f"{PODS}/web/exec?command=sh", expect=422)
    assert "container name" in await message(running, f"{PODS}/web/exec?command=ls")


@pytest.mark.parametrize(
    ("mutation", "code", "text"),
    [
        (
            {
                "patchType": "JSONPatch",
                "jsonPatch": {"expression": "[JSONPatch{op: 'add', path: '/container', value: 'c'}]"},
            },
            400,
            "container c is not valid for pod web",
        ),
        (
            {"patchType": "JSONPatch", "jsonPatch": {"expression": "[JSONPatch{op: 'add', path: '/x', value: 1}]"}},
            500,
            'Internal error occurred: strict decoding error: unknown field "x"',
        ),
        (
            {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "Object{stdin: true}"}},
            403,
            "policy 'p' with binding 'b' denied request: error applying patch: failed to convert patch object to typed "
            "object: no corresponding type for /v1, Kind=PodExecOptions",
        ),
    ],
)
async def test_mutating_policy_applies(running: Live, mutation: JsonObject, code: int, text: str) -> None:
    spec = {
        "failurePolicy": "Fail",
        "reinvocationPolicy": "Never",
        "matchConstraints": {"resourceRules": [RULE]},
        "mutations": [mutation],
    }
    await running.ask("POST", f"{CONFIGURATIONS}/mutatingadmissionpolicies", {"metadata": {"name": "p"}, "spec": spec})
    await running.ask(
        "POST",
        f"{CONFIGURATIONS}/mutatingadmissionpolicybindings",
        {"metadata": {"name": "b"}, "spec": {"policyName": "p"}},
    )
    assert await message(running, f"{PODS}/web/exec", expect=code) == text


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("exec?dryRun=", "dryRun is not supported"),
        ("proxy?dryRun=All", "dryRun is not supported"),
        (
            "portforward?ports=80,65536",
            'cannot convert to []int32: strconv.ParseUint: parsing "65536": value out of range',
        ),
        ("portforward?ports=-1", 'cannot convert to []int32: strconv.ParseUint: parsing "-1": invalid syntax'),
    ],
)
async def test_invalid_options_are_rejected_before_admission(
    running: Live, hook: AdmissionHook, path: str, text: str
) -> None:
    await configure(running, hook, "Validating")
    assert await message(running, f"{PODS}/web/{path}") == text
    assert hook.requests() == []
