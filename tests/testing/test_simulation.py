"""Simulated workloads: what a cluster's controllers, scheduler and kubelet would do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from polykind.testing import ApiServer, Refused, Unmet

Json = dict[str, Any]

POD_SPEC: Json = {"containers": [{"name": "main", "image": "nginx:1.27"}]}
TEMPLATE: Json = {"metadata": {"labels": {"app": "web"}}, "spec": POD_SPEC}
SELECTOR: Json = {"matchLabels": {"app": "web"}}


def workload(kind: str, api: str = "apps/v1", name: str = "web", **spec: Any) -> Json:
    return {"apiVersion": api, "kind": kind, "metadata": {"name": name}, "spec": spec}


def deployment(image: str = "nginx:1.27", **spec: Any) -> Json:
    template = {**TEMPLATE, "spec": {"containers": [{"name": "main", "image": image}]}}
    return workload("Deployment", selector=SELECTOR, template=template, **{"replicas": 2, **spec})


def pod(name: str = "web", **spec: Any) -> Json:
    return workload("Pod", "v1", name, **{**POD_SPEC, **spec})


def job(name: str = "once", **spec: Any) -> Json:
    template = {"spec": {**POD_SPEC, "restartPolicy": "Never"}}
    return workload("Job", "batch/v1", name, template=template, **spec)


def is_complete(replicas: int) -> Callable[[Json], bool]:
    def complete(obj: Json) -> bool:
        status = obj["status"]
        counts = {status.get(name, 0) for name in ("replicas", "updatedReplicas", "availableReplicas")}
        return counts == {replicas} and bool(status["observedGeneration"] == obj["metadata"]["generation"])

    return complete


def listed(server: ApiServer, api: str, plural: str) -> list[Json]:
    root = f"/apis/{api}" if "/" in api else f"/api/{api}"
    items: list[Json] = server.request("GET", f"{root}/{plural}")["items"]
    return [item for item in items if "deletionTimestamp" not in item["metadata"]]


def test_deployment_rolls_out_through_replica_sets(polykind: ApiServer) -> None:
    with polykind.simulate("deployments"):
        [first] = polykind.apply(deployment())
        polykind.wait_for(first, "condition=Available")
        polykind.wait_for(first, is_complete(2))
        polykind.apply(deployment("nginx:1.28", replicas=3))
        done = polykind.wait_for(first, is_complete(3))
    assert done["metadata"]["annotations"]["deployment.kubernetes.io/revision"] == "2"
    images = {one["spec"]["containers"][0]["image"] for one in listed(polykind, "v1", "pods")}
    assert images == {"nginx:1.28"}
    sizes = sorted(one["spec"]["replicas"] for one in listed(polykind, "apps/v1", "replicasets"))
    assert sizes == [0, 3]


def test_revisions_keep_the_cause_of_their_change(polykind: ApiServer) -> None:
    def annotated(image: str) -> Json:
        changed = deployment(image)
        changed["metadata"]["annotations"] = {"kubernetes.io/change-cause": image}
        return changed

    polykind.simulate("deployments")
    for image in ("nginx:1", "nginx:2", "nginx:1"):
        [applied] = polykind.apply(annotated(image))
        polykind.wait_for(applied, is_complete(2))
    history = {
        one["spec"]["template"]["spec"]["containers"][0]["image"]: {
            key.rpartition("/")[2]: value for key, value in one["metadata"]["annotations"].items()
        }
        for one in listed(polykind, "apps/v1", "replicasets")
    }
    sizes = {"desired-replicas": "2", "max-replicas": "3"}
    assert history == {
        "nginx:1": {"change-cause": "nginx:1", "revision": "3", "revision-history": "1", **sizes},
        "nginx:2": {"change-cause": "nginx:2", "revision": "2", **sizes},
    }


def test_paused_deployment_scales_but_does_not_roll_out(polykind: ApiServer) -> None:
    polykind.simulate("deployments")
    [first] = polykind.apply(deployment())
    polykind.wait_for(first, is_complete(2))
    polykind.apply(deployment("nginx:1.28", replicas=3, paused=True))
    paused = polykind.wait_for(first, lambda obj: obj["status"]["readyReplicas"] == 3)
    polykind.wait_for(first, "condition=Progressing=Unknown")
    assert paused["status"].get("updatedReplicas", 0) == 0
    polykind.apply(deployment("nginx:1.28", replicas=3, paused=False))
    polykind.wait_for(first, is_complete(3))


def test_deployment_is_recreated(polykind: ApiServer) -> None:
    polykind.simulate("deployments")
    [first] = polykind.apply(deployment(strategy={"type": "Recreate"}))
    polykind.wait_for(first, is_complete(2))
    polykind.apply(deployment("nginx:1.28", strategy={"type": "Recreate"}))
    revision = "deployment.kubernetes.io/revision"
    polykind.wait_for(first, lambda obj: is_complete(2)(obj) and obj["metadata"]["annotations"][revision] == "2")
    polykind.apply(deployment("nginx:1.28", strategy={"type": "Recreate"}, replicas=0))
    polykind.wait_for(first, is_complete(0))


def test_failed_rollout_keeps_the_old_pods(polykind: ApiServer) -> None:
    with polykind.simulate("deployments") as simulation:
        [first] = polykind.apply(deployment())
        polykind.wait_for(first, is_complete(2))
        names = [one["metadata"]["name"] for one in listed(polykind, "v1", "pods")]
        simulation.fail("pods", reason="ImagePullBackOff")
        for name in names:
            polykind.wait_for(pod(name), "condition=Ready=False")
        failing = polykind.wait_for(first, "condition=Available=False")
        assert failing["status"]["unavailableReplicas"] == 2
        simulation.fail("deployments", name="we*")
        polykind.wait_for(first, "condition=Progressing=False")
        simulation.recover()
        polykind.wait_for(first, is_complete(2))


def test_stateful_set_starts_in_order_and_updates_from_the_end(polykind: ApiServer) -> None:
    claim = {
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    spec: Json = {"selector": SELECTOR, "serviceName": "web", "replicas": 3, "volumeClaimTemplates": [claim]}
    with polykind.simulate("statefulsets", "persistentvolumeclaims") as simulation:
        simulation.fail("pods", name="web-1", reason="NotReady")
        [stateful_set] = polykind.apply(workload("StatefulSet", template=TEMPLATE, **spec))
        polykind.wait_for(pod("web-1"), lambda obj: obj["status"]["phase"] == "Running")
        assert {one["metadata"]["name"] for one in listed(polykind, "v1", "pods")} == {"web-0", "web-1"}
        simulation.recover()
        polykind.wait_for(stateful_set, is_complete(3))
        changed = {**TEMPLATE, "spec": {"containers": [{"name": "main", "image": "nginx:1.28"}]}}
        polykind.apply(workload("StatefulSet", template=changed, **spec))
        polykind.wait_for(stateful_set, lambda obj: is_complete(3)(obj) and obj["metadata"]["generation"] == 2)
    claims = listed(polykind, "v1", "persistentvolumeclaims")
    assert {one["metadata"]["name"]: one["status"]["phase"] for one in claims} == dict.fromkeys(
        ("data-web-0", "data-web-1", "data-web-2"), "Bound"
    )


def test_daemon_set_has_a_pod_per_node(polykind: ApiServer) -> None:
    with polykind.simulate("daemonsets"):
        [daemon_set] = polykind.apply(workload("DaemonSet", selector=SELECTOR, template=TEMPLATE))
        polykind.wait_for(daemon_set, lambda obj: obj["status"]["numberReady"] == 1)
        polykind.apply({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "second"}})
        polykind.wait_for(daemon_set, lambda obj: obj["status"]["numberReady"] == 2)
    assert {one["spec"]["nodeName"] for one in listed(polykind, "v1", "pods")} == {"simulated-node", "second"}


@pytest.mark.parametrize(
    "spec", [{}, {"completions": 3, "parallelism": 2}, {"completionMode": "Indexed", "completions": 2}]
)
def test_job_completes(polykind: ApiServer, spec: Json) -> None:
    with polykind.simulate("jobs"):
        [created] = polykind.apply(job(**spec))
        done = polykind.wait_for(created, "condition=Complete")
    assert done["status"]["succeeded"] == spec.get("completions", 1)
    assert done["status"].get("completedIndexes") == ("0,1" if "completionMode" in spec else None)


def test_job_fails_after_its_backoff_limit(polykind: ApiServer) -> None:
    with polykind.simulate("jobs") as simulation:
        simulation.fail("pods", name="once-*", reason="Error")
        simulation.fail("jobs", name="late", reason="DeadlineExceeded")
        once, late = polykind.apply(job(backoffLimit=1), job("late"))
        assert polykind.wait_for(once, "condition=Failed")["status"]["failed"] == 2
        conditions = polykind.wait_for(late, "condition=Failed")["status"]["conditions"]
    assert {one["reason"] for one in conditions} == {"DeadlineExceeded"}


def test_suspended_job_waits(polykind: ApiServer) -> None:
    with polykind.simulate("jobs"):
        [created] = polykind.apply(job(suspend=True))
        polykind.wait_for(created, "condition=Suspended")
        polykind.apply(job(suspend=False))
        polykind.wait_for(created, "condition=Complete")


def test_cron_job_starts_jobs(polykind: ApiServer) -> None:
    with polykind.simulate("cronjobs") as simulation:
        template = {"spec": job()["spec"]}
        [cron_job] = polykind.apply(workload("CronJob", "batch/v1", schedule="@daily", jobTemplate=template))
        polykind.wait_for(cron_job, lambda obj: obj["status"]["lastSuccessfulTime"])
        polykind.wait_for(cron_job, lambda obj: "active" not in obj["status"])
        simulation.trigger("web")
        polykind.wait_for(cron_job, lambda obj: len(listed(polykind, "batch/v1", "jobs")) == 2)


@pytest.mark.parametrize(
    ("reason", "phase", "state"),
    [
        ("CrashLoopBackOff", "Running", "waiting"),
        ("OOMKilled", "Running", "waiting"),
        ("ImagePullBackOff", "Pending", "waiting"),
        ("NotReady", "Running", "running"),
        ("Evicted", "Failed", "terminated"),
    ],
)
def test_pod_fails(polykind: ApiServer, reason: str, phase: str, state: str) -> None:
    with polykind.simulate("pods") as simulation:
        simulation.fail("pods", name="web", reason=reason)
        created, other = polykind.apply(pod(), pod("other"))
        failed = polykind.wait_for(created, "condition=Ready=False")
        polykind.wait_for(other, "condition=Ready")
        assert failed["status"]["phase"] == phase
        assert list(failed["status"]["containerStatuses"][0]["state"]) == [state]
        if phase != "Failed":
            simulation.recover("pods")
            polykind.wait_for(created, "condition=Ready")


def test_pod_without_a_fitting_node_is_unschedulable(polykind: ApiServer) -> None:
    with polykind.simulate("pods"):
        [created] = polykind.apply(pod(nodeSelector={"disk": "ssd"}))
        polykind.wait_for(created, "condition=PodScheduled=False")
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "fast", "labels": {"disk": "ssd"}}}
        polykind.apply(node)
        assert polykind.wait_for(created, "condition=Ready")["spec"]["nodeName"] == "fast"


def test_services_and_claims(polykind: ApiServer) -> None:
    ports = [{"port": 80}]
    service = workload("Service", "v1", type="LoadBalancer", ports=ports)
    claim = workload(
        "PersistentVolumeClaim",
        "v1",
        "data",
        accessModes=["ReadWriteOnce"],
        resources={"requests": {"storage": "1Gi"}},
    )
    with polykind.simulate("services", "persistentvolumeclaims") as simulation:
        service, claim = polykind.apply(service, claim)
        polykind.wait_for(
            service, lambda obj: obj["status"]["loadBalancer"]["ingress"] == [{"ip": "192.0.2.1", "ipMode": "VIP"}]
        )
        polykind.wait_for(claim, lambda obj: obj["status"]["phase"] == "Bound")
        [volume] = listed(polykind, "v1", "persistentvolumes")
        assert volume["status"]["phase"] == "Bound"
        polykind.delete(claim)
        polykind.wait_for({"apiVersion": "v1", "kind": "PersistentVolume", **volume}, "delete")
        simulation.fail("services")
        polykind.wait_for(service, lambda obj: not obj["status"]["loadBalancer"])


def test_simulation_continues_after_a_rollback_and_ends_with_its_block(polykind: ApiServer) -> None:
    with polykind.simulate("pods", delays={"pods": 0.01}):
        polykind.rollback()
        [created] = polykind.apply(pod())
        polykind.wait_for(created, "condition=Ready")
    [later] = polykind.apply(pod("later"))
    polykind.rollback(polykind.checkpoint())
    assert polykind.get(later)["status"] == {"phase": "Pending", "qosClass": "BestEffort"}


def test_wait_for_a_workload_without_simulation_has_a_hint(polykind: ApiServer) -> None:
    [created] = polykind.apply(deployment())
    advice = r'no controller runs here: start one with polykind\.simulate\("deployments"\)'
    with pytest.raises(Unmet, match=advice):
        polykind.wait_for(created, "condition=Available", timeout=0.01)
    with polykind.simulate("deployments") as simulation:
        simulation.fail("pods")
        with pytest.raises(Unmet) as unmet:
            polykind.wait_for(created, "condition=Available", timeout=0.01)
    assert "no controller runs" not in str(unmet.value)
    found = polykind.wait_for(created, "create")
    assert polykind.get(found)["kind"] == "Deployment"


def test_wrong_calls_are_rejected(polykind: ApiServer) -> None:
    with pytest.raises(Refused, match="lamps cannot be simulated: the kinds are cronjobs, daemonsets"):
        polykind.simulate("lamps")
    with polykind.simulate("pods") as simulation:
        with pytest.raises(Refused, match="nodes cannot fail by themselves"):
            simulation.fail("nodes")
        with pytest.raises(Refused, match="CronJobs are not simulated"):
            simulation.trigger("web")
        with pytest.raises(Refused, match=r'jobs are not simulated here: use simulate\("jobs", \.\.\.\)'):
            simulation.fail("jobs")
        with pytest.raises(Refused, match="did you mean ImagePullBackOff"):
            simulation.fail("pods", reason="ImagePullBackoff")
        simulation.fail("pods", reason="OutOfCheese")
