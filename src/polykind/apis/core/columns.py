"""Columns of `kubectl get` for the kinds of the core group, except Pod, Node and Event."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from polykind.apis.core import event_columns, node_columns, pod_columns, types
from polykind.apis.machinery.columns import (
    AGE,
    condition_of,
    container_columns,
    count,
    first_items,
    labels_at,
    value_at,
)
from polykind.apis.machinery.kinds import Columns, Kind
from polykind.codec.table import Column
from polykind.contract import JsonObject

CONFIG_MAP = (Column("Data", "string", "The number of values", count("data", "binaryData")), AGE)
NAMESPACE = (Column("Status", "string", "The phase of the namespace", value_at("status", "phase", default="")), AGE)
SECRET = (
    Column("Type", "string", "The type of the secret", value_at("type", default="")),
    Column("Data", "string", "The number of values", count("data")),
    AGE,
)
SERVICE_ACCOUNT = (AGE,)


def _cluster_ip(obj: JsonObject) -> str:
    addresses = obj["spec"].get("clusterIPs")
    return str(addresses[0]) if addresses else "<none>"


def _external_ip(obj: JsonObject) -> str:
    spec = obj["spec"]
    kind, addresses = spec.get("type"), spec.get("externalIPs") or []
    if kind == "ExternalName":
        return str(spec.get("externalName", ""))
    if kind == "LoadBalancer":
        return ",".join([*load_balancer_addresses(obj), *addresses]) or "<pending>"
    return ",".join(addresses) or "<none>" if kind in ("ClusterIP", "NodePort") else "<unknown>"


def load_balancer_addresses(obj: JsonObject) -> list[str]:
    """Return the distinct addresses of a load balancer in the status of a Service or Ingress, sorted."""
    ingress = obj["status"]["loadBalancer"].get("ingress") or ()
    return sorted({point.get("ip") or point.get("hostname") or "" for point in ingress} - {""})


def _service_ports(obj: JsonObject) -> str:
    return ",".join(_service_port(port) for port in obj["spec"].get("ports") or ()) or "<none>"


def _service_port(port: JsonObject) -> str:
    node_port = f":{port['nodePort']}" if port.get("nodePort") else ""
    return f"{port['port']}{node_port}/{port.get('protocol', '')}"


SERVICE = (
    Column("Type", "string", "The type of the service", value_at("spec", "type", default="")),
    Column("Cluster-IP", "string", "The virtual address of the service", _cluster_ip),
    Column("External-IP", "string", "The addresses outside of the cluster", _external_ip),
    Column("Port(s)", "string", "The ports of the service", _service_ports),
    AGE,
    Column("Selector", "string", "The labels of the pods of the service", labels_at("spec", "selector"), priority=1),
)


def _endpoints(obj: JsonObject) -> str:
    subsets = obj.get("subsets")
    return first_items(list(_host_ports(subsets)), 3) if subsets else "<none>"


def _host_ports(subsets: Iterable[JsonObject]) -> Iterable[str]:
    for subset in subsets:
        addresses = [address["ip"] for address in subset.get("addresses") or ()]
        ports = subset.get("ports")
        if not ports:
            yield from addresses
        for port in ports or ():
            yield from (f"[{ip}]:{port['port']}" if ":" in ip else f"{ip}:{port['port']}" for ip in addresses)


ENDPOINTS = (Column("Endpoints", "string", "The addresses and ports of the endpoints", _endpoints), AGE)

POD_TEMPLATE = (
    *(column._replace(priority=0) for column in container_columns("template")),
    Column("Pod Labels", "string", "The labels of the pod template", labels_at("template", "metadata", "labels")),
)

REPLICATION_CONTROLLER = (
    Column("Desired", "integer", "The desired number of pods", value_at("spec", "replicas", default=0)),
    Column("Current", "integer", "The number of pods", value_at("status", "replicas", default=0)),
    Column("Ready", "integer", "The number of ready pods", value_at("status", "readyReplicas", default=0)),
    AGE,
    *container_columns("spec", "template"),
    Column("Selector", "string", "The labels of the controlled pods", labels_at("spec", "selector"), priority=1),
)


def _quota(*, limits: bool) -> Callable[[JsonObject], str]:
    """Return a function that computes a cell: the used amounts and hard limits in a quota.

    If `limits` is true, the cell shows the resources whose names start with `limits.`. Otherwise it shows all others.
    """

    def cell(obj: JsonObject) -> str:
        used = obj["status"].get("used") or {}
        return ", ".join(
            f"{name}: {used.get(name, '0')}/{hard}"
            for name, hard in sorted((obj["status"].get("hard") or {}).items())
            if name.startswith("limits.") is limits
        )

    return cell


RESOURCE_QUOTA = (
    Column("Request", "string", "The used and the allowed amounts", _quota(limits=False)),
    Column("Limit", "string", "The used and the allowed sums of container limits", _quota(limits=True)),
    AGE,
)

_ACCESS_MODES = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}
_CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"


def _access_modes(modes: list[str] | None) -> str:
    return ",".join(short for mode, short in _ACCESS_MODES.items() if mode in (modes or ()))


def _phase(obj: JsonObject) -> str:
    return "Terminating" if "deletionTimestamp" in obj["metadata"] else str(obj["status"].get("phase", ""))


def _storage_class(obj: JsonObject) -> str:
    annotated = (obj["metadata"].get("annotations") or {}).get(_CLASS_ANNOTATION)
    return str(annotated if annotated is not None else obj["spec"].get("storageClassName", ""))


def _optional(name: str) -> Callable[[JsonObject], Any]:
    """Return a function that computes a cell: a field of the spec, or `<unset>` if the field is not set."""
    return lambda obj: obj["spec"].get(name, "<unset>")


def _claim(obj: JsonObject) -> str:
    claim = obj["spec"].get("claimRef")
    return f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim is not None else ""


_VOLUME_CLASS_COLUMNS = (
    Column("StorageClass", "string", "The storage class", _storage_class),
    Column(
        "VolumeAttributesClass", "string", "The class of mutable attributes", _optional("volumeAttributesClassName")
    ),
)
_VOLUME_MODE = Column("VolumeMode", "string", "Filesystem or Block", _optional("volumeMode"), priority=1)

PERSISTENT_VOLUME = (
    Column("Capacity", "string", "The size of the volume", value_at("spec", "capacity", "storage", default="0")),
    Column(
        "Access Modes",
        "string",
        "The ways in which nodes can mount the volume",
        lambda obj: _access_modes(obj["spec"].get("accessModes")),
    ),
    Column(
        "Reclaim Policy",
        "string",
        "The treatment of the volume after its release",
        value_at("spec", "persistentVolumeReclaimPolicy", default=""),
    ),
    Column("Status", "string", "The phase of the volume", _phase),
    Column("Claim", "string", "The claim to which the volume is bound", _claim),
    *_VOLUME_CLASS_COLUMNS,
    Column("Reason", "string", "The reason for the phase", value_at("status", "reason", default="")),
    AGE,
    _VOLUME_MODE,
)


def _claim_capacity(obj: JsonObject) -> str:
    if not obj["spec"].get("volumeName"):
        return ""
    return str((obj["status"].get("capacity") or {}).get("storage", "0"))


def _claim_access_modes(obj: JsonObject) -> str:
    return _access_modes(obj["status"].get("accessModes")) if obj["spec"].get("volumeName") else ""


PERSISTENT_VOLUME_CLAIM = (
    Column("Status", "string", "The phase of the claim", _phase),
    Column("Volume", "string", "The volume to which the claim is bound", value_at("spec", "volumeName", default="")),
    Column("Capacity", "string", "The size of the volume", _claim_capacity),
    Column("Access Modes", "string", "The ways in which nodes can mount the volume", _claim_access_modes),
    *_VOLUME_CLASS_COLUMNS,
    AGE,
    _VOLUME_MODE,
)


def _health(obj: JsonObject) -> str:
    healthy = condition_of(obj.get("conditions"), "Healthy")
    if healthy is None:
        return "Unknown"
    return "Healthy" if healthy.get("status") == "True" else "Unhealthy"


def _health_text(name: str) -> Callable[[JsonObject], str]:
    return lambda obj: (condition_of(obj.get("conditions"), "Healthy") or {}).get(name, "")


COMPONENT_STATUS = (
    Column("Status", "string", "The health of the component", _health),
    Column("Message", "string", "A readable explanation", _health_text("message")),
    Column("Error", "string", "The error of a failed health check", _health_text("error")),
)

COLUMNS: Mapping[Kind, Columns] = {
    types.PERSISTENT_VOLUME_CLAIM: PERSISTENT_VOLUME_CLAIM,
    types.PERSISTENT_VOLUME: PERSISTENT_VOLUME,
    types.POD: pod_columns.POD,
    types.POD_TEMPLATE: POD_TEMPLATE,
    types.NODE: node_columns.NODE,
    types.SERVICE: SERVICE,
    types.ENDPOINTS: ENDPOINTS,
    types.REPLICATION_CONTROLLER: REPLICATION_CONTROLLER,
    types.RESOURCE_QUOTA: RESOURCE_QUOTA,
    types.EVENT: event_columns.CORE_EVENT,
    types.NAMESPACE: NAMESPACE,
    types.COMPONENT_STATUS: COMPONENT_STATUS,
    types.CONFIG_MAP: CONFIG_MAP,
    types.SECRET: SECRET,
    types.SERVICE_ACCOUNT: SERVICE_ACCOUNT,
}
