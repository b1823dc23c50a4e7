"""kubectl creates, changes and describes built-in objects: configuration, pods, nodes, quotas and tokens."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from polykind.contract import JsonObject
from tests.support.kubectl import Kubectl, Outcome

Run = Callable[..., Outcome]


@pytest.fixture
def namespace(kubectl: Kubectl, group: str) -> Iterator[str]:
    """A namespace of the test's own."""
    name = group.replace(".", "-")
    kubectl("create", "namespace", name)
    yield name
    kubectl("delete", "namespace", name, "--wait=false")


@pytest.fixture
def run(kubectl: Kubectl, namespace: str) -> Run:
    """Run kubectl in the namespace."""
    return lambda *args, **options: kubectl("-n", namespace, *args, **options)


@pytest.fixture
def get(run: Run) -> Callable[..., Any]:
    """Read an object in the namespace."""
    return lambda *args: json.loads(run("get", *args, "-o", "json").out)


@pytest.fixture
def node(kubectl: Kubectl, namespace: str) -> Iterator[str]:
    """A Node with the namespace's name."""
    kubectl(
        "create", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "Node", "metadata": {"name": namespace}})
    )
    yield namespace
    kubectl("delete", "node", namespace)


def _pod(name: str, **spec: Any) -> str:
    containers = [{"name": "c", "image": "nginx"}]
    metadata = {"name": name, "labels": {"app": "web"}}
    return json.dumps(
        {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": containers, **spec}}
    )


def _config_map(**data: str) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": data})


@pytest.mark.parametrize(
    ("args", "path", "expected"),
    [
        (["configmap", "x", "--from-literal=a=1"], ["data"], {"a": "1"}),
        (["secret", "generic", "x", "--from-literal=a=1"], ["data"], {"a": "MQ=="}),
        (["serviceaccount", "x"], ["metadata", "name"], "x"),
        (["quota", "x", "--hard=pods=2"], ["spec"], {"hard": {"pods": "2"}}),
        (["ingress", "x", "--rule=a.example/x=web:80"], ["spec", "rules", 0, "host"], "a.example"),
        (["poddisruptionbudget", "x", "--selector=app=web", "--min-available=50%"], ["spec", "minAvailable"], "50%"),
        (["role", "x", "--verb=get", "--resource=pods"], ["rules", 0, "resources"], ["pods"]),
        (["service", "clusterip", "x", "--tcp=80:8080"], ["spec", "ports", 0, "targetPort"], 8080),
    ],
    ids=lambda value: value[0] if isinstance(value, list) and isinstance(value[0], str) else "",
)
def test_objects_are_created_and_described(
    run: Run, get: Callable[..., Any], args: list[str], path: list[str | int], expected: object
) -> None:
    run("create", *args)
    found = get(args[0], "x")
    for key in path:
        found = found[key]
    assert found == expected
    assert run("describe", args[0], "x").rows[0][0].startswith("Name:")


def test_priority_class_gives_pods_their_priority(run: Run, get: Callable[..., Any], namespace: str) -> None:
    run("create", "priorityclass", namespace, "--value=7")
    run("create", "-f", "-", stdin=_pod("web", priorityClassName=namespace))
    assert get("pod", "web")["spec"]["priority"] == 7
    run("delete", "priorityclass", namespace)


def test_quota_limits_the_number_of_objects(run: Run, get: Callable[..., Any], namespace: str) -> None:
    run("create", "quota", "small", "--hard=pods=1")
    # kube-apiserver enforces the figures that the quota controller writes into the status.
    counted = {**get("quota", "small"), "status": {"hard": {"pods": "1"}, "used": {"pods": "0"}}}
    path = f"/api/v1/namespaces/{namespace}/resourcequotas/small/status"
    run("replace", "--raw", path, "-f", "-", stdin=json.dumps(counted))
    run("create", "-f", "-", stdin=_pod("one"))
    refused = run("create", "-f", "-", stdin=_pod("two"), check=False)
    assert "exceeded quota: small, requested: pods=1, used: pods=1, limited: pods=1" in refused.err
    assert ["pods", "1", "1"] in run("describe", "quota", "small").rows


def test_pod_is_labelled_annotated_awaited_and_described(run: Run, get: Callable[..., Any]) -> None:
    run("create", "-f", "-", stdin=_pod("web"))
    run("label", "pod", "web", "tier=front", "app-")
    run("annotate", "pod", "web", "note=hello")
    metadata = get("pod", "web")["metadata"]
    assert (metadata["labels"], metadata["annotations"]) == ({"tier": "front"}, {"note": "hello"})
    refused = run("wait", "--for=condition=Ready", "pod/web", "--timeout=0s", check=False)
    assert refused.code == 1
    run("patch", "pod", "web", "--type=json", f"-p={json.dumps([_operation('/spec/activeDeadlineSeconds', 9)])}")
    rows = run("describe", "pod", "web").rows
    assert ["Status:", "Pending"] in rows
    assert ["QoS Class:", "BestEffort"] in rows
    listed = run("get", "pods", "--field-selector=status.phase=Pending", "-l", "tier in (front)", "-o", "name")
    assert listed.out.split() == ["pod/web"]
    assert run("delete", "pod", "web", "--grace-period=0", "--force").out == 'pod "web" force deleted\n'


def _operation(path: str, value: object) -> JsonObject:
    return {"op": "add", "path": path, "value": value}


def test_apply_keeps_fields_of_others_and_diff_shows_changes(run: Run, get: Callable[..., Any]) -> None:
    run("apply", "-f", "-", stdin=_config_map(a="1", b="2"))
    run("patch", "configmap", "settings", "-p", '{"data": {"other": "x"}}')
    different = run("diff", "-f", "-", stdin=_config_map(a="3"), check=False)
    assert different.code == 1
    assert '+  a: "3"' in different.out
    run("apply", "-f", "-", stdin=_config_map(a="3"))
    assert get("configmap", "settings")["data"] == {"a": "3", "other": "x"}
    conflict = run("apply", "--server-side", "--field-manager=me", "-f", "-", stdin=_config_map(a="4"), check=False)
    assert "conflict" in conflict.err
    run("apply", "--server-side", "--field-manager=me", "--force-conflicts", "-f", "-", stdin=_config_map(a="4"))
    assert get("configmap", "settings")["data"] == {"a": "4", "other": "x"}


def test_server_side_apply_merges_containers_by_name(run: Run, get: Callable[..., Any]) -> None:
    run("create", "deployment", "web", "--image=nginx:1")
    container = {"name": "sidecar", "image": "envoy:1"}
    template = {"spec": {"containers": [container]}}
    applied = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {"template": template},
    }
    run("apply", "--server-side", "--field-manager=mesh", "-f", "-", stdin=json.dumps(applied))
    containers = get("deployment", "web")["spec"]["template"]["spec"]["containers"]
    assert [(c["name"], c["image"]) for c in containers] == [("nginx", "nginx:1"), ("sidecar", "envoy:1")]


def test_explain_prints_the_fields_of_builtin_kinds(run: Run) -> None:
    assert "maxSurge" in run("explain", "deployment.spec.strategy.rollingUpdate").out
    assert "imagePullPolicy" in run("explain", "pod.spec.containers").out


def test_drain_finds_the_pods_of_a_node(run: Run, node: str, kubectl: Kubectl) -> None:
    run("create", "-f", "-", stdin=_pod("web", nodeName=node, terminationGracePeriodSeconds=0))
    kubectl("cordon", node)
    assert kubectl.json("get", "node", node)["spec"]["unschedulable"] is True
    assert "evicting pod" in _printed(kubectl("drain", node, "--force", "--dry-run=server"))
    assert run("get", "pods", "-o", "name").out == "pod/web\n"
    kubectl("drain", node, "--force")
    assert run("get", "pods", "-o", "name").out == ""
    kubectl("uncordon", node)
    assert "unschedulable" not in kubectl.json("get", "node", node)["spec"]


def _printed(outcome: Outcome) -> str:
    return outcome.out + outcome.err


def test_metrics_are_refused(run: Run) -> None:
    assert "Metrics API not available" in run("top", "pods", check=False).err


def test_events_are_listed_for_their_object(run: Run, get: Callable[..., Any], namespace: str) -> None:
    run("create", "-f", "-", stdin=_pod("web"))
    uid = get("pod", "web")["metadata"]["uid"]
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "web.1"},
        "involvedObject": {"apiVersion": "v1", "kind": "Pod", "name": "web", "namespace": namespace, "uid": uid},
        "reason": "Started",
        "message": "Started the container",
        "type": "Normal",
        "firstTimestamp": "2024-01-01T00:00:00Z",
        "lastTimestamp": "2024-01-01T00:00:00Z",
        "count": 1,
    }
    run("create", "-f", "-", stdin=json.dumps(event))
    (row,) = run("get", "events", "--field-selector=involvedObject.name=web,reason=Started").rows[1:]
    assert row[1:] == ["Normal", "Started", "pod/web", "Started the container"]
    assert "Started the container" in run("describe", "pod", "web").out


def test_token_of_a_service_account_authenticates(run: Run, kubectl: Kubectl, namespace: str) -> None:
    if kubectl.minor() < 24:
        pytest.skip("this kubectl has no `create token`")
    run("create", "serviceaccount", "robot")
    token = run("create", "token", "robot", "--duration=10m").out.strip()
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}}
    answer = json.loads(run("create", "-f", "-", "-o", "json", stdin=json.dumps(review)).out)
    assert answer["status"]["user"]["username"] == f"system:serviceaccount:{namespace}:robot"
