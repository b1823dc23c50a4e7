"""The official Python client and kubernetes_asyncio work unchanged on built-in kinds."""

from __future__ import annotations

import importlib
import json
import re
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from kubernetes.client.exceptions import ApiException

from tests.support.builtin_objects import CLUSTER_SCOPED, KINDS, builtin_object
from tests.support.kubernetes_client import client, config, watch
from tests.support.server import ServerProcess

APIS = {
    "Pod": "CoreV1Api",
    "ConfigMap": "CoreV1Api",
    "Secret": "CoreV1Api",
    "Node": "CoreV1Api",
    "Event": "CoreV1Api",
    "Deployment": "AppsV1Api",
    "Job": "BatchV1Api",
    "Lease": "CoordinationV1Api",
    "CertificateSigningRequest": "CertificatesV1Api",
}


@pytest.fixture
def api(server: ServerProcess) -> Iterator[Any]:
    with config.new_client_from_config(str(server.kubeconfig)) as connected:
        yield connected


@pytest.fixture
def core(api: Any) -> Any:
    return client.CoreV1Api(api)


@pytest.fixture
def namespace(core: Any, group: str) -> Iterator[str]:
    """A namespace of the test's own."""
    name = group.replace(".", "-")
    core.create_namespace({"metadata": {"name": name}})
    yield name
    core.delete_namespace(name)


def _method(api: Any, verb: str, kind: str) -> Any:
    """Return the generated method of a client for a verb and a kind, such as create_namespaced_pod."""
    snake = re.sub(r"(?<!^)(?=[A-Z])", "_", kind).lower()
    return getattr(api, f"{verb}_{snake}" if kind in CLUSTER_SCOPED else f"{verb}_namespaced_{snake}")


def _scope(kind: str, namespace: str) -> dict[str, str]:
    return {} if kind in CLUSTER_SCOPED else {"namespace": namespace}


@pytest.mark.parametrize("kind", KINDS)
def test_typed_objects_are_created_changed_listed_and_deleted(api: Any, namespace: str, kind: str) -> None:
    typed, scope = getattr(client, APIS[kind])(api), _scope(kind, namespace)
    made = _method(typed, "create", kind)(body=builtin_object(kind, namespace), **scope)
    assert made.metadata.uid
    patched = _method(typed, "patch", kind)(namespace, body={"metadata": {"labels": {"x": namespace}}}, **scope)
    patched.metadata.annotations = {"note": "replaced"}
    replaced = _method(typed, "replace", kind)(namespace, body=patched, **scope)
    assert replaced.metadata.annotations == {"note": "replaced"}
    with pytest.raises(ApiException) as stale:
        _method(typed, "replace", kind)(namespace, body=patched, **scope)
    assert stale.value.status == 409
    listed = _method(typed, "list", kind)(label_selector=f"x={namespace}", **scope)
    assert [item.metadata.name for item in listed.items] == [namespace]
    _method(typed, "delete", kind)(namespace, propagation_policy="Background", grace_period_seconds=0, **scope)
    with pytest.raises(ApiException) as gone:
        _method(typed, "read", kind)(namespace, **scope)
    assert gone.value.status == 404


@pytest.mark.parametrize("kind", KINDS)
async def test_asyncio_client_creates_watches_and_deletes(server: ServerProcess, namespace: str, kind: str) -> None:
    aio: Any = importlib.import_module("kubernetes_asyncio")
    settings = aio.client.Configuration()
    await aio.config.load_kube_config(str(server.kubeconfig), client_configuration=settings)
    async with aio.client.ApiClient(settings) as connected:
        typed, scope = getattr(aio.client, APIS[kind])(connected), _scope(kind, namespace)
        made = await _method(typed, "create", kind)(body=builtin_object(kind, namespace), **scope)
        await _method(typed, "delete", kind)(
            namespace, propagation_policy="Background", grace_period_seconds=0, **scope
        )
        seen = []
        async with aio.watch.Watch() as watching:
            selected = {"field_selector": f"metadata.name={namespace}", "timeout_seconds": 20, **scope}
            begin = made.metadata.resource_version
            async for event in watching.stream(_method(typed, "list", kind), resource_version=begin, **selected):
                seen.append((event["type"], event["object"].metadata.uid))
                if event["type"] == "DELETED":
                    break
    assert seen[-1] == ("DELETED", made.metadata.uid)


def test_watch_with_a_selector_reports_objects_that_leave_it(core: Any, namespace: str) -> None:
    body = builtin_object("ConfigMap", namespace)
    body["metadata"]["labels"] = {"watched": "yes"}
    begin = core.create_namespaced_config_map(namespace, body).metadata.resource_version
    core.patch_namespaced_config_map(namespace, namespace, {"data": {"a": "c"}})
    core.patch_namespaced_config_map(namespace, namespace, {"metadata": {"labels": {"watched": "no"}}})
    core.patch_namespaced_config_map(namespace, namespace, {"data": {"a": "d"}})
    core.patch_namespaced_config_map(namespace, namespace, {"metadata": {"labels": {"watched": "yes"}}})
    stream = watch.Watch().stream(
        core.list_namespaced_config_map,
        namespace,
        label_selector="watched=yes",
        resource_version=begin,
        timeout_seconds=20,
    )
    seen = [(event["type"], event["object"].data["a"]) for _, event in zip(range(3), stream, strict=False)]
    assert seen == [("MODIFIED", "c"), ("DELETED", "c"), ("ADDED", "d")]


def test_informer_keeps_its_cache_current(core: Any, namespace: str) -> None:
    informer = pytest.importorskip("kubernetes.informer")
    shared = informer.SharedInformer(core.list_namespaced_secret, namespace=namespace)
    added, deleted = threading.Event(), threading.Event()
    shared.add_event_handler("ADDED", lambda _: added.set())
    shared.add_event_handler("DELETED", lambda _: deleted.set())
    core.create_namespaced_secret(namespace, builtin_object("Secret", namespace))
    shared.start()
    try:
        assert added.wait(30)
        core.delete_namespaced_secret(namespace, namespace)
        assert deleted.wait(30)
        assert shared.cache.list() == []
    finally:
        shared.stop()


def test_leader_election_with_leases(api: Any, namespace: str) -> None:
    locks = pytest.importorskip("kubernetes.leaderelection.resourcelock.leaselock")
    elections: Any = importlib.import_module("kubernetes.leaderelection.leaderelection")
    configs: Any = importlib.import_module("kubernetes.leaderelection.electionconfig")

    def candidate(identity: str) -> Any:
        lock = locks.LeaseLock("leader", namespace, identity)
        lock.api_instance = client.CoordinationV1Api(api)
        return elections.LeaderElection(configs.Config(lock, 600, 60, 5, lambda: None, None))

    first, second = candidate("first"), candidate("second")
    assert first.try_acquire_or_renew()
    assert not second.try_acquire_or_renew()
    assert first.try_acquire_or_renew()
    lease = client.CoordinationV1Api(api).read_namespaced_lease("leader", namespace)
    assert lease.spec.holder_identity == "first"
    assert lease.spec.acquire_time < lease.spec.renew_time


def test_events_of_both_groups_are_the_same_objects(api: Any, core: Any, namespace: str) -> None:
    events = client.EventsV1Api(api)
    pod = {"apiVersion": "v1", "kind": "Pod", "name": "web", "namespace": namespace}
    body = {
        "metadata": {"name": "web.1"},
        "eventTime": "2024-01-01T00:00:00.000001Z",
        "reportingController": "example.com/robot",
        "reportingInstance": "robot-1",
        "action": "Start",
        "reason": "Started",
        "regarding": pod,
        "note": "Started the container",
        "type": "Normal",
    }
    events.create_namespaced_event(namespace, body)
    found = core.list_namespaced_event(namespace, field_selector="involvedObject.name=web").items
    assert [(event.message, event.reporting_component) for event in found] == [
        ("Started the container", "example.com/robot")
    ]
    core.create_namespaced_event(namespace, builtin_object("Event", namespace))
    # The typed client refuses `eventTime: null`, which kube-apiserver also returns for such an event.
    raw = events.read_namespaced_event(namespace, namespace, _preload_content=False)
    found = json.loads(raw.data)
    assert (found["note"], found["regarding"]["kind"]) == ("Started", "Pod")
    with pytest.raises(ApiException) as refused:
        events.create_namespaced_event(namespace, {**body, "metadata": {"name": "web.2"}, "action": ""})
    assert json.loads(refused.value.body or "")["details"]["causes"][0]["field"] == "action"
