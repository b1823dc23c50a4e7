"""Plugins that complete pods: priority, tolerations, service account, runtime class, topology labels."""

from __future__ import annotations

from typing import Any

import pytest

from polykind import errors
from polykind.admission.plugins.pod_priority import Priority
from polykind.admission.plugins.pod_rules import AlwaysPullImages
from polykind.admission.plugins.pod_tolerations import DefaultTolerationSeconds
from polykind.admission.plugins.pod_topology import PodTopologyLabels
from polykind.admission.plugins.runtime_class_plugin import RuntimeClassPlugin, merge_tolerations
from polykind.admission.plugins.service_account import ServiceAccountPlugin
from polykind.contract import JsonObject
from tests.admission.plugins.plugin_support import FakeObjects, mutate, pod, rejection, request, services


def named(name: str, **fields: Any) -> JsonObject:
    return {"metadata": {"name": name, **fields.pop("metadata", {})}, **fields}


def classes(*entries: JsonObject) -> FakeObjects:
    objects = FakeObjects()
    for entry in entries:
        objects.put("scheduling.k8s.io", "priorityclasses", entry)
    return objects


def test_priority_without_classes() -> None:
    spec = mutate(Priority(services(FakeObjects())), request(pod()))["spec"]
    assert (spec["priority"], spec["preemptionPolicy"]) == (0, "PreemptLowerPriority")
    assert "priorityClassName" not in spec


def test_default_class_is_the_one_with_the_lowest_value() -> None:
    objects = classes(named("b", value=7, globalDefault=True), named("a", value=9, globalDefault=True))
    spec = mutate(Priority(services(objects)), request(pod()))["spec"]
    assert (spec["priorityClassName"], spec["priority"]) == ("b", 7)


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ({"priorityClassName": "nope"}, "no PriorityClass with name nope was found"),
        (
            {"priorityClassName": "high", "priority": 5},
            "the integer value of priority (5) must not be provided in pod spec; priority admission controller "
            "computed 9 from the given PriorityClass name",
        ),
        (
            {"priorityClassName": "high", "preemptionPolicy": "PreemptLowerPriority"},
            "the string value of PreemptionPolicy (PreemptLowerPriority) must not be provided in pod spec; priority "
            "admission controller computed Never from the given PriorityClass name",
        ),
    ],
)
def test_priority_rejections(spec: JsonObject, reason: str) -> None:
    plugin = Priority(services(classes(named("high", value=9, preemptionPolicy="Never"))))
    with pytest.raises(errors.ForbiddenError) as caught:
        mutate(plugin, request(pod(**spec)))
    assert caught.value.message == f'pods "p" is forbidden: {reason}'


def test_update_keeps_the_priority() -> None:
    spec = mutate(Priority(services(FakeObjects())), request(pod(), pod(priority=3)))["spec"]
    assert spec["priority"] == 3


def test_second_default_class_is_rejected() -> None:
    plugin = Priority(services(classes(named("a", globalDefault=True))))
    more: dict[str, Any] = {"group": "scheduling.k8s.io", "plural": "priorityclasses", "namespace": ""}
    reason = "PriorityClass a is already marked as default. Only one default can exist"
    assert reason in rejection(plugin, request(named("b", globalDefault=True), **more))
    again = named("a", globalDefault=True)
    assert rejection(plugin, request(again, named("a", globalDefault=True), **more)) == ""


@pytest.mark.parametrize(
    ("tolerations", "added"),
    [
        ([], ["not-ready", "unreachable"]),
        ([{"operator": "Exists"}], []),
        ([{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}], ["not-ready", "unreachable"]),
        ([{"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"}], ["unreachable"]),
    ],
)
def test_default_tolerations(tolerations: list[JsonObject], added: list[str]) -> None:
    spec = mutate(DefaultTolerationSeconds(services(FakeObjects())), request(pod(tolerations=tolerations)))["spec"]
    expected = [
        {"key": f"node.kubernetes.io/{name}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
        for name in added
    ]
    assert spec["tolerations"] == tolerations + expected


def accounts(**fields: Any) -> FakeObjects:
    objects = FakeObjects()
    objects.put("", "serviceaccounts", named("default", **{"metadata": {"namespace": "default"}, **fields}))
    return objects


def test_service_account_token_is_mounted() -> None:
    spec = mutate(ServiceAccountPlugin(services(accounts(imagePullSecrets=[{"name": "s"}]))), request(pod()))["spec"]
    assert spec["serviceAccountName"] == spec["serviceAccount"] == "default"
    assert spec["imagePullSecrets"] == [{"name": "s"}]
    assert spec["volumes"][0]["name"] == "kube-api-access-abcde"
    path = "/var/run/secrets/kubernetes.io/serviceaccount"
    mount = {"name": "kube-api-access-abcde", "readOnly": True, "mountPath": path}
    assert spec["containers"][0]["volumeMounts"] == [mount]


@pytest.mark.parametrize("account", [{}, {"automountServiceAccountToken": True}])
def test_pod_can_refuse_the_token(account: JsonObject) -> None:
    plugin = ServiceAccountPlugin(services(accounts(**account)))
    assert "volumes" not in mutate(plugin, request(pod(automountServiceAccountToken=False)))["spec"]


def test_missing_service_account() -> None:
    plugin = ServiceAccountPlugin(services(FakeObjects()))
    plugin.retry_delay = 0
    with pytest.raises(errors.ForbiddenError) as caught:
        mutate(plugin, request(pod()))
    assert caught.value.message == (
        'pods "p" is forbidden: error looking up service account default/default: serviceaccount "default" not found'
    )


def test_only_listed_secrets_are_mountable() -> None:
    annotation = {"kubernetes.io/enforce-mountable-secrets": "true"}
    objects = accounts(metadata={"namespace": "default", "annotations": annotation}, secrets=[{"name": "ok"}])
    volumes = [{"name": name, "secret": {"secretName": name}} for name in ("ok", "other")]
    attributes = request(pod(serviceAccountName="default", volumes=volumes))
    assert rejection(ServiceAccountPlugin(services(objects)), attributes).endswith(
        'volume with secret.secretName="other" is not allowed because service account default does not reference '
        "that secret"
    )


def test_mirror_pod_has_no_service_account() -> None:
    mirror = pod(serviceAccountName="a")
    mirror["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "x"}
    assert "a mirror pod may not reference service accounts" in rejection(
        ServiceAccountPlugin(services(accounts())), request(mirror)
    )


def runtime_classes(**fields: Any) -> FakeObjects:
    objects = FakeObjects()
    objects.put("node.k8s.io", "runtimeclasses", named("r", **fields))
    return objects


def test_runtime_class_sets_overhead_and_scheduling() -> None:
    objects = runtime_classes(overhead={"podFixed": {"cpu": "1"}}, scheduling={"nodeSelector": {"a": "b"}})
    spec = mutate(RuntimeClassPlugin(services(objects)), request(pod(runtimeClassName="r")))["spec"]
    assert (spec["overhead"], spec["nodeSelector"]) == ({"cpu": "1"}, {"a": "b"})


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ({"runtimeClassName": "x"}, 'pod rejected: RuntimeClass "x" not found'),
        (
            {"runtimeClassName": "r", "overhead": {"cpu": "2"}},
            "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead",
        ),
        (
            {"overhead": {"cpu": "2"}},
            "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead",
        ),
    ],
)
def test_runtime_class_rejections(spec: JsonObject, reason: str) -> None:
    plugin = RuntimeClassPlugin(services(runtime_classes(overhead={"podFixed": {"cpu": "1"}})))
    assert rejection(plugin, request(pod(**spec))) == f'pods "p" is forbidden: {reason}'


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", "resource name may not be empty"),
        ("..", "invalid resource name \"..\": [may not be '..']"),
        ("a/b%", "invalid resource name \"a/b%\": [may not contain '/' may not contain '%']"),
    ],
)
def test_runtime_class_name_that_is_no_path_segment(name: str, message: str) -> None:
    assert rejection(RuntimeClassPlugin(services(runtime_classes())), request(pod(runtimeClassName=name))) == message


def test_tolerations_that_others_include_are_dropped() -> None:
    narrow = {"key": "a", "operator": "Equal", "value": "b", "effect": "NoSchedule"}
    wide = {"key": "a", "operator": "Exists"}
    other = {"key": "c", "operator": "Exists"}
    assert merge_tolerations([narrow, other], [wide, other]) == [other, wide]


def test_topology_labels_are_copied_from_the_node() -> None:
    objects, zone = FakeObjects(), "topology.kubernetes.io/zone"
    objects.put("", "nodes", named("n", metadata={"labels": {zone: "z", "other": "x"}}))
    assert mutate(PodTopologyLabels(services(objects)), request(pod(nodeName="n")))["metadata"]["labels"] == {zone: "z"}


def test_images_are_always_pulled() -> None:
    plugin = AlwaysPullImages(services(FakeObjects()))
    spec = mutate(plugin, request(pod()))["spec"]
    assert spec["containers"][0]["imagePullPolicy"] == "Always"
    assert "Unsupported value" in rejection(plugin, request(pod()))
