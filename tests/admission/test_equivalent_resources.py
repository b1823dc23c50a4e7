"""Resources that serve the same objects: a rule for one matches requests for the others with matchPolicy Equivalent."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from polykind.contract import JsonObject
from tests.admission.hooks import CONFIGURATIONS, AdmissionHook, add, configuration, patching
from tests.support.live import Live, live
from tests.support.widgets import GROUP, definition

CORE = "/api/v1/namespaces/default/events"
EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"
AUTOSCALERS = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"
POD = {"kind": "Pod", "namespace": "default", "name": "p"}
CORE_EVENT = {"metadata": {"name": "e"}, "involvedObject": POD, "reason": "r", "message": "m", "type": "Normal"}
EVENT = {
    "metadata": {"name": "e"},
    "regarding": POD,
    "reason": "r",
    "note": "m",
    "type": "Normal",
    "eventTime": "2020-01-01T00:00:00.000000Z",
    "reportingController": "x.io/c",
    "reportingInstance": "i",
    "action": "a",
}
AUTOSCALER = {
    "metadata": {"name": "h"},
    "spec": {"maxReplicas": 3, "scaleTargetRef": {"kind": "D", "name": "x", "apiVersion": "a/v1"}},
}


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Live]:
    async with live(tmp_path) as running:
        yield running


@pytest.mark.parametrize(
    ("group", "plural", "subresource", "equivalents"),
    [
        ("", "events", "", {"v1", "events.k8s.io/v1"}),
        ("events.k8s.io", "events", "", {"v1", "events.k8s.io/v1"}),
        ("autoscaling", "horizontalpodautoscalers", "", {"autoscaling/v1", "autoscaling/v2"}),
        ("autoscaling", "horizontalpodautoscalers", "status", {"autoscaling/v1", "autoscaling/v2"}),
        ("", "pods", "", {"v1"}),
        ("", "replicationcontrollers", "scale", {"v1"}),
        ("apps", "deployments", "", {"apps/v1"}),
        ("apps", "deployments", "scale", {"apps/v1"}),
        ("apps", "daemonsets", "status", {"apps/v1"}),
        ("apps", "replicasets", "scale", {"apps/v1"}),
        ("networking.k8s.io", "ingresses", "", {"networking.k8s.io/v1"}),
        ("networking.k8s.io", "networkpolicies", "", {"networking.k8s.io/v1"}),
        ("policy", "poddisruptionbudgets", "", {"policy/v1"}),
        ("flowcontrol.apiserver.k8s.io", "flowschemas", "", {"flowcontrol.apiserver.k8s.io/v1"}),
        ("resource.k8s.io", "resourceclaims", "status", {"resource.k8s.io/v1"}),
        (GROUP, "widgets", "", {f"{GROUP}/v1", f"{GROUP}/v2"}),
        (GROUP, "widgets", "status", {f"{GROUP}/v1", f"{GROUP}/v2"}),
        (GROUP, "widgets", "scale", {f"{GROUP}/v2"}),
        (GROUP, "events", "", {f"{GROUP}/v1", f"{GROUP}/v2"}),
    ],
)
async def test_equivalents(running: Live, group: str, plural: str, subresource: str, equivalents: set[str]) -> None:
    if group == GROUP:
        crd = definition(plural)
        scale = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}
        crd["spec"]["versions"][1]["subresources"]["scale"] = scale
        await running.define(crd)
    registry = running.server.registry
    resource = registry.resource(group, plural)
    assert resource is not None
    assert set(registry.equivalents(resource, subresource)) == equivalents


async def test_version_that_is_turned_off_is_not_equivalent(tmp_path: Path) -> None:
    async with live(tmp_path, runtime_config={"events.k8s.io/v1": "false"}) as running:
        events = running.server.registry.resource("", "events")
        assert events is not None
        assert running.server.registry.equivalents(events, "") == ("v1",)


async def configure_policy(
    running: Live, group: str, resource: str, match_policy: str = "Equivalent", **more: Any
) -> None:
    """Create a policy with a binding that matches creates of a resource at version v1."""
    kind = "mutating" if "mutations" in more else "validating"
    rule = {"apiGroups": [group], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": [resource]}
    match = {"matchPolicy": match_policy, "resourceRules": [rule]}
    spec = {"matchConstraints": match, **more}
    bound: JsonObject = {"policyName": "p", **({"validationActions": ["Deny"]} if kind == "validating" else {})}
    for plural, body in ((f"{kind}admissionpolicies", spec), (f"{kind}admissionpolicybindings", bound)):
        await running.ask("POST", f"{CONFIGURATIONS}/{plural}", {"metadata": {"name": "p"}, "spec": body})


@pytest.mark.parametrize(
    ("group", "field", "path", "body", "seen"),
    [
        ("", "message", EVENTS, EVENT, "||events.k8s.io|v1"),
        ("events.k8s.io", "note", CORE, CORE_EVENT, "events.k8s.io|events.k8s.io||events.k8s.io/v1"),
    ],
)
async def test_policy_on_one_group_matches_events_of_the_other(
    running: Live, group: str, field: str, path: str, body: JsonObject, seen: str
) -> None:
    parts = ("request.resource.group", "request.kind.group", "request.requestKind.group", "object.apiVersion")
    validation = {"expression": f"object.{field} != 'm'", "messageExpression": " + '|' + ".join(parts)}
    await configure_policy(running, group, "events", validations=[validation])
    denied = await running.ask("POST", path, body, expect=422)
    assert denied["message"].endswith(f"denied request: {seen}")


async def test_exact_policy_matches_only_its_own_group(running: Live) -> None:
    await configure_policy(running, "", "events", "Exact", validations=[{"expression": "false"}])
    await running.ask("POST", EVENTS, EVENT, expect=201)
    await running.ask("POST", CORE, CORE_EVENT, expect=422)


@pytest.mark.parametrize(
    ("group", "field", "path", "body"), [("", "message", EVENTS, EVENT), ("events.k8s.io", "note", CORE, CORE_EVENT)]
)
async def test_webhook_on_one_group_changes_events_of_the_other(
    running: Live, hook: AdmissionHook, group: str, field: str, path: str, body: JsonObject
) -> None:
    hook.behaviour = patching(add(f"/{field}", "changed"))
    rule = {"operations": ["CREATE"], "apiGroups": [group], "apiVersions": ["v1"], "resources": ["events"]}
    webhook = hook.webhook_config(rules=[rule])
    path_of_hooks = f"{CONFIGURATIONS}/mutatingwebhookconfigurations"
    await running.ask("POST", path_of_hooks, configuration("Mutating", webhook))
    created = await running.ask("POST", path, body)
    assert created.get("message", created.get("note")) == "changed"
    (review,) = hook.requests()
    other = "events.k8s.io" if group == "" else ""
    assert [review[name]["group"] for name in ("kind", "resource")] == [group] * 2
    assert [review[name]["group"] for name in ("requestKind", "requestResource")] == [other] * 2
    assert review["object"][field] == "m"


@pytest.mark.parametrize(
    ("group", "resource", "path", "body", "reason"),
    [
        (
            *("", "events", EVENTS, EVENT),
            'v1.Event is not suitable for converting to "events.k8s.io/v1" in scheme '
            '"pkg/api/legacyscheme/scheme.go:30"',
        ),
        (
            *("autoscaling", "horizontalpodautoscalers", AUTOSCALERS, AUTOSCALER),
            "converting (v1.HorizontalPodAutoscaler) to (v2.HorizontalPodAutoscaler): unknown conversion",
        ),
    ],
)
@pytest.mark.parametrize("failure_policy", ["Fail", "Ignore"])
async def test_mutating_policy_cannot_change_built_in_objects_of_another_version(
    running: Live, group: str, resource: str, path: str, body: JsonObject, reason: str, failure_policy: str
) -> None:
    expression = "[JSONPatch{op: 'add', path: '/metadata/labels', value: {'a': 'b'}}]"
    patch = {"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}
    fields: JsonObject = {"failurePolicy": failure_policy, "reinvocationPolicy": "Never", "mutations": [patch]}
    await configure_policy(running, group, resource, **fields)
    if failure_policy == "Ignore":
        assert "labels" not in (await running.ask("POST", path, body))["metadata"]
    else:
        denied = await running.ask("POST", path, body, expect=403)
        assert denied["message"] == f"policy 'p' with binding 'p' denied request: {reason}"
