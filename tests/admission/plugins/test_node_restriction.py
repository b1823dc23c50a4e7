"""The NodeRestriction plugin."""

from __future__ import annotations

from typing import Any

import pytest

from polykind import errors
from polykind.admission.plugins.node_restriction import NodeRestriction, node_name
from polykind.auth.user import User
from polykind.contract import JsonObject
from tests.admission.plugins.plugin_support import FakeObjects, mutate, pod, rejection, request, services

KUBELET = User("system:node:n1", groups=("system:nodes",))


def node(name: str = "n1", labels: JsonObject | None = None, **spec: Any) -> JsonObject:
    return {"metadata": {"name": name, "uid": "u", "labels": labels or {}}, "spec": spec}


def mirror(owner: JsonObject | None = None, **spec: Any) -> JsonObject:
    obj = pod(**{"nodeName": "n1", **spec})
    fields = {"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "u", "controller": True, **(owner or {})}
    obj["metadata"] |= {"annotations": {"kubernetes.io/config.mirror": "x"}, "ownerReferences": [fields]}
    return obj


def reason(obj: JsonObject | None, old: JsonObject | None = None, **more: Any) -> str:
    """Return why a kubelet's request is rejected."""
    objects = FakeObjects()
    objects.put("", "nodes", node())
    mine = {"name": "mine", "uid": "m", "namespace": "default"}
    objects.put("", "pods", {**pod(nodeName="n1"), "metadata": mine})
    plugin = NodeRestriction(services(objects))
    attributes = request(obj, old, **{"user": KUBELET, **more})
    try:
        if obj is None:
            return rejection(plugin, attributes).partition("forbidden: ")[2]
        mutate(plugin, attributes)
    except errors.APIError as error:
        return error.message.partition("forbidden: ")[2]
    return ""


def test_only_kubelets_are_restricted() -> None:
    assert node_name(KUBELET) == "n1"
    assert node_name(User("system:node:n1")) is None
    assert reason(pod(), user=User("ann")) == ""


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        (mirror(), ""),
        (pod(), 'pod does not have "kubernetes.io/config.mirror" annotation, node "n1" can only create mirror pods'),
        (mirror(nodeName="n2"), 'node "n1" can only create pods with spec.nodeName set to itself'),
        (mirror({"name": "n2"}), 'node "n1" can only create pods with an owner reference set to itself'),
        (
            mirror({"controller": False}),
            'node "n1" can only create pods with a controller owner reference set to itself',
        ),
        (mirror({"uid": "other"}), "node n1 UID mismatch: expected other got u"),
        (mirror(serviceAccountName="a"), 'node "n1" can not create pods that reference serviceaccounts'),
        (
            mirror(volumes=[{"name": "v", "projected": {"sources": [{"secret": {}}]}}]),
            'node "n1" can not create pods that reference secrets',
        ),
    ],
)
def test_creation_of_pods(obj: JsonObject, expected: str) -> None:
    assert reason(obj) == expected


def test_deletion_of_pods() -> None:
    assert reason(None, pod(nodeName="n1")) == ""
    assert reason(None, pod(nodeName="n2")) == 'node "n1" can only delete pods with spec.nodeName set to itself'


@pytest.mark.parametrize(
    ("new", "old", "expected"),
    [
        (node(labels={"kubernetes.io/os": "linux", "kubelet.kubernetes.io/x": "y", "mine": "z"}), None, ""),
        (node("n2"), None, 'node "n1" is not allowed to modify node "n2"'),
        (
            node(labels={"x.node-restriction.kubernetes.io/a": "b", "k8s.io/c": "d"}),
            None,
            'node "n1" is not allowed to set the following labels: k8s.io/c, x.node-restriction.kubernetes.io/a',
        ),
        (node(), node(labels={"k8s.io/c": "d"}), "is not allowed to modify labels: k8s.io/c"),
        (node(taints=[{"key": "a"}]), node(), 'node "n1" is not allowed to modify taints'),
    ],
)
def test_changes_of_nodes(new: JsonObject, old: JsonObject | None, expected: str) -> None:
    assert reason(new, old, plural="nodes") == expected


@pytest.mark.parametrize(
    ("bound", "expected"),
    [
        ({}, "node requested token not bound to a pod"),
        ({"name": "mine"}, "node requested token with a pod binding without a uid"),
        (
            {"name": "mine", "uid": "other"},
            "the UID in the bound object reference (other) does not match the UID in record. "
            "The object might have been deleted and then recreated",
        ),
        ({"name": "mine", "uid": "m"}, ""),
    ],
)
def test_tokens(bound: JsonObject, expected: str) -> None:
    token = {"metadata": {"name": "a"}, "spec": {"boundObjectRef": {"apiVersion": "v1", "kind": "Pod", **bound}}}
    assert reason(token, plural="serviceaccounts", subresource="token") == expected


def test_leases() -> None:
    lease = {"metadata": {"name": "n1"}}
    more: dict[str, Any] = {"group": "coordination.k8s.io", "plural": "leases"}
    assert reason(lease, namespace="kube-node-lease", **more) == ""
    assert reason(lease, **more) == 'can only access leases in the "kube-node-lease" system namespace'
