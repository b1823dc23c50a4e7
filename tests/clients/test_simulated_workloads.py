"""kubectl, Helm and kr8s wait for simulated workloads as they wait for those of a cluster."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from polykind.testing import ApiServer
from tests.support.kubectl import Kubectl

STATEFUL = """
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  replicas: 2
  serviceName: db
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: db, image: "postgres:1"}]}
  volumeClaimTemplates:
    - metadata: {name: data}
      spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec: {containers: [{name: agent, image: "agent:1"}]}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {type: LoadBalancer, selector: {app: web}, ports: [{port: 80}]}
---
apiVersion: batch/v1
kind: Job
metadata: {name: once}
spec:
  template:
    spec: {restartPolicy: Never, containers: [{name: once, image: busybox}]}
"""


def test_kubectl_follows_rollouts(polykind: ApiServer, tmp_path: Path) -> None:
    kubectl = Kubectl(polykind.kubeconfig, tmp_path)
    with polykind.simulate():
        kubectl("create", "deployment", "web", "--image=nginx:1", "--replicas=3")
        kubectl("rollout", "status", "deployment/web", "--timeout=30s")
        kubectl("set", "image", "deployment/web", "nginx=nginx:2")
        kubectl("rollout", "status", "deployment/web", "--timeout=30s")
        kubectl("rollout", "undo", "deployment/web")
        kubectl("wait", "--for=condition=Available", "deployment/web", "--timeout=30s")
        history = kubectl("rollout", "history", "deployment/web").out.split()
        assert [word for word in history if word.isdigit()] == ["2", "3"]
        kubectl("delete", "deployment", "web")
        kubectl("wait", "--for=delete", "pod", "-l", "app=web", "--timeout=30s")


def test_kubectl_waits_for_other_workloads(polykind: ApiServer, tmp_path: Path) -> None:
    kubectl = Kubectl(polykind.kubeconfig, tmp_path)
    with polykind.simulate():
        kubectl("apply", "-f", "-", stdin=STATEFUL)
        for workload in ("statefulset/db", "daemonset/agent"):
            kubectl("rollout", "status", workload, "--timeout=30s")
        kubectl("wait", "--for=condition=Complete", "job/once", "--timeout=30s")
        assert kubectl("get", "pvc", "data-db-1", "-o", "jsonpath={.status.phase}").out == "Bound"
        assert "192.0.2.1" in kubectl("get", "service", "web").out


def test_helm_waits_until_everything_is_ready(polykind: ApiServer, tmp_path: Path) -> None:
    (tmp_path / "shop/templates").mkdir(parents=True)
    chart = {"apiVersion": "v2", "name": "shop", "version": "0.1.0"}
    (tmp_path / "shop/Chart.yaml").write_text(json.dumps(chart))
    (tmp_path / "shop/templates/all.yaml").write_text(STATEFUL)
    helm = [str(Path(sys.executable).with_name("helm")), "install", "shop", str(tmp_path / "shop")]
    environment = {**os.environ, "KUBECONFIG": str(polykind.kubeconfig), "HELM_CACHE_HOME": str(tmp_path)}
    with polykind.simulate():
        subprocess.run([*helm, "--wait", "--wait-for-jobs", "--timeout", "60s"], check=True, env=environment)
    assert polykind.request("GET", "/apis/apps/v1/namespaces/default/statefulsets/db")["status"]["readyReplicas"] == 2


@pytest.mark.filterwarnings("ignore:Kubernetes version:UserWarning")
async def test_kr8s_waits_for_conditions(polykind: ApiServer) -> None:
    from kr8s.asyncio.objects import Deployment, Pod

    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "web", "image": "nginx"}]}}
    spec = {"replicas": 1, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    async with polykind.aio.simulate("deployments"):
        api = await polykind.aio.kr8s()
        web = await Deployment({"metadata": {"name": "web"}, "spec": spec}, api=api)
        await web.create()
        await web.wait("condition=Available", timeout=30)
        pods: list[Any] = [one async for one in Pod.list(namespace="default", api=api)]
        await pods[0].wait("condition=Ready", timeout=30)
        await web.scale(2)
        await web.delete()
        await web.wait("delete", timeout=30)
