"""Tests of the preparation of pods and of ReplicationControllers for storage."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from polykind.apis.core.pod_preparation import copy_app_armor_annotations
from polykind.apis.core.types import POD, POD_TEMPLATE, REPLICATION_CONTROLLER
from polykind.contract import JsonObject
from polykind.strategies.core.pod_strategy import PodStrategy
from polykind.strategies.core.pod_template_strategy import PodTemplateStrategy, ReplicationControllerStrategy
from tests.apis.core.pods import container, pod, template

PODS = PodStrategy(POD)
CONTROLLERS = ReplicationControllerStrategy(REPLICATION_CONTROLLER)


def created(**spec: Any) -> JsonObject:
    made = pod(**spec)
    made["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
    PODS.prepare_create(made)
    return made


def test_new_pods_are_pending() -> None:
    made = created()
    assert made["status"] == {"phase": "Pending", "qosClass": "BestEffort"}
    assert made["metadata"]["generation"] == 1


def test_new_pods_keep_only_the_qos_class_of_their_status() -> None:
    made = {**pod(), "status": {"phase": "Running", "qosClass": "Guaranteed"}}
    PODS.prepare_create(made)
    assert made["status"] == {"phase": "Pending", "qosClass": "Guaranteed"}


def test_gated_pods_have_a_condition() -> None:
    [condition] = created(schedulingGates=[{"name": "g"}])["status"]["conditions"]
    assert (condition["type"], condition["status"], condition["reason"]) == ("PodScheduled", "False", "SchedulingGated")


def test_fields_of_disabled_features_are_dropped() -> None:
    made = created(
        containers=[container(lifecycle={"stopSignal": "SIGTERM"})],
        schedulingGroup={"podGroupName": "g"},
        volumes=[{"name": "v", "projected": {"sources": [{"clusterTrustBundle": {"path": "p"}}]}}],
    )["spec"]
    assert "lifecycle" not in made["containers"][0]
    assert "schedulingGroup" not in made
    assert made["volumes"][0]["projected"]["sources"] == [{}]


def test_label_keys_become_expressions() -> None:
    made = pod(
        topologySpreadConstraints=[{"labelSelector": {"matchLabels": {"a": "b"}}, "matchLabelKeys": ["app", "none"]}],
        affinity={
            "podAntiAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {"podAffinityTerm": {"labelSelector": {}, "mismatchLabelKeys": ["app"]}}
                ]
            }
        },
    )
    made["metadata"]["labels"] = {"app": "web"}
    PODS.prepare_create(made)
    [constraint] = made["spec"]["topologySpreadConstraints"]
    assert constraint["labelSelector"]["matchExpressions"] == [{"key": "app", "operator": "In", "values": ["web"]}]
    terms = made["spec"]["affinity"]["podAntiAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
    [expression] = terms[0]["podAffinityTerm"]["labelSelector"]["matchExpressions"]
    assert expression["operator"] == "NotIn"


def test_app_armor_annotations_become_fields() -> None:
    key = "container.apparmor.security.beta.kubernetes.io/app"
    made = pod(annotations={key: "localhost/a"})
    assert copy_app_armor_annotations(made) == [
        f'metadata.annotations[{key}]: deprecated since v1.30; use the "appArmorProfile" field instead'
    ]
    profile = {"type": "Localhost", "localhostProfile": "a"}
    assert made["spec"]["containers"][0]["securityContext"] == {"appArmorProfile": profile}
    assert copy_app_armor_annotations(made) == []


def test_status_updates_change_only_the_status() -> None:
    old = created()
    old["status"] |= {"observedGeneration": 3, "conditions": [{"type": "Ready", "observedGeneration": 2}]}
    new = copy.deepcopy(old)
    new["spec"]["hostname"] = "other"
    new["metadata"]["labels"] = {"a": "b"}
    new["metadata"]["ownerReferences"] = [{"name": "x"}]
    new["status"] = {"phase": "Running", "conditions": [{"type": "Ready"}]}
    prepared = PODS.prepare_subresource("status", new, old)
    assert prepared["spec"] == old["spec"]
    assert prepared["metadata"] == {**old["metadata"], "labels": {"a": "b"}}
    assert prepared["status"] == {
        "phase": "Running",
        "qosClass": "BestEffort",
        "observedGeneration": 3,
        "conditions": [{"type": "Ready", "observedGeneration": 2}],
    }


def test_resizes_change_only_resources() -> None:
    old = created(containers=[container(resources={"requests": {"cpu": "1"}})])
    new = copy.deepcopy(old)
    new["metadata"]["labels"] = {"a": "b"}
    new["spec"]["hostname"] = "other"
    new["spec"]["containers"][0] |= {"image": "other", "resources": {"requests": {"cpu": "2"}}}
    prepared = PODS.prepare_subresource("resize", new, old)
    assert prepared["metadata"] == {**old["metadata"], "generation": 2}
    expected = copy.deepcopy(old["spec"])
    expected["containers"][0]["resources"] = {"requests": {"cpu": "2"}}
    assert prepared["spec"] == expected


def test_only_ephemeral_containers_change_through_their_subresource() -> None:
    old = created()
    new = copy.deepcopy(old)
    new["spec"] |= {"hostname": "other", "ephemeralContainers": [container("debug")]}
    prepared = PODS.prepare_subresource("ephemeralcontainers", new, old)
    assert prepared["spec"] == {**old["spec"], "ephemeralContainers": [container("debug")]}
    assert prepared["metadata"]["generation"] == 2


@pytest.mark.parametrize(
    ("spec", "phase", "requested", "seconds"),
    [
        ({}, "Pending", 10, 0),
        ({"nodeName": "n"}, "Pending", None, 30),
        ({"nodeName": "n"}, "Running", 10, 10),
        ({"nodeName": "n"}, "Succeeded", None, 0),
        ({"nodeName": "n"}, "Running", -1, 1),
    ],
)
def test_grace_period(spec: JsonObject, phase: str, requested: int | None, seconds: int) -> None:
    assert PODS.grace_period({**pod(**spec), "status": {"phase": phase}}, requested) == seconds


def test_names_should_be_host_names() -> None:
    made = pod()
    made["metadata"]["name"] = "a.b"
    [warning] = PODS.warnings(made, None)
    assert warning.endswith("a DNS label is recommended: [must not contain dots]")


def controller(**spec: Any) -> JsonObject:
    made: JsonObject = {"metadata": {"name": "c", "namespace": "default"}, "spec": {"template": template(), **spec}}
    CONTROLLERS.default(made)
    return made


def test_controllers_default_to_the_labels_of_their_template() -> None:
    made = controller()
    assert made["metadata"]["labels"] == made["spec"]["selector"] == {"app": "web"}
    assert made["spec"]["replicas"] == 1


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, []),
        ({"replicas": -1}, ["spec.replicas: Invalid value: -1: must be greater than or equal to 0"]),
        ({"template": None}, ["spec.selector: Required value", "spec.template: Required value"]),
        (
            {"selector": {"a": "b"}},
            [
                'spec.template.metadata.labels: Invalid value: {"app":"web"}: '
                "`selector` does not match template `labels`"
            ],
        ),
        (
            {"template": template(restartPolicy="Never", activeDeadlineSeconds=5)},
            [
                'spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"',
                "spec.template.spec.activeDeadlineSeconds: Forbidden: "
                "activeDeadlineSeconds in ReplicationController is not Supported",
            ],
        ),
    ],
)
def test_controllers(spec: JsonObject, expected: list[str]) -> None:
    assert [str(error) for error in CONTROLLERS.create_errors(controller(**spec))] == expected


def test_controller_status() -> None:
    old = controller()
    old["metadata"]["resourceVersion"] = "1"
    new = {**old, "status": {"replicas": 1, "readyReplicas": 2, "availableReplicas": 3}}
    assert [str(error) for error in CONTROLLERS.status_errors(new, old)] == [
        "status.readyReplicas: Invalid value: 2: cannot be greater than status.replicas",
        "status.availableReplicas: Invalid value: 3: cannot be greater than status.replicas",
        "status.availableReplicas: Invalid value: 3: cannot be greater than readyReplicas",
    ]


def test_non_convertible_selector_may_not_change() -> None:
    old = controller()
    old["metadata"] |= {"resourceVersion": "1", "annotations": {"non-convertible.kubernetes.io/selector": "x"}}
    new = {**old, "spec": {**controller(template=template())["spec"], "selector": {"app": "web", "a": "b"}}}
    new["spec"]["template"]["metadata"]["labels"] = {"app": "web", "a": "b"}
    assert [str(error) for error in CONTROLLERS.update_errors(new, old)] == [
        'spec.selector: Invalid value: {"a":"b","app":"web"}: cannot update non-convertible selector'
    ]


def test_status_warns_about_addresses_that_are_not_canonical() -> None:
    new = {**pod(), "status": {"podIPs": [{"ip": "FE80::1"}]}}
    assert len(PODS.subresource_warnings("status", new, pod())) == 1
    assert PODS.subresource_warnings("resize", new, pod()) == PODS.warnings(new, pod()) == []


def test_pod_templates_count_their_generations() -> None:
    strategy = PodTemplateStrategy(POD_TEMPLATE)
    old: JsonObject = {"metadata": {"name": "t", "namespace": "default", "resourceVersion": "1"}}
    strategy.default(old)
    old["template"] = template()
    strategy.prepare_create(old)
    assert strategy.create_errors(old) == []
    assert strategy.warnings(old, None) == []
    new = copy.deepcopy(old)
    strategy.prepare_update(new, old)
    assert new["metadata"]["generation"] == 1
    assert strategy.warnings(new, old) == []
    assert strategy.update_errors(new, old) == []
    new["template"]["spec"]["nodeSelector"] = {"beta.kubernetes.io/os": "linux"}
    strategy.prepare_update(new, old)
    assert new["metadata"]["generation"] == 2
    assert len(strategy.warnings(new, old)) == 1


def test_selinux_policy_may_change_once_it_is_set() -> None:
    strategy = PodTemplateStrategy(POD_TEMPLATE)
    meta = {"name": "t", "namespace": "default", "resourceVersion": "1"}

    def with_policy(policy: str | None) -> JsonObject:
        context = {} if policy is None else {"seLinuxChangePolicy": policy}
        return {"metadata": meta, "template": template(securityContext=context)}

    assert strategy.update_errors(with_policy("MountOption"), with_policy("Recursive")) == []
    assert len(strategy.update_errors(with_policy("MountOption"), with_policy(None))) == 1


def test_controllers_warn_about_the_stored_template() -> None:
    old = controller(template=template(nodeSelector={"beta.kubernetes.io/os": "linux"}))
    CONTROLLERS.prepare_create(old)
    assert len(CONTROLLERS.warnings(old, None)) == 1
    new = copy.deepcopy(old)
    CONTROLLERS.prepare_update(new, old)
    assert CONTROLLERS.warnings(new, old) == []
    new["spec"]["replicas"] = 3
    CONTROLLERS.prepare_update(new, old)
    assert len(CONTROLLERS.warnings(new, old)) == 1


def test_updates_keep_the_status() -> None:
    old = created()
    new = {**copy.deepcopy(old), "status": {"phase": "Running"}}
    new["spec"]["activeDeadlineSeconds"] = 5
    PODS.prepare_update(new, old)
    assert new["status"] == old["status"]
    assert new["metadata"]["generation"] == 2
