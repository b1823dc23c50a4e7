"""Validation of Services."""

from __future__ import annotations

from polykind import errors, names
from polykind.addresses import cidr_errors, endpoint_ip_errors, ip_errors, parse_ip
from polykind.apis.core.cluster_ip_validation import (
    validate_cluster_ip_fields,
    validate_cluster_ips_update,
    validate_ip_families_update,
)
from polykind.apis.core.service_defaults import (
    EXTERNAL_NAME,
    is_externally_accessible,
    is_headless,
    load_balancer_ingress,
    needs_health_check,
)
from polykind.apis.core.types import CORE_V1
from polykind.apis.machinery.internal_types import show_internal
from polykind.apis.meta.validation import port_errors
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.schema.metadata_validation import validate_labels

_TYPES = ("ClusterIP", EXTERNAL_NAME, "LoadBalancer", "NodePort")
PROTOCOLS = ("SCTP", "TCP", "UDP")
_AFFINITIES = ("ClientIP", "None")
_TRAFFIC_POLICIES = ("Cluster", "Local")
_TRAFFIC_DISTRIBUTIONS = ("PreferClose", "PreferSameZone", "PreferSameNode")
_IP_MODES = ("Proxy", "VIP")
_MAX_AFFINITY_SECONDS = 86400
_ONLY_LOAD_BALANCERS = "may only be used when `type` is 'LoadBalancer'"
TOPOLOGY_MODE = "service.kubernetes.io/topology-mode"
TOPOLOGY_HINTS = "service.kubernetes.io/topology-aware-hints"
_SOURCE_RANGES = "service.beta.kubernetes.io/load-balancer-source-ranges"


def validate_service(service: JsonObject, old: JsonObject | None) -> list[FieldError]:
    """Validate a Service without its metadata. `old` is the stored Service of an update, None for a create."""
    spec, old_spec = service["spec"], old["spec"] if old is not None else {}
    found = _validate_topology_annotations(service["metadata"].get("annotations") or {})
    if not spec.get("ports") and not is_headless(spec) and spec["type"] != EXTERNAL_NAME:
        found.append(errors.required("spec.ports"))
    found += _validate_type_fields(spec)
    found += _validate_ports(spec)
    found += validate_labels(spec.get("selector"), "spec.selector")
    found += _validate_session_affinity(spec)
    found += validate_cluster_ip_fields(spec, old_spec)
    for index, ip in enumerate(spec.get("externalIPs") or ()):
        at = f"spec.externalIPs[{index}]"
        found += ip_errors(ip, at, old_spec.get("externalIPs") or ()) or endpoint_ip_errors(ip, at)
    if spec["type"] not in _TYPES:
        found.append(errors.not_supported("spec.type", spec["type"], _TYPES))
    found += _validate_node_ports(spec)
    found += _duplicate_ports(spec)
    found += _validate_source_ranges(service, old)
    found += _validate_load_balancer_fields(spec)
    found += _validate_traffic_policies(spec)
    return found


def validate_service_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    """Validate an update of a Service, without its metadata."""
    spec, old_spec = new["spec"], old["spec"]
    found = validate_cluster_ips_update(spec, old_spec) + validate_ip_families_update(spec, old_spec)
    load_balancer_class = spec.get("loadBalancerClass")
    if spec["type"] == old_spec["type"] == "LoadBalancer" and load_balancer_class != old_spec.get("loadBalancerClass"):
        found.append(errors.invalid("spec.loadBalancerClass", load_balancer_class, "may not change once set"))
    found += _validate_load_balancer_class(spec)
    if needs_health_check(spec) and needs_health_check(old_spec):
        field = "healthCheckNodePort"
        if spec.get(field, 0) != old_spec.get(field, 0):
            found.append(errors.forbidden(f"spec.{field}", "field is immutable"))
    return found + validate_service(new, old)


def validate_service_status(new: JsonObject, old: JsonObject) -> list[FieldError]:
    """Validate the load balancer's addresses in the status of a Service.

    Addresses of the old status may stay invalid.
    """
    ingress, at = load_balancer_ingress(new), "status.loadBalancer.ingress"
    if new["spec"]["type"] != "LoadBalancer" and ingress:
        return [errors.forbidden(at, "may only be used when `spec.type` is 'LoadBalancer'")]
    existing = [before["ip"] for before in load_balancer_ingress(old) if before.get("ip")]
    return [e for index, item in enumerate(ingress) for e in _validate_ingress(item, f"{at}[{index}]", existing)]


def _validate_ingress(ingress: JsonObject, at: str, existing: list[str]) -> list[FieldError]:
    ip, mode, hostname = ingress.get("ip") or "", ingress.get("ipMode"), ingress.get("hostname") or ""
    found = ip_errors(ip, f"{at}.ip", existing) if ip else []
    if mode is None:
        if ip:
            found.append(errors.required(f"{at}.ipMode", "must be specified when `ip` is set"))
    elif not ip:
        found.append(errors.forbidden(f"{at}.ipMode", "may not be specified when `ip` is not set"))
    elif mode not in _IP_MODES:
        found.append(errors.not_supported(f"{at}.ipMode", mode, _IP_MODES))
    if hostname:
        found += [errors.invalid(f"{at}.hostname", hostname, text) for text in names.dns1123_subdomain(hostname)]
        if parse_ip(hostname) is not None:
            found.append(errors.invalid(f"{at}.hostname", hostname, "must be a DNS name, not an IP address"))
    return found


def _validate_topology_annotations(annotations: JsonObject) -> list[FieldError]:
    mode, hints = annotations.get(TOPOLOGY_MODE), annotations.get(TOPOLOGY_HINTS)
    if mode is None or hints is None or mode == hints:
        return []
    reason = f"must match annotations[{TOPOLOGY_HINTS}] when both are specified"
    return [errors.invalid(f"metadata.annotations[{TOPOLOGY_MODE}]", mode, reason)]


def _validate_type_fields(spec: JsonObject) -> list[FieldError]:
    if spec["type"] in ("LoadBalancer", "NodePort") and is_headless(spec):
        reason = f"may not be set to 'None' for {spec['type']} services"
        return [errors.invalid("spec.clusterIPs[0]", spec["clusterIPs"][0], reason)]
    if spec["type"] != EXTERNAL_NAME:
        return []
    found = [
        errors.forbidden(f"spec.{field}", "may not be set for ExternalName services")
        for field in ("clusterIPs", "ipFamilies", "ipFamilyPolicy")
        if spec.get(field)
    ]
    host = (spec.get("externalName") or "").removesuffix(".")
    if not host:
        return [*found, errors.required("spec.externalName")]
    return found + [errors.invalid("spec.externalName", host, text) for text in names.dns1123_subdomain(host)]


def _validate_ports(spec: JsonObject) -> list[FieldError]:
    found: list[FieldError] = []
    ports = spec.get("ports") or []
    known: set[str] = set()
    for index, port in enumerate(ports):
        at, name = f"spec.ports[{index}]", port.get("name") or ""
        if not name and len(ports) > 1:
            found.append(errors.required(f"{at}.name"))
        elif name:
            found += [errors.invalid(f"{at}.name", name, text) for text in names.dns1123_label(name)]
            if name in known:
                found.append(errors.duplicate(f"{at}.name", name))
            known.add(name)
        found += _validate_port(port, at)
    return found


def _validate_port(port: JsonObject, at: str) -> list[FieldError]:
    number, protocol, target = port.get("port", 0), port.get("protocol") or "", port.get("targetPort", 0)
    found = [errors.invalid(f"{at}.port", number, text) for text in names.port_number(number)]
    if protocol not in PROTOCOLS:
        found.append(errors.not_supported(f"{at}.protocol", protocol, PROTOCOLS))
    found += port_errors(target, f"{at}.targetPort")
    if (app := port.get("appProtocol")) is not None:
        found += [errors.invalid(f"{at}.appProtocol", app, text) for text in names.qualified_name(app)]
    return found


def _validate_session_affinity(spec: JsonObject) -> list[FieldError]:
    affinity, config, at = spec["sessionAffinity"], spec.get("sessionAffinityConfig"), "spec.sessionAffinityConfig"
    if affinity not in _AFFINITIES:
        return [errors.not_supported("spec.sessionAffinity", affinity, _AFFINITIES)]
    if affinity == "None":
        reason = "must not be set when session affinity is None"
        return [errors.forbidden(at, reason)] if config is not None else []
    seconds = ((config or {}).get("clientIP") or {}).get("timeoutSeconds") or 0
    if 0 < seconds <= _MAX_AFFINITY_SECONDS:
        return []
    reason = f"must be greater than 0 and less than {_MAX_AFFINITY_SECONDS}"
    return [errors.invalid(f"{at}.clientIP.timeoutSeconds", seconds, reason)]


def _validate_node_ports(spec: JsonObject) -> list[FieldError]:
    ports = [(f"spec.ports[{i}].nodePort", port) for i, port in enumerate(spec.get("ports") or ())]
    used = [(at, port) for at, port in ports if port.get("nodePort")]
    found = []
    if spec["type"] == "ClusterIP":
        found = [errors.forbidden(at, "may not be used when `type` is 'ClusterIP'") for at, _ in used]
    known = set()
    for at, port in used:
        key = (port.get("protocol"), port["nodePort"])
        if key in known:
            found.append(errors.duplicate(at, port["nodePort"]))
        known.add(key)
    return found


def _duplicate_ports(spec: JsonObject) -> list[FieldError]:
    found, known = [], set()
    for index, port in enumerate(spec.get("ports") or ()):
        protocol, number = port.get("protocol") or "", port.get("port", 0)
        if (protocol, number) in known:
            value = show_internal(CORE_V1.struct("ServicePort"), {"protocol": protocol, "port": number})
            found.append(errors.duplicate(f"spec.ports[{index}]", value))
        known.add((protocol, number))
    return found


def _validate_source_ranges(service: JsonObject, old: JsonObject | None) -> list[FieldError]:
    """Validate the addresses that may use a load balancer, in the field or in the annotation that preceded it."""
    ranges, value = service["spec"].get("loadBalancerSourceRanges"), _annotated_ranges(service)
    if not ranges and value is None:
        return []
    at = "spec.LoadBalancerSourceRanges" if ranges else f"metadata.annotations[{_SOURCE_RANGES}]"
    found = [] if service["spec"]["type"] == "LoadBalancer" else [errors.forbidden(at, _ONLY_LOAD_BALANCERS)]
    if ranges:
        before = old["spec"].get("loadBalancerSourceRanges") if old is not None else None
        existing = [text.strip() for text in before or ()]
        for index, text in enumerate(ranges):
            found += cidr_errors(text.strip(), f"{at}[{index}]", existing)
        return found
    if old is not None and _annotated_ranges(old) == value:
        return found
    texts = _split(value or "")
    return found + [error for text in texts for error in cidr_errors(text, at)]


def _split(ranges: str) -> list[str]:
    return [text.strip() for text in ranges.split(",")] if ranges.strip() else []


def _annotated_ranges(service: JsonObject) -> str | None:
    ranges: str | None = (service["metadata"].get("annotations") or {}).get(_SOURCE_RANGES)
    return ranges


def _validate_load_balancer_fields(spec: JsonObject) -> list[FieldError]:
    field, found = "allocateLoadBalancerNodePorts", []
    if spec["type"] == "LoadBalancer":
        if spec.get(field) is None:
            found.append(errors.required(field))
    elif spec.get(field) is not None:
        found.append(errors.forbidden(f"spec.{field}", _ONLY_LOAD_BALANCERS))
    return found + _validate_load_balancer_class(spec)


def _validate_load_balancer_class(spec: JsonObject) -> list[FieldError]:
    value, at = spec.get("loadBalancerClass"), "spec.loadBalancerClass"
    if value is None:
        return []
    if spec["type"] != "LoadBalancer":
        return [errors.forbidden(at, _ONLY_LOAD_BALANCERS)]
    return [errors.invalid(at, value, text) for text in names.qualified_name(value)]


def _validate_traffic_policies(spec: JsonObject) -> list[FieldError]:
    found: list[FieldError] = []
    external, port = spec.get("externalTrafficPolicy") or "", spec.get("healthCheckNodePort", 0)
    at = "spec.externalTrafficPolicy"
    if not is_externally_accessible(spec):
        if external:
            found.append(errors.invalid(at, external, "may only be set for externally-accessible services"))
    elif external not in _TRAFFIC_POLICIES:
        found.append(errors.not_supported(at, external, _TRAFFIC_POLICIES))
    at = "spec.healthCheckNodePort"
    if not needs_health_check(spec):
        if port:
            reason = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
            found.append(errors.invalid(at, port, reason))
    elif port == 0:
        found.append(errors.required(at))
    else:
        found += [errors.invalid(at, port, text) for text in names.port_number(port)]
    internal, distribution = spec.get("internalTrafficPolicy"), spec.get("trafficDistribution")
    if internal is not None and internal not in _TRAFFIC_POLICIES:
        found.append(errors.not_supported("spec.internalTrafficPolicy", internal, _TRAFFIC_POLICIES))
    if distribution is not None and distribution not in _TRAFFIC_DISTRIBUTIONS:
        found.append(errors.not_supported("spec.trafficDistribution", distribution, _TRAFFIC_DISTRIBUTIONS))
    return found
