"""kubectl manages workloads: Deployments, Jobs, CronJobs, autoscalers and disruption budgets."""

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
def web(run: Run) -> JsonObject:
    """A Deployment with the container nginx."""
    run("create", "deployment", "web", "--image=nginx:1", "--replicas=2")
    created: JsonObject = _get(run, "deployment", "web")
    return created


def _get(run: Run, *args: str) -> Any:
    return json.loads(run("get", *args, "-o", "json").out)


def _create_replica_set(run: Run, deployment: JsonObject, revision: int, image: str) -> None:
    """Create the ReplicaSet that the Deployment controller creates for a revision."""
    metadata = deployment["metadata"]
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": metadata["uid"], "controller": True}
    labels = {"app": "web", "pod-template-hash": str(revision)}
    containers = [{"name": "nginx", "image": image}]
    replica_set = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": f"web-{revision}",
            "labels": labels,
            "annotations": {"deployment.kubernetes.io/revision": str(revision)},
            "ownerReferences": [owner],
        },
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": containers}},
        },
    }
    run("create", "-f", "-", stdin=json.dumps(replica_set))


def test_deployment_is_created_changed_and_scaled(run: Run, web: JsonObject) -> None:
    assert web["spec"]["strategy"]["rollingUpdate"] == {"maxSurge": "25%", "maxUnavailable": "25%"}
    run("set", "image", "deployment/web", "nginx=nginx:2")
    run("set", "env", "deployment/web", "MODE=fast")
    run("set", "resources", "deployment/web", "--limits=cpu=1")
    run("scale", "deployment/web", "--replicas=4")
    changed = _get(run, "deployment", "web")
    (container,) = changed["spec"]["template"]["spec"]["containers"]
    assert container["image"] == "nginx:2"
    assert container["env"] == [{"name": "MODE", "value": "fast"}]
    assert container["resources"] == {"limits": {"cpu": "1"}}
    assert changed["spec"]["replicas"] == 4
    assert changed["metadata"]["generation"] == 5
    header, row = run("get", "deployment", "-o", "wide").rows
    assert header == ["NAME", "READY", "UP-TO-DATE", "AVAILABLE", "AGE", "CONTAINERS", "IMAGES", "SELECTOR"]
    assert [*row[:4], *row[5:]] == ["web", "0/4", "0", "0", "nginx", "nginx:2", "app=web"]


def test_rollout_is_paused_restarted_and_undone(run: Run, web: JsonObject) -> None:
    run("rollout", "pause", "deployment/web")
    assert _get(run, "deployment", "web")["spec"]["paused"] is True
    run("rollout", "resume", "deployment/web")
    run("rollout", "restart", "deployment/web")
    annotations = _get(run, "deployment", "web")["spec"]["template"]["metadata"]["annotations"]
    assert "kubectl.kubernetes.io/restartedAt" in annotations
    _create_replica_set(run, web, 1, "nginx:1")
    _create_replica_set(run, web, 2, "nginx:2")
    assert [row[0] for row in run("rollout", "history", "deployment/web").rows[2:]] == ["1", "2"]
    run("rollout", "undo", "deployment/web", "--to-revision=2")
    (container,) = _get(run, "deployment", "web")["spec"]["template"]["spec"]["containers"]
    assert container["image"] == "nginx:2"


def test_get_all_lists_every_workload(run: Run, web: JsonObject) -> None:
    run("autoscale", "deployment", "web", "--min=1", "--max=5", "--cpu-percent=50")
    run("create", "job", "once", "--image=busybox", "--", "true")
    run("create", "cronjob", "often", "--image=busybox", "--schedule=*/5 * * * *", "--", "true")
    run("create", "job", "now", "--from=cronjob/often")
    run("create", "poddisruptionbudget", "web", "--selector=app=web", "--min-available=1")
    listed = run("get", "all,poddisruptionbudgets", "-o", "name").out.split()
    assert sorted(listed) == [
        "cronjob.batch/often",
        "deployment.apps/web",
        "horizontalpodautoscaler.autoscaling/web",
        "job.batch/now",
        "job.batch/once",
        "poddisruptionbudget.policy/web",
    ]
    assert "cpu: <unknown>/50%" in run("get", "hpa").out
    job = _get(run, "job", "once")
    uid = job["metadata"]["uid"]
    assert job["spec"]["selector"] == {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}
    assert _get(run, "job", "now")["metadata"]["ownerReferences"][0]["name"] == "often"


def test_invalid_workloads_are_refused(run: Run) -> None:
    refused = run("create", "cronjob", "c", "--image=busybox", "--schedule=61 * * * *", "--", "true", check=False)
    assert "end of range (61) above maximum (59): 61" in refused.err
    refused = run("create", "deployment", "Web", "--image=nginx", check=False)
    assert 'Deployment.apps "Web" is invalid: metadata.name' in refused.err


def test_orphan_deletion_of_a_job_keeps_its_pods(run: Run) -> None:
    run("create", "job", "once", "--image=busybox", "--", "true")
    uid = _get(run, "job", "once")["metadata"]["uid"]
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "once", "uid": uid}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "once-1", "ownerReferences": [owner]},
        "spec": {"containers": [{"name": "c", "image": "busybox"}]},
    }
    run("create", "-f", "-", stdin=json.dumps(pod))
    run("delete", "job", "once", "--cascade=orphan")
    assert "ownerReferences" not in _get(run, "pod", "once-1")["metadata"]
