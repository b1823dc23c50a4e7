"""The strategy of Services: rules for creates and updates."""

from __future__ import annotations

from collections.abc import Sequence

from polykind import names
from polykind.addresses import cidr_warnings, ip_warnings
from polykind.apis.core.service_defaults import (
    EXTERNAL_NAME,
    NO_CLUSTER_IP,
    default_service,
    is_externally_accessible,
    load_balancer_ingress,
    needs_cluster_ip,
    needs_health_check,
)
from polykind.apis.core.service_validation import (
    TOPOLOGY_HINTS,
    TOPOLOGY_MODE,
    validate_service,
    validate_service_status,
    validate_service_update,
)
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.resources.builtin import BuiltinStrategy
from polykind.strategies.core.service_resource import ServiceResource

_EXPOSED_TYPES = ("NodePort", "LoadBalancer")


class ServiceStrategy(BuiltinStrategy):
    """Prepares Services for storage and validates them."""

    resource_class = ServiceResource
    unconditional_update = True
    creates_on_update = True
    returns_deleted_object = True
    name_rule = staticmethod(names.label_name)

    def default(self, obj: JsonObject) -> None:
        default_service(obj)

    def create_errors(self, obj: JsonObject) -> list[FieldError]:
        return self.meta_errors(obj, None) + validate_service(obj, None)

    def prepare_update(self, new: JsonObject, old: JsonObject) -> None:
        super().prepare_update(new, old)
        drop_type_dependent_fields(new["spec"], old["spec"])
        if new["spec"]["type"] != "LoadBalancer":
            new["status"] = {**(new.get("status") or {}), "loadBalancer": {}}

    def update_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        return self.meta_errors(new, old) + validate_service_update(new, old)

    def status_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        return self.meta_errors(new, old) + validate_service_status(new, old)

    def canonicalize(self, obj: JsonObject) -> None:
        if obj["spec"]["type"] == EXTERNAL_NAME:
            # kube-apiserver accepts internalTrafficPolicy in a Service of type ExternalName, but never returns it.
            obj["spec"].pop("internalTrafficPolicy", None)

    def warnings(self, new: JsonObject, old: JsonObject | None) -> list[str]:
        return service_warnings(new)

    def subresource_warnings(self, subresource: str, new: JsonObject, old: JsonObject) -> list[str]:
        found: list[str] = []
        for index, ingress in enumerate(load_balancer_ingress(new)):
            found += ip_warnings(ingress.get("ip") or "", f"status.loadBalancer.ingress[{index}]")
        return found


def drop_type_dependent_fields(spec: JsonObject, old_spec: JsonObject) -> None:
    """Remove fields that the new type of a Service does not have.

    Keep fields that the update changes, so that validation rejects them.
    """
    if needs_cluster_ip(old_spec) and not needs_cluster_ip(spec):
        if all(spec.get(field) == old_spec.get(field) for field in ("clusterIP", "clusterIPs")):
            spec.pop("clusterIP", None)
            spec.pop("clusterIPs", None)
        for field in ("ipFamilies", "ipFamilyPolicy"):
            _drop_unchanged(spec, old_spec, field)
    if old_spec["type"] in _EXPOSED_TYPES and spec["type"] not in _EXPOSED_TYPES:
        _drop_unchanged_ports(spec, old_spec)
    if needs_health_check(old_spec) and not needs_health_check(spec):
        _drop_unchanged(spec, old_spec, "healthCheckNodePort")
    if old_spec["type"] == "LoadBalancer" and spec["type"] != "LoadBalancer":
        _drop_unchanged(spec, old_spec, "allocateLoadBalancerNodePorts")
        _drop_unchanged(spec, old_spec, "loadBalancerClass")
    if is_externally_accessible(old_spec) and not is_externally_accessible(spec):
        _drop_unchanged(spec, old_spec, "externalTrafficPolicy")


def _drop_unchanged_ports(spec: JsonObject, old_spec: JsonObject) -> None:
    """Remove the node ports of a Service unless the update adds one."""
    if _node_ports(spec) <= _node_ports(old_spec):
        for port in spec.get("ports") or ():
            port.pop("nodePort", None)


def _node_ports(spec: JsonObject) -> set[int]:
    return {port["nodePort"] for port in spec.get("ports") or () if port.get("nodePort")}


def _drop_unchanged(spec: JsonObject, old_spec: JsonObject, field: str) -> None:
    if spec.get(field) == old_spec.get(field):
        spec.pop(field, None)


def service_warnings(service: JsonObject) -> list[str]:
    """Return kube-apiserver's warnings about deprecated and ignored fields of a Service."""
    spec, found = service["spec"], []
    external_ips = spec.get("externalIPs") or []
    is_headless = spec["type"] == "ClusterIP" and spec.get("clusterIP") == NO_CLUSTER_IP
    if TOPOLOGY_HINTS in (service["metadata"].get("annotations") or {}):
        found.append(f"annotation {TOPOLOGY_HINTS} is deprecated, please use {TOPOLOGY_MODE} instead")
    if spec.get("clusterIP") not in (None, "", NO_CLUSTER_IP):
        found += _all_ip_warnings(spec.get("clusterIPs") or (), "spec.clusterIPs")
    if is_headless:
        found += _headless_warnings(spec)
    found += _all_ip_warnings(external_ips, "spec.externalIPs")
    if external_ips and not is_headless and spec["type"] != EXTERNAL_NAME:
        found.append("spec.externalIPs is deprecated and may no longer be implemented in some clusters")
    if spec.get("loadBalancerIP"):
        found += ip_warnings(spec["loadBalancerIP"], "spec.loadBalancerIP")
    for index, cidr in enumerate(spec.get("loadBalancerSourceRanges") or ()):
        found += cidr_warnings(cidr, f"spec.loadBalancerSourceRanges[{index}]")
    return found + _type_warnings(spec)


def _all_ip_warnings(ips: Sequence[str], at: str) -> list[str]:
    return [warning for index, ip in enumerate(ips) for warning in ip_warnings(ip, f"{at}[{index}]")]


def _headless_warnings(spec: JsonObject) -> list[str]:
    ignored = {
        "loadBalancerIP": spec.get("loadBalancerIP"),
        "externalIPs": spec.get("externalIPs"),
        "SessionAffinity": spec.get("sessionAffinity") != "None",
    }
    return [f"spec.{field} is ignored for headless services" for field, is_set in ignored.items() if is_set]


def _type_warnings(spec: JsonObject) -> list[str]:
    found = []
    if spec["type"] == EXTERNAL_NAME and spec.get("externalIPs"):
        found.append('spec.externalIPs is ignored when spec.type is "ExternalName"')
    if spec["type"] != EXTERNAL_NAME and spec.get("externalName"):
        found.append('spec.externalName is ignored when spec.type is not "ExternalName"')
    if spec.get("trafficDistribution") == "PreferClose":
        found.append('spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"')
    return found
