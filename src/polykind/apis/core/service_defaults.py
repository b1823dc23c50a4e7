"""Defaults of Services, and predicates about a Service's spec that several rules use."""

from __future__ import annotations

from polykind.contract import JsonObject

EXTERNAL_NAME = "ExternalName"
NO_CLUSTER_IP = "None"
_CLIENT_IP_SECONDS = 10800


def default_service(obj: JsonObject) -> None:
    """Set the defaults of a Service, in place."""
    spec = obj["spec"]
    if not spec.get("sessionAffinity"):
        spec["sessionAffinity"] = "None"
    if spec["sessionAffinity"] == "None":
        spec.pop("sessionAffinityConfig", None)
    elif spec["sessionAffinity"] == "ClientIP" and not _has_client_ip_timeout(spec):
        spec["sessionAffinityConfig"] = {"clientIP": {"timeoutSeconds": _CLIENT_IP_SECONDS}}
    if not spec.get("type"):
        spec["type"] = "ClusterIP"
    for port in spec.get("ports") or ():
        if not port.get("protocol"):
            port["protocol"] = "TCP"
        if port.get("targetPort", 0) in (0, ""):
            port["targetPort"] = port.get("port", 0)
    if is_externally_accessible(spec) and not spec.get("externalTrafficPolicy"):
        spec["externalTrafficPolicy"] = "Cluster"
    if spec.get("internalTrafficPolicy") is None and spec["type"] in ("NodePort", "LoadBalancer", "ClusterIP"):
        spec["internalTrafficPolicy"] = "Cluster"
    if spec["type"] == "LoadBalancer":
        _default_load_balancer(obj)


def _has_client_ip_timeout(spec: JsonObject) -> bool:
    client_ip = (spec.get("sessionAffinityConfig") or {}).get("clientIP") or {}
    return client_ip.get("timeoutSeconds") is not None


def _default_load_balancer(obj: JsonObject) -> None:
    if obj["spec"].get("allocateLoadBalancerNodePorts") is None:
        obj["spec"]["allocateLoadBalancerNodePorts"] = True
    for ingress in load_balancer_ingress(obj):
        if ingress.get("ip") and ingress.get("ipMode") is None:
            ingress["ipMode"] = "VIP"


def load_balancer_ingress(obj: JsonObject) -> list[JsonObject]:
    """Return the load balancer's addresses in the status of a Service."""
    status = obj.get("status") or {}
    ingress: list[JsonObject] = (status.get("loadBalancer") or {}).get("ingress") or []
    return ingress


def is_externally_accessible(spec: JsonObject) -> bool:
    """True if traffic from outside the cluster can reach the service."""
    return spec["type"] in ("LoadBalancer", "NodePort") or (
        spec["type"] == "ClusterIP" and bool(spec.get("externalIPs"))
    )


def needs_health_check(spec: JsonObject) -> bool:
    """True if the server allocates a healthCheckNodePort, at which load balancers check the health of nodes."""
    return spec["type"] == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"


def needs_cluster_ip(spec: JsonObject) -> bool:
    """True if a Service of this type has the field clusterIP. A headless service has the value `None` in it."""
    return bool(spec["type"] != EXTERNAL_NAME)


def is_headless(spec: JsonObject) -> bool:
    """True if the service has no virtual address, so that its name resolves to the addresses of its pods."""
    return spec.get("clusterIPs") == [NO_CLUSTER_IP]
