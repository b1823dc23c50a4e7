"""Columns of `kubectl get nodes`."""

from __future__ import annotations

from collections.abc import Callable

from polykind.apis.machinery.columns import AGE, condition_of, value_at
from polykind.codec.table import Column
from polykind.contract import JsonObject

_ROLE_PREFIX = "node-role.kubernetes.io/"
_ROLE_LABEL = "kubernetes.io/role"


def _status(node: JsonObject) -> str:
    ready = condition_of(reversed(node["status"].get("conditions") or []), "Ready")
    text = "Unknown" if ready is None else "Ready" if ready.get("status") == "True" else "NotReady"
    return f"{text},SchedulingDisabled" if node["spec"].get("unschedulable") else text


def _roles(node: JsonObject) -> str:
    roles = {
        key.removeprefix(_ROLE_PREFIX) if key.startswith(_ROLE_PREFIX) else value
        for key, value in (node["metadata"].get("labels") or {}).items()
        if key.startswith(_ROLE_PREFIX) or key == _ROLE_LABEL
    }
    return ",".join(sorted(roles - {""})) or "<none>"


def _address(kind: str) -> Callable[[JsonObject], str]:
    """Return a function that computes a cell: the first address of a node that has the type `kind`."""
    return lambda node: (condition_of(node["status"].get("addresses"), kind) or {}).get("address", "<none>")


def _info(name: str) -> Callable[[JsonObject], str]:
    return value_at("status", "nodeInfo", name, default="<unknown>")


def _kernel(node: JsonObject) -> str:
    architecture = node["status"]["nodeInfo"].get("architecture")
    kernel = _info("kernelVersion")(node)
    return f"{kernel} ({architecture})" if architecture else kernel


NODE = (
    Column("Status", "string", "The state of the node in short", _status),
    Column("Roles", "string", "The roles of the node, from its labels", _roles),
    AGE,
    Column("Version", "string", "The version of the kubelet", value_at("status", "nodeInfo", "kubeletVersion")),
    Column("Internal-IP", "string", "The address inside the cluster", _address("InternalIP"), priority=1),
    Column("External-IP", "string", "The address outside of the cluster", _address("ExternalIP"), priority=1),
    Column("OS-Image", "string", "The operating system", _info("osImage"), priority=1),
    Column("Kernel-Version", "string", "The version of the kernel", _kernel, priority=1),
    Column("Container-Runtime", "string", "The container runtime", _info("containerRuntimeVersion"), priority=1),
)
