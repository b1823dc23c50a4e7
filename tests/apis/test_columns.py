"""Tests of the columns of built-in kinds, with cells as kube-apiserver computes them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from polykind.apis.groups import find_kind
from polykind.apis.machinery import decode

NOW = datetime(2024, 1, 1, 0, 5, tzinfo=UTC)
CREATED = "2024-01-01T00:00:00Z"
CONTAINERS = [{"name": "c", "image": "nginx"}, {"name": "d", "image": "redis"}]
TEMPLATE = {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": CONTAINERS}}
SELECTOR = {"matchLabels": {"app": "a"}, "matchExpressions": [{"key": "b", "operator": "NotIn", "values": ["z", "y"]}]}


def row(api_version: str, kind_name: str, content: dict[str, Any]) -> dict[str, Any]:
    """Return the row of an object that was created five minutes ago."""
    kind = find_kind(api_version, kind_name)
    assert kind is not None
    metadata = {"name": "x", "creationTimestamp": CREATED, **content.pop("metadata", {})}
    obj, unknown = decode({"metadata": metadata, **content}, kind, report=True)
    assert unknown == []
    return kind.table.row(obj, NOW)


def status(name: str, state: dict[str, Any], **others: Any) -> dict[str, Any]:
    return {"name": name, "state": state, "lastState": {}, "ready": False, "restartCount": 0, **others}


def pod(**pod_status: Any) -> dict[str, Any]:
    spec = {"containers": CONTAINERS, "initContainers": [{"name": "i"}, {"name": "s", "restartPolicy": "Always"}]}
    return {"spec": spec, "status": pod_status}


RESTARTED = {"terminated": {"exitCode": 1, "finishedAt": "2024-01-01T00:04:00Z"}}
RUNNING = {"running": {"startedAt": CREATED}}
COMPLETED = {"terminated": {"exitCode": 0, "reason": "Completed"}}


@pytest.mark.parametrize(
    ("content", "cells"),
    [
        (pod(phase="Pending"), ["x", "0/3", "Pending", "0", "5m"]),
        (pod(phase="Pending", reason="Evicted"), ["x", "0/3", "Evicted", "0", "5m"]),
        (
            pod(phase="Pending", initContainerStatuses=[status("i", {"waiting": {"reason": "PodInitializing"}})]),
            ["x", "0/3", "Init:0/2", "0", "5m"],
        ),
        (
            pod(
                initContainerStatuses=[
                    status("i", {"waiting": {"reason": "Crash"}}, lastState=RESTARTED, restartCount=4)
                ]
            ),
            ["x", "0/3", "Init:Crash", "4 (60s ago)", "5m"],
        ),
        (
            pod(initContainerStatuses=[status("i", {"terminated": {"exitCode": 2, "signal": 7}})]),
            ["x", "0/3", "Init:Signal:7", "0", "5m"],
        ),
        (
            pod(
                phase="Running",
                initContainerStatuses=[status("i", COMPLETED), status("s", RUNNING, started=True, ready=True)],
                containerStatuses=[status("c", RUNNING, ready=True, restartCount=2), status("d", RUNNING, ready=True)],
            ),
            ["x", "3/3", "Running", "2", "5m"],
        ),
        (
            pod(phase="Running", containerStatuses=[status("c", COMPLETED), status("d", RUNNING, ready=True)]),
            ["x", "1/3", "NotReady", "0", "5m"],
        ),
        (
            pod(
                phase="Failed", containerStatuses=[status("c", COMPLETED), status("d", {"terminated": {"exitCode": 3}})]
            ),
            ["x", "0/3", "ExitCode:3", "0", "5m"],
        ),
        (
            {"metadata": {"deletionTimestamp": CREATED}, **pod(phase="Running")},
            ["x", "0/3", "Terminating", "0", "5m"],
        ),
        (
            pod(phase="Pending", conditions=[{"type": "PodScheduled", "reason": "SchedulingGated"}]),
            ["x", "0/3", "SchedulingGated", "0", "5m"],
        ),
    ],
)
def test_pods(content: dict[str, Any], cells: list[Any]) -> None:
    assert row("v1", "Pod", content)["cells"][:5] == cells


def test_wide_columns_of_pods() -> None:
    spec = {
        "containers": CONTAINERS,
        "nodeName": "n",
        "readinessGates": [{"conditionType": "a"}, {"conditionType": "b"}],
    }
    observed = {"podIPs": [{"ip": "10.0.0.1"}], "conditions": [{"type": "a", "status": "True"}]}
    assert row("v1", "Pod", {"spec": spec, "status": observed})["cells"][5:] == ["10.0.0.1", "n", "<none>", "1/2"]


@pytest.mark.parametrize("phase", ["Succeeded", "Failed", "Running"])
def test_rows_of_ended_pods_have_a_condition(phase: str) -> None:
    conditions = row("v1", "Pod", pod(phase=phase)).get("conditions", [])
    assert [condition["reason"] for condition in conditions] == ([phase] if phase != "Running" else [])


@pytest.mark.parametrize(
    ("api_version", "kind", "content", "cells"),
    [
        (
            *("v1", "Service"),
            {
                "spec": {
                    "type": "LoadBalancer",
                    "clusterIPs": ["10.0.0.5"],
                    "ports": [{"port": 80, "nodePort": 30000}],
                },
                "status": {"loadBalancer": {"ingress": [{"hostname": "h"}, {"ip": "1.2.3.4"}]}},
            },
            ["x", "LoadBalancer", "10.0.0.5", "1.2.3.4,h", "80:30000/", "5m", "<none>"],
        ),
        (
            *("v1", "Endpoints"),
            {"subsets": [{"addresses": [{"ip": "1.1.1.1"}, {"ip": "::1"}], "ports": [{"port": 1}, {"port": 2}]}]},
            ["x", "1.1.1.1:1,[::1]:1,1.1.1.1:2 + 1 more...", "5m"],
        ),
        (
            *("v1", "Node"),
            {
                "metadata": {"labels": {"node-role.kubernetes.io/worker": "", "kubernetes.io/role": "a"}},
                "spec": {"unschedulable": True},
                "status": {"conditions": [{"type": "Ready", "status": "False"}], "nodeInfo": {"architecture": "arm64"}},
            },
            [
                *("x", "NotReady,SchedulingDisabled", "a,worker", "5m", ""),
                *("<none>", "<none>", "<unknown>", "<unknown> (arm64)", "<unknown>"),
            ],
        ),
        (
            *("v1", "ResourceQuota"),
            {"status": {"hard": {"limits.cpu": "2", "pods": "4"}, "used": {"pods": "1"}}},
            ["x", "pods: 1/4", "limits.cpu: 0/2", "5m"],
        ),
        (
            *("v1", "PersistentVolumeClaim"),
            {
                "spec": {"volumeName": "v"},
                "status": {"phase": "Bound", "accessModes": ["ReadWriteMany", "ReadWriteOnce"]},
            },
            ["x", "Bound", "v", "0", "RWO,RWX", "", "<unset>", "5m", "<unset>"],
        ),
        (
            *("v1", "Event"),
            {
                "involvedObject": {"kind": "Pod", "name": "p"},
                "source": {"component": "kubelet", "host": "n"},
                "message": " hello ",
                "series": {"count": 3, "lastObservedTime": "2024-01-01T00:04:30.000000Z"},
                "firstTimestamp": CREATED,
            },
            ["30s", "", "", "pod/p", "", "kubelet, n", "hello", "5m", 3, "x"],
        ),
        (
            *("apps/v1", "Deployment"),
            {"spec": {"replicas": 3, "selector": SELECTOR, "template": TEMPLATE}, "status": {"readyReplicas": 1}},
            ["x", "1/3", 0, 0, "5m", "c,d", "nginx,redis", "app=a,b notin (y,z)"],
        ),
        (
            *("batch/v1", "Job"),
            {"spec": {"parallelism": 3, "template": TEMPLATE}, "status": {"startTime": "2024-01-01T00:04:00Z"}},
            ["x", "Running", "0/1 of 3", "60s", "5m", "c,d", "nginx,redis", "<none>"],
        ),
        (
            *("networking.k8s.io/v1", "Ingress"),
            {"spec": {"tls": [{}], "rules": [{"host": f"h{number}"} for number in range(5)]}},
            ["x", "<none>", "h0,h1,h2 + 2 more...", "", "80, 443", "5m"],
        ),
        (
            *("networking.k8s.io/v1", "IPAddress"),
            {"spec": {"parentRef": {"resource": "services", "namespace": "n", "name": "s"}}},
            ["x", "services/n/s", "5m"],
        ),
        (
            *("storage.k8s.io/v1", "StorageClass"),
            {"metadata": {"annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}, "provisioner": "p"},
            ["x (default)", "p", "Delete", "Immediate", False, "5m"],
        ),
        (
            *("autoscaling/v2", "HorizontalPodAutoscaler"),
            {
                "spec": {
                    "scaleTargetRef": {"kind": "Deployment", "name": "d"},
                    "maxReplicas": 5,
                    "metrics": [
                        {"type": "Resource", "resource": {"name": "cpu", "target": {"averageUtilization": 50}}},
                        {"type": "Pods", "pods": {"target": {"averageValue": "1k"}}},
                        {"type": "External", "external": {"target": {"value": "3"}}},
                    ],
                }
            },
            ["x", "Deployment/d", "cpu: <unknown>/50%, <unknown>/1k + 1 more...", "<unset>", 5, 0, "5m"],
        ),
        (
            *("certificates.k8s.io/v1", "CertificateSigningRequest"),
            {
                "spec": {"signerName": "a/b", "username": "u", "expirationSeconds": 7200},
                "status": {"conditions": [{"type": "Approved"}], "certificate": "eA=="},
            },
            ["x", "5m", "a/b", "u", "120m", "Approved,Issued"],
        ),
        (
            *("apiregistration.k8s.io/v1", "APIService"),
            {"status": {"conditions": [{"type": "Available", "status": "False", "reason": "Gone"}]}},
            ["x", "Local", "False (Gone)", "5m"],
        ),
    ],
)
def test_cells(api_version: str, kind: str, content: dict[str, Any], cells: list[Any]) -> None:
    assert row(api_version, kind, content)["cells"] == cells
