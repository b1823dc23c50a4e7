"""Tests of the defaults of pods, containers and volumes."""

from __future__ import annotations

from typing import Any

import pytest

from polykind.apis.core.image_reference import image_tag
from polykind.apis.core.pod_defaults import default_pod
from polykind.apis.core.pod_resources import qos_class
from polykind.contract import JsonObject
from tests.apis.core.pods import container, pod, template


def test_pod_spec() -> None:
    assert pod()["spec"] == {
        "containers": [
            {
                "name": "app",
                "image": "app:1",
                "imagePullPolicy": "IfNotPresent",
                "terminationMessagePath": "/dev/termination-log",
                "terminationMessagePolicy": "File",
            }
        ],
        "dnsPolicy": "ClusterFirst",
        "enableServiceLinks": True,
        "restartPolicy": "Always",
        "schedulerName": "default-scheduler",
        "securityContext": {},
        "terminationGracePeriodSeconds": 30,
    }


def test_template_leaves_some_defaults_to_the_pod() -> None:
    made = template(
        hostNetwork=True,
        terminationGracePeriodSeconds=-5,
        containers=[container(resources={"limits": {"cpu": "1"}}, ports=[{"containerPort": 80}])],
    )["spec"]
    assert "enableServiceLinks" not in made
    assert made["terminationGracePeriodSeconds"] == -5
    assert made["containers"][0]["resources"] == {"limits": {"cpu": "1"}}
    assert made["containers"][0]["ports"] == [{"containerPort": 80, "protocol": "TCP"}]


def test_host_network_sets_host_ports() -> None:
    made = pod(hostNetwork=True, containers=[container(ports=[{"containerPort": 80}])])
    assert made["spec"]["containers"][0]["ports"][0]["hostPort"] == 80


def test_negative_grace_period_becomes_one_second() -> None:
    assert pod(terminationGracePeriodSeconds=-5)["spec"]["terminationGracePeriodSeconds"] == 1


@pytest.mark.parametrize("field", ["serviceAccount", "serviceAccountName"])
def test_service_account_name_and_its_alias_are_equal(field: str) -> None:
    sent: JsonObject = {field: "robot"}
    spec = pod(**sent)["spec"]
    assert spec["serviceAccount"] == spec["serviceAccountName"] == "robot"


def test_requests_default_to_limits_and_are_rounded_up() -> None:
    resources = {"limits": {"cpu": "100100u", "memory": "1Gi"}, "requests": {"memory": "1Mi"}}
    made = pod(containers=[container(resources=resources)])["spec"]["containers"][0]["resources"]
    assert made == {"limits": {"cpu": "101m", "memory": "1Gi"}, "requests": {"cpu": "101m", "memory": "1Mi"}}


def test_pod_requests_default_to_the_containers_then_to_the_limits() -> None:
    containers = [
        container("a", resources={"requests": {"cpu": "1"}}),
        container("b", resources={"requests": {"cpu": "2"}}),
    ]
    made = pod(containers=containers, resources={"limits": {"cpu": "4", "memory": "1Gi"}})["spec"]["resources"]
    assert made["requests"] == {"cpu": "3", "memory": "1Gi"}


def test_huge_page_limits_of_a_pod_default_to_the_containers() -> None:
    limits = {"limits": {"hugepages-2Mi": "4Mi", "memory": "1Gi"}}
    made = pod(containers=[container(resources=limits)], resources={"limits": {"memory": "2Gi"}})["spec"]["resources"]
    assert made["limits"] == {"memory": "2Gi", "hugepages-2Mi": "4Mi"}
    assert made["requests"] == {"memory": "1Gi", "hugepages-2Mi": "4Mi"}


def test_probes_and_references() -> None:
    made = pod(
        containers=[
            container(
                livenessProbe={"httpGet": {"port": 80}},
                readinessProbe={"grpc": {"port": 80}, "periodSeconds": 5},
                lifecycle={"preStop": {"httpGet": {"port": "http", "path": "/stop"}}},
                env=[
                    {"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
                    {"name": "B", "valueFrom": {"fileKeyRef": {"key": "B", "path": "p", "volumeName": "v"}}},
                ],
            )
        ]
    )["spec"]["containers"][0]
    numbers = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}
    assert made["livenessProbe"] == {"httpGet": {"port": 80, "path": "/", "scheme": "HTTP"}, **numbers}
    assert made["readinessProbe"] == {"grpc": {"port": 80, "service": ""}, **numbers, "periodSeconds": 5}
    assert made["lifecycle"]["preStop"]["httpGet"] == {"port": "http", "path": "/stop", "scheme": "HTTP"}
    assert made["env"][0]["valueFrom"]["fieldRef"]["apiVersion"] == "v1"
    assert made["env"][1]["valueFrom"]["fileKeyRef"]["optional"] is False


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        ({}, {"emptyDir": {}}),
        ({"secret": {"secretName": "s"}}, {"secret": {"secretName": "s", "defaultMode": 420}}),
        ({"configMap": {"name": "c", "defaultMode": 0}}, {"configMap": {"name": "c", "defaultMode": 0}}),
        ({"hostPath": {"path": "/"}}, {"hostPath": {"path": "/", "type": ""}}),
        ({"image": {"reference": "a"}}, {"image": {"reference": "a", "pullPolicy": "Always"}}),
        (
            {"projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}},
            {
                "projected": {
                    "sources": [{"serviceAccountToken": {"path": "t", "expirationSeconds": 3600}}],
                    "defaultMode": 420,
                }
            },
        ),
        (
            {"downwardAPI": {"items": [{"path": "l", "fieldRef": {"fieldPath": "metadata.labels"}}]}},
            {
                "downwardAPI": {
                    "items": [{"path": "l", "fieldRef": {"fieldPath": "metadata.labels", "apiVersion": "v1"}}],
                    "defaultMode": 420,
                }
            },
        ),
        (
            {"ephemeral": {"volumeClaimTemplate": {"spec": {}}}},
            {"ephemeral": {"volumeClaimTemplate": {"spec": {"volumeMode": "Filesystem"}}}},
        ),
        (
            {"azureDisk": {"diskName": "d", "diskURI": "u", "readOnly": True}},
            {
                "azureDisk": {
                    "diskName": "d",
                    "diskURI": "u",
                    "readOnly": True,
                    "cachingMode": "ReadWrite",
                    "fsType": "ext4",
                    "kind": "Shared",
                }
            },
        ),
    ],
)
def test_volumes(sent: JsonObject, expected: JsonObject) -> None:
    assert pod(volumes=[{"name": "v", **sent}])["spec"]["volumes"] == [{"name": "v", **expected}]


def test_pod_ip_and_pod_ips_agree() -> None:
    def status(**sent: Any) -> JsonObject:
        made = {**pod(), "status": sent}
        default_pod(made)
        shown: JsonObject = made["status"]
        return shown

    assert status(podIP="10.0.0.1") == {"podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}]}
    assert status(podIPs=[{"ip": "10.0.0.1"}])["podIP"] == "10.0.0.1"
    assert status(podIP="10.0.0.2", podIPs=[{"ip": "10.0.0.1"}])["podIPs"] == [{"ip": "10.0.0.2"}]


@pytest.mark.parametrize(
    ("image", "tag"),
    [
        ("nginx", "latest"),
        ("nginx:latest", "latest"),
        ("nginx:1.27", "1.27"),
        ("registry:5000/nginx", "latest"),
        ("localhost/nginx:v1", "v1"),
        (f"nginx@sha256:{'a' * 64}", ""),
        (f"nginx:latest@sha256:{'a' * 64}", "latest"),
        (f"nginx@sha256:{'a' * 40}", ""),
        ("Nginx", ""),
        ("a" * 64, ""),
        ("nginx:", ""),
        (" nginx", ""),
        ("", ""),
    ],
)
def test_image_tags(image: str, tag: str) -> None:
    assert image_tag(image) == tag


@pytest.mark.parametrize(
    ("resources", "qos"),
    [
        ([{}], "BestEffort"),
        ([{"limits": {"cpu": "0"}}], "BestEffort"),
        ([{"requests": {"cpu": "1"}}], "Burstable"),
        ([{"limits": {"cpu": "1", "memory": "1Gi"}}], "Guaranteed"),
        ([{"limits": {"cpu": "1", "memory": "1Gi"}}, {}], "Burstable"),
        ([{"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m"}}], "Burstable"),
        ([{"requests": {"example.com/gpu": "1"}, "limits": {"example.com/gpu": "1"}}], "BestEffort"),
    ],
)
def test_qos_class(resources: list[JsonObject], qos: str) -> None:
    containers = [container(f"c{index}", resources=value) for index, value in enumerate(resources)]
    assert qos_class(pod(containers=containers)["spec"]) == qos


def test_qos_class_of_pod_level_resources() -> None:
    assert qos_class(pod(resources={"limits": {"cpu": "1", "memory": "1Gi"}})["spec"]) == "Guaranteed"
    assert qos_class(pod(resources={"limits": {"cpu": "1"}})["spec"]) == "Burstable"
