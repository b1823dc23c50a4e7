"""Plugins for volumes, claims, nodes and classes."""

from __future__ import annotations

from typing import Any

import pytest

from polykind.admission.plugins.default_classes import DefaultIngressClass, DefaultStorageClass
from polykind.admission.plugins.external_ips import DenyServiceExternalIPs
from polykind.admission.plugins.node_taints import TaintNodesByCondition
from polykind.admission.plugins.pod_resize import PodResizeValidator
from polykind.admission.plugins.storage_rules import PersistentVolumeClaimResize, StorageObjectInUseProtection
from polykind.contract import JsonObject
from tests.admission.plugins.plugin_support import FakeObjects, mutate, pod, rejection, request, services

CLAIMS = "persistentvolumeclaims"


def storage_class(name: str, created: str = "2026-01-01T00:00:00Z", **fields: Any) -> JsonObject:
    annotations = {"storageclass.kubernetes.io/is-default-class": "true"}
    return {"metadata": {"name": name, "creationTimestamp": created, "annotations": annotations}, **fields}


def storage_classes(*entries: JsonObject) -> FakeObjects:
    objects = FakeObjects()
    for entry in entries:
        objects.put("storage.k8s.io", "storageclasses", entry)
    return objects


def claim(storage: str = "1Gi", phase: str = "Bound", **spec: Any) -> JsonObject:
    resources = {"requests": {"storage": storage}}
    return {"metadata": {"name": "v"}, "spec": {"resources": resources, **spec}, "status": {"phase": phase}}


def test_newest_default_class_is_used() -> None:
    objects = storage_classes(
        storage_class("c", "2026-01-02T00:00:00Z"), storage_class("b", "2026-01-02T00:00:00Z"), storage_class("a")
    )
    plugin = DefaultStorageClass(services(objects))
    assert mutate(plugin, request(claim(), plural=CLAIMS))["spec"]["storageClassName"] == "b"
    assert mutate(plugin, request(claim(storageClassName=""), plural=CLAIMS))["spec"]["storageClassName"] == ""


def test_ingress_without_default_class() -> None:
    ingress: JsonObject = {"metadata": {"name": "i"}, "spec": {}}
    attributes = request(ingress, group="networking.k8s.io", plural="ingresses")
    assert mutate(DefaultIngressClass(services(FakeObjects())), attributes)["spec"] == {}


def test_finalizer_is_added_once() -> None:
    plugin = StorageObjectInUseProtection(services(FakeObjects()))
    obj = mutate(plugin, request(claim(), plural=CLAIMS))
    assert obj["metadata"]["finalizers"] == ["kubernetes.io/pvc-protection"]
    again = request(obj, plural=CLAIMS)
    mutate(plugin, again)
    assert not again.changed


@pytest.mark.parametrize(
    ("old", "new", "expandable", "reason"),
    [
        (claim(), claim("1024Mi"), False, ""),
        (claim(phase="Pending"), claim("2Gi"), True, "Only bound persistent volume claims can be expanded"),
        (claim(storageClassName="s"), claim("2Gi", storageClassName="s"), True, ""),
        (
            claim(storageClassName="s"),
            claim("2Gi", storageClassName="s"),
            False,
            "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must "
            "support resize",
        ),
    ],
)
def test_resize_of_claims(old: JsonObject, new: JsonObject, expandable: bool, reason: str) -> None:
    plugin = PersistentVolumeClaimResize(services(storage_classes(storage_class("s", allowVolumeExpansion=expandable))))
    found = rejection(plugin, request(new, old, plural=CLAIMS))
    assert found == (f'persistentvolumeclaims "v" is forbidden: {reason}' if reason else "")


def test_new_nodes_are_tainted() -> None:
    taint = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
    node: JsonObject = {"metadata": {"name": "n"}}
    obj = mutate(TaintNodesByCondition(services(FakeObjects())), request(node, plural="nodes"))
    assert obj["spec"]["taints"] == [taint]


@pytest.mark.parametrize(("old", "denied"), [(None, True), (["1.1.1.1"], False), (["2.2.2.2"], True)])
def test_new_external_ips_are_denied(old: list[str] | None, denied: bool) -> None:
    new, before = ({"metadata": {"name": "s"}, "spec": {"externalIPs": ips}} for ips in (["1.1.1.1"], old))
    attributes = request(new, before if old else None, plural="services")
    assert bool(rejection(DenyServiceExternalIPs(services(FakeObjects())), attributes)) is denied


def resized(cpu: str, generation: int) -> JsonObject:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    obj = pod(nodeName="n", containers=[container])
    obj["metadata"]["generation"] = generation
    return obj


@pytest.mark.parametrize(
    ("cpu", "system", "reason"),
    [
        ("2", "linux", ""),
        ("3", "linux", "node didn't have enough allocatable resources: cpu, requested: 3000, allocatable: 2000"),
        ("1", "windows", 'pod resize is only supported on linux nodes, node "n" is "windows"'),
    ],
)
def test_resized_pod_must_fit_on_its_node(cpu: str, system: str, reason: str) -> None:
    objects = FakeObjects()
    labels = {"kubernetes.io/os": system}
    objects.put("", "nodes", {"metadata": {"name": "n", "labels": labels}, "status": {"allocatable": {"cpu": "2"}}})
    attributes = request(resized(cpu, 2), resized("1", 1), subresource="resize")
    found = rejection(PodResizeValidator(services(objects)), attributes)
    assert found == (f'pods "p" is forbidden: {reason}' if reason else "")
