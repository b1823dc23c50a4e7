"""Columns of `kubectl get` for the kinds of the core group."""

from __future__ import annotations

from polykind.apis.machinery.columns import AGE, count, labels_at, value_at
from polykind.codec.table import Column
from polykind.contract import JsonObject

CONFIG_MAP = (Column("Data", "string", "The number of values", count("data", "binaryData")), AGE)
NAMESPACE = (Column("Status", "string", "The phase of the namespace", value_at("status", "phase", default="")), AGE)


def _cluster_ip(obj: JsonObject) -> str:
    addresses = obj["spec"].get("clusterIPs")
    return str(addresses[0]) if addresses else "<none>"


def _external_ip(obj: JsonObject) -> str:
    spec = obj["spec"]
    kind, addresses = spec.get("type"), spec.get("externalIPs") or []
    if kind == "ExternalName":
        return str(spec.get("externalName", ""))
    if kind == "LoadBalancer":
        return ",".join([*_load_balancer_addresses(obj), *addresses]) or "<pending>"
    return ",".join(addresses) or "<none>" if kind in ("ClusterIP", "NodePort") else "<unknown>"


def _load_balancer_addresses(obj: JsonObject) -> list[str]:
    """Return the distinct addresses of a load balancer, sorted."""
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
