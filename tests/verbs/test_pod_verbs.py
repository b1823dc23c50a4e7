"""Tests of the verbs of pods: graceful deletion, bindings, evictions, and requests that need a node."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from polykind.contract import JsonObject
from polykind.operations.operation import Operation
from polykind.operations.options import DeleteOptions
from polykind.verbs import delete
from polykind.verbs.commit import Written
from polykind.verbs.write import Existing
from tests.admission.hooks import CONFIGURATIONS, AdmissionHook, configuration
from tests.support.live import Live, live
from tests.support.permissions import allow, ask_as, live_with_users

PODS = "/api/v1/namespaces/default/pods"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
MERGE = "application/merge-patch+json"


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Live]:
    async with live(tmp_path) as server:
        yield server


def pod(name: str = "web", *, containers: tuple[str, ...] = ("app",), **spec: Any) -> JsonObject:
    listed = [{"name": container, "image": "app"} for container in containers]
    metadata = {"name": name, "labels": {"app": "web"}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": listed, **spec}}


async def message(running: Live, method: str, path: str, body: object = None, *, expect: int) -> str:
    text: str = (await running.ask(method, path, body, expect=expect))["message"]
    return text


# ---------------------------------------------------------------------- graceful deletion


async def test_pod_without_a_node_is_deleted_at_once(running: Live) -> None:
    await running.ask("POST", PODS, pod())
    deleted = await running.ask("DELETE", f"{PODS}/web")
    assert deleted["metadata"]["deletionGracePeriodSeconds"] == 0
    assert deleted["metadata"]["generation"] == 2
    await running.ask("GET", f"{PODS}/web", expect=404)


async def test_grace_period_can_only_become_shorter(running: Live) -> None:
    await running.ask("POST", PODS, pod(nodeName="n"))

    async def period(query: str = "") -> int:
        deleted = await running.ask("DELETE", f"{PODS}/web{query}")
        seconds: int = deleted["metadata"]["deletionGracePeriodSeconds"]
        return seconds

    assert await period() == 30
    assert await period("?gracePeriodSeconds=60") == 30
    assert await period("?gracePeriodSeconds=10") == 10
    assert (await running.ask("GET", f"{PODS}/web"))["metadata"]["generation"] == 2
    assert await period("?gracePeriodSeconds=0") == 0
    await running.ask("GET", f"{PODS}/web", expect=404)


async def test_node_may_remove_a_pod_before_its_forced_deletion_ends(
    running: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    await running.ask("POST", PODS, pod(nodeName="n"))
    store = running.server.store
    delete_once = store.delete

    async def delete_twice(key: str, expect: int | None = None) -> int:
        """Delete the object twice: first as the node, then for the request."""
        monkeypatch.setattr(store, "delete", delete_once)
        await delete_once(key, expect=expect)
        return await delete_once(key, expect=expect)

    monkeypatch.setattr(store, "delete", delete_twice)
    deleted = await running.ask("DELETE", f"{PODS}/web?gracePeriodSeconds=0", expect=200)
    assert (deleted["kind"], deleted["metadata"]["deletionGracePeriodSeconds"]) == ("Pod", 0)
    await running.ask("DELETE", f"{PODS}/web?gracePeriodSeconds=0", expect=404)


async def test_forced_deletion_keeps_a_new_pod_of_the_same_name(running: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    await running.ask("POST", PODS, pod(nodeName="n"))
    store, store_marked, created = running.server.store, delete._store_marked, list[JsonObject]()

    async def replace(op: Operation, old: Existing, options: DeleteOptions) -> Written:
        """Mark the pod. Then its node removes it, and a controller creates another one."""
        marked = await store_marked(op, old, options)
        await store.delete(op.resource.cache.prefix + op.key, expect=marked.cached.revision)
        async with running.another() as client:
            created.append((await client.call("POST", PODS, pod(nodeName="n"))).json())
        return marked

    monkeypatch.setattr(delete, "_store_marked", replace)
    await running.ask("DELETE", f"{PODS}/web?gracePeriodSeconds=0", expect=200)
    found = await running.ask("GET", f"{PODS}/web")
    assert found["metadata"]["uid"] == created[0]["metadata"]["uid"]


async def test_namespace_deletion_does_not_wait_for_a_kubelet(running: Live) -> None:
    await running.ask(
        "POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}}
    )
    for name in ("one", "two"):
        await running.ask("POST", "/api/v1/namespaces/n/pods", pod(name, nodeName="n"))
    await running.ask("DELETE", "/api/v1/namespaces/n/pods/one")
    await running.ask("DELETE", "/api/v1/namespaces/n")
    await running.gone("/api/v1/namespaces", "n")


# ---------------------------------------------------------------------- binding


def binding(name: str = "web", node: str = "n", **metadata: Any) -> JsonObject:
    target = {"kind": "Node", "name": node}
    return {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name, **metadata}, "target": target}


@pytest.mark.parametrize("path", [f"{PODS}/web/binding", "/api/v1/namespaces/default/bindings"])
async def test_binding_assigns_a_pod_to_a_node(running: Live, path: str) -> None:
    created = await running.ask("POST", PODS, pod())
    uid = created["metadata"]["uid"]
    status = await running.ask("POST", path, binding(annotations={"a": "1"}, labels={"b": "2"}, uid=uid), expect=201)
    assert status["status"] == "Success"
    bound = await running.ask("GET", f"{PODS}/web")
    assert bound["spec"]["nodeName"] == "n"
    assert bound["metadata"]["annotations"] == {"a": "1"}
    assert bound["metadata"]["labels"] == {"app": "web", "b": "2"}
    assert bound["metadata"]["generation"] == 1
    [condition] = bound["status"]["conditions"]
    assert (condition["type"], condition["status"]) == ("PodScheduled", "True")
    assert await message(running, "POST", path, binding(node="m"), expect=409) == (
        'Operation cannot be fulfilled on pods/binding "web": pod web is already assigned to node "n"'
    )


@pytest.mark.parametrize("path", [f"{PODS}/web/binding", "/api/v1/namespaces/default/bindings"])
async def test_mutating_webhook_sees_the_manager_of_a_binding(running: Live, path: str) -> None:
    await running.ask("POST", PODS, pod())
    rule = {"operations": ["*"], "apiGroups": [""], "apiVersions": ["*"], "resources": ["bindings", "pods/binding"]}
    async with AdmissionHook() as hook:
        webhooks = configuration("Mutating", hook.webhook_config(rules=[rule]))
        await running.ask("POST", f"{CONFIGURATIONS}/mutatingwebhookconfigurations", webhooks)
        await running.ask("POST", f"{path}?fieldManager=me", binding(), expect=201)
        (request,) = hook.requests()
    (manager,) = request["object"]["metadata"]["managedFields"]
    assert (manager["manager"], manager["fieldsV1"]) == ("me", {"f:target": {}})


async def test_uid_in_the_body_of_bindings_is_ignored(running: Live) -> None:
    await running.ask("POST", PODS, pod())
    await running.ask("POST", f"{PODS}/web/binding?dryRun=All", binding(uid="x"), expect=409)
    await running.ask("POST", "/api/v1/namespaces/default/bindings?dryRun=All", binding(uid="x"), expect=201)


async def test_binding_in_a_dry_run_changes_nothing(running: Live) -> None:
    await running.ask("POST", PODS, pod())
    await running.ask("POST", f"{PODS}/web/binding?dryRun=All", binding(), expect=201)
    assert "nodeName" not in (await running.ask("GET", f"{PODS}/web"))["spec"]


async def test_binding_checks_its_preconditions(running: Live) -> None:
    await running.ask("POST", PODS, pod())
    text = await message(running, "POST", f"{PODS}/web/binding", binding(resourceVersion="1"), expect=409)
    assert "Precondition failed: ResourceVersion in precondition: 1, ResourceVersion in object meta:" in text
    await running.ask("POST", f"{PODS}/other/binding", binding("other"), expect=404)
    text = await message(running, "POST", f"{PODS}/web/binding", {**binding(), "target": {}}, expect=500)
    assert text == "target.name: Required value"


# ---------------------------------------------------------------------- eviction


def eviction(**fields: Any) -> JsonObject:
    return {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "web"}, **fields}


async def start_pod(running: Live, *, ready: bool) -> None:
    await running.ask("POST", PODS, pod(nodeName="n"))
    condition = {"type": "Ready", "status": "True" if ready else "False"}
    status = {"status": {"phase": "Running", "conditions": [condition]}}
    await running.ask("PATCH", f"{PODS}/web/status", status, kind=MERGE)


async def create_budget(running: Live, status: JsonObject, **spec: Any) -> None:
    selector = {"matchLabels": {"app": "web"}}
    budget = {"metadata": {"name": "budget"}, "spec": {"minAvailable": 1, "selector": selector, **spec}}
    await running.ask("POST", BUDGETS, {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", **budget})
    await running.ask("PATCH", f"{BUDGETS}/budget/status", {"status": status}, kind=MERGE)


async def test_eviction_without_a_budget_deletes_the_pod(running: Live) -> None:
    await start_pod(running, ready=True)
    await running.ask("POST", f"{PODS}/web/eviction?dryRun=All", eviction(), expect=201)
    assert "deletionTimestamp" not in (await running.ask("GET", f"{PODS}/web"))["metadata"]
    await running.ask("POST", f"{PODS}/web/eviction", eviction(), expect=201)
    evicted = await running.ask("GET", f"{PODS}/web")
    assert evicted["metadata"]["deletionGracePeriodSeconds"] == 30
    assert [item["type"] for item in evicted["status"]["conditions"]] == ["Ready", "DisruptionTarget"]
    options = {"gracePeriodSeconds": 0, "preconditions": {"uid": "other"}}
    await running.ask("POST", f"{PODS}/web/eviction", eviction(deleteOptions=options), expect=409)
    await running.ask("POST", f"{PODS}/web/eviction", eviction(deleteOptions={"gracePeriodSeconds": 0}), expect=201)
    await running.ask("GET", f"{PODS}/web", expect=404)


async def test_eviction_of_a_pending_pod_checks_the_uid(running: Live) -> None:
    await running.ask("POST", PODS, pod())
    options = {"preconditions": {"uid": "other"}}
    rejected = await running.ask("POST", f"{PODS}/web/eviction", eviction(deleteOptions=options), expect=409)
    assert "the UID in the precondition (other) does not match the UID in record" in rejected["message"]


async def test_eviction_uses_up_the_budget(running: Live) -> None:
    await start_pod(running, ready=True)
    healthy = {"disruptionsAllowed": 1, "currentHealthy": 2, "desiredHealthy": 1, "expectedPods": 2}
    await create_budget(running, {**healthy, "observedGeneration": 0})
    rejected = await running.ask("POST", f"{PODS}/web/eviction", eviction(), expect=429)
    assert rejected["details"] == {
        "causes": [
            {
                "reason": "DisruptionBudget",
                "message": "The disruption budget budget is still being processed by the server.",
            }
        ],
        "retryAfterSeconds": 10,
    }
    await running.ask("PATCH", f"{BUDGETS}/budget/status", {"status": {"observedGeneration": 1}}, kind=MERGE)
    await running.ask("POST", f"{PODS}/web/eviction", eviction(), expect=201)
    status = (await running.ask("GET", f"{BUDGETS}/budget"))["status"]
    assert status["disruptionsAllowed"] == 0
    assert list(status["disruptedPods"]) == ["web"]
    assert status["conditions"][0]["reason"] == "InsufficientPods"


@pytest.mark.parametrize(
    ("ready", "current", "policy", "code"),
    [(True, 1, None, 429), (False, 1, None, 201), (False, 0, None, 429), (False, 0, "AlwaysAllow", 201)],
)
async def test_budgets_may_not_protect_unready_pods(
    running: Live, ready: bool, current: int, policy: str | None, code: int
) -> None:
    await start_pod(running, ready=ready)
    spec = {} if policy is None else {"unhealthyPodEvictionPolicy": policy}
    counts = {"disruptionsAllowed": 0, "currentHealthy": current, "desiredHealthy": 1, "expectedPods": 1}
    await create_budget(running, {**counts, "observedGeneration": 1}, **spec)
    reply = await running.ask("POST", f"{PODS}/web/eviction", eviction(), expect=code)
    if code == 429:
        cause = reply["details"]["causes"][0]["message"]
        assert cause == f"The disruption budget budget needs 1 healthy pods and has {current} currently"


# ---------------------------------------------------------------------- requests that need a node


@pytest.mark.parametrize(
    ("path", "code", "text"),
    [
        ("web/log?container=none", 400, "container none is not valid for pod web"),
        ("web/log?tailLines=-1", 422, None),
        ("two/log", 400, "a container name must be specified for pod two, choose one of: [a b]"),
        ("placed/log", 404, 'pods "missing" not found'),
        ("web/exec?command=ls", 400, "pod web does not have a host assigned"),
        ("web/portforward?ports=x", 400, None),
        ("web/proxy/path", 400, "address not allowed"),
        ("ftp:web:80/proxy", 400, 'invalid pod request "ftp:web:80"'),
    ],
)
async def test_pod_without_a_node_cannot_be_reached(running: Live, path: str, code: int, text: str | None) -> None:
    for body in (pod(), pod("two", containers=("a", "b")), pod("placed", nodeName="missing")):
        await running.ask("POST", PODS, body)
    found = await message(running, "GET", f"{PODS}/{path}", expect=code)
    assert text is None or found == text


async def test_pod_without_a_node_has_an_empty_log(running: Live) -> None:
    await running.ask("POST", PODS, pod())
    assert await running.ask("GET", f"{PODS}/web/log", expect=204) == b""


async def test_kubelet_does_not_answer(running: Live) -> None:
    await running.ask("POST", PODS, pod(nodeName="n"))
    await running.ask("POST", "/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}})
    text = await message(running, "GET", f"{PODS}/web/log", expect=500)
    assert text == "no preferred addresses found; known addresses: []"
    addresses = {"status": {"addresses": [{"type": "InternalIP", "address": "10.1.2.3"}]}}
    await running.ask("PATCH", "/api/v1/nodes/n/status", addresses, kind=MERGE)
    text = await message(running, "GET", f"{PODS}/web/log", expect=500)
    assert text.endswith("dial tcp 10.1.2.3:10250: connect: connection refused")
    assert await message(running, "GET", f"{PODS}/web/exec", expect=400) == "Upgrade request required"
    await running.ask("GET", "/api/v1/nodes/n/proxy/metrics", expect=503)


async def test_log_of_a_pod_on_a_node_with_an_invalid_name(running: Live) -> None:
    await running.ask("POST", PODS, pod())
    await running.ask("POST", f"{PODS}/web/binding", binding(node="a/b"))
    text = await message(running, "GET", f"{PODS}/web/log", expect=400)
    assert text == """Name parameter invalid: "a/b": may not contain '/'"""


async def test_service_without_endpoints_cannot_be_reached(running: Live) -> None:
    services = "/api/v1/namespaces/default/services"
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}}
    await running.ask("POST", services, service)
    assert await message(running, "GET", f"{services}/s:81/proxy/", expect=503) == (
        'no service port 81 found for service "s"'
    )
    await running.ask("GET", f"{services}/s/proxy/", expect=404)
    endpoints = {"apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": "s"}}
    await running.ask("POST", "/api/v1/namespaces/default/endpoints", endpoints)
    assert await message(running, "GET", f"{services}/s:80/proxy/", expect=503) == (
        'no endpoints available for service "s"'
    )


# ---------------------------------------------------------------------- permissions of streams


@pytest.mark.parametrize("subresource", ["exec?command=ls&stdout=1", "attach", "portforward"])
async def test_stream_that_begins_with_get_needs_the_verb_create(tmp_path: Path, subresource: str) -> None:
    resource, path = f"pods/{subresource.partition('?')[0]}", f"{PODS}/web/{subresource}"
    async with live_with_users(tmp_path, "reader", "runner") as running:
        await allow(running, "reader", "", resource, "get")
        await allow(running, "runner", "", resource, "get", "create")
        rejected = await ask_as(running, "reader", "GET", path, expect=403)
        assert rejected["message"] == 'pods "web" is forbidden: '
        await ask_as(running, "runner", "GET", path, expect=404)


# ---------------------------------------------------------------------- privileged containers


def privileged(at: str, context: JsonObject) -> JsonObject:
    """Return a pod spec with a security context in the list `at` of its containers."""
    spec = pod()["spec"]
    return {
        **spec,
        at: [{"name": "app" if at == "containers" else "other", "image": "app", "securityContext": context}],
    }


WORKLOAD = {"selector": {"matchLabels": {"app": "web"}}}
LABELS = {"labels": {"app": "web"}}
ONCE = {"restartPolicy": "Never"}


def templated(spec: JsonObject) -> JsonObject:
    return {"metadata": LABELS, "spec": spec}


APPS, BATCH = "/apis/apps/v1/namespaces/default", "/apis/batch/v1/namespaces/default"


@pytest.mark.parametrize(
    ("path", "field", "body"),
    [
        (PODS, "spec", lambda spec: spec),
        (f"{APPS}/deployments", "spec.template.spec", lambda spec: {**WORKLOAD, "template": templated(spec)}),
        (f"{APPS}/daemonsets", "spec.template.spec", lambda spec: {**WORKLOAD, "template": templated(spec)}),
        (f"{BATCH}/jobs", "spec.template.spec", lambda spec: {"template": templated({**spec, **ONCE})}),
    ],
)
async def test_privileged_containers_need_the_flag(running: Live, path: str, field: str, body: Any) -> None:
    for at in ("containers", "initContainers"):
        spec = body(privileged(at, {"privileged": True, "runAsUser": -1}))
        refused = await running.ask("POST", path, {"metadata": {"name": "web"}, "spec": spec}, expect=422)
        assert [(cause["field"], cause["reason"]) for cause in refused["details"]["causes"]] == [
            (f"{field}.{at}[0].securityContext.privileged", "FieldValueForbidden"),
            (f"{field}.{at}[0].securityContext.runAsUser", "FieldValueInvalid"),
        ]
        assert "securityContext.privileged: Forbidden: disallowed by cluster policy" in refused["message"]


async def test_privileged_containers_are_allowed_by_the_flag(tmp_path: Path) -> None:
    async with live(tmp_path, allow_privileged=True) as running:
        spec = privileged("containers", {"privileged": True})
        await running.ask("POST", PODS, {"metadata": {"name": "web"}, "spec": spec})
        await running.ask("PATCH", f"{PODS}/web", {"metadata": {"labels": {"a": "b"}}}, kind=MERGE)
        spec["containers"][0]["securityContext"]["runAsUser"] = -1
        refused = await running.ask("POST", PODS, {"metadata": {"name": "x"}, "spec": spec}, expect=422)
        assert [cause["field"] for cause in refused["details"]["causes"]] == [
            "spec.containers[0].securityContext.runAsUser"
        ]


async def test_host_process_containers_need_the_flag(running: Live) -> None:
    spec = {**pod()["spec"], "hostNetwork": True, "os": {"name": "windows"}}
    spec["securityContext"] = {"windowsOptions": {"hostProcess": True}}
    text = await message(running, "POST", PODS, {"metadata": {"name": "web"}, "spec": spec}, expect=422)
    assert text == 'Pod "web" is invalid: spec: Forbidden: hostProcess containers are disallowed by cluster policy'


async def test_ephemeral_containers_are_not_privileged(running: Live) -> None:
    await running.ask("POST", PODS, pod())
    debugger = {"name": "d", "image": "i", "securityContext": {"privileged": True}}
    patch = {"spec": {"ephemeralContainers": [debugger]}}
    path = f"{PODS}/web/ephemeralcontainers"
    text = (await running.ask("PATCH", path, patch, kind=MERGE, expect=422))["message"]
    assert "ephemeralContainers[0].securityContext.privileged: Forbidden: disallowed by cluster policy" in text
