"""Fields of a Service that the server sets: cluster IPs, IP families and, in an update, values allocated before."""

from __future__ import annotations

from collections.abc import Sequence

from polykind import errors
from polykind.addresses import ip_family
from polykind.apis.core.cluster_ip_validation import IP_FAMILIES, validate_cluster_ip_fields
from polykind.apis.core.service_defaults import EXTERNAL_NAME, NO_CLUSTER_IP, needs_cluster_ip, needs_health_check
from polykind.contract import JsonObject
from polykind.errors import FieldError

_SINGLE, _PREFER, _REQUIRE = "SingleStack", "PreferDualStack", "RequireDualStack"
_POLICY_FIELD = "spec.ipFamilyPolicy"


def normalize_cluster_ips(spec: JsonObject, old_spec: JsonObject | None) -> None:
    """Set `clusterIPs` from `clusterIP`, in place, for clients that know only the older field `clusterIP`."""
    ip, ips = spec.get("clusterIP") or "", spec.get("clusterIPs") or []
    if old_spec is None:
        if ip and not ips:
            spec["clusterIPs"] = [ip]
        return
    old_ip, old_ips = old_spec.get("clusterIP") or "", old_spec.get("clusterIPs") or []
    if old_ips and not ips and ip == old_ip:
        spec["clusterIPs"] = list(old_ips)
    elif ip != old_ip and ips == old_ips:
        if ip:
            spec["clusterIPs"] = [ip]
        else:
            spec.pop("clusterIPs", None)


def needs_node_port(spec: JsonObject) -> bool:
    """True if the server allocates a node port for every port of the service."""
    allocates = spec.get("allocateLoadBalancerNodePorts")
    return spec["type"] == "NodePort" or (spec["type"] == "LoadBalancer" and allocates is not False)


def patch_allocated_values(spec: JsonObject, old_spec: JsonObject) -> None:
    """Copy the allocated IPs and ports that an update omits from `old_spec`, so that clients can repeat a manifest."""
    if needs_cluster_ip(spec) and needs_cluster_ip(old_spec):
        for field in ("clusterIP", "clusterIPs"):
            if not spec.get(field) and old_spec.get(field):
                spec[field] = old_spec[field]
    if needs_node_port(spec) and needs_node_port(old_spec):
        _patch_node_ports(spec.get("ports") or (), old_spec.get("ports") or ())
    field = "healthCheckNodePort"
    if needs_health_check(spec) and needs_health_check(old_spec) and not spec.get(field) and old_spec.get(field):
        spec[field] = old_spec[field]


def _patch_node_ports(ports: Sequence[JsonObject], old_ports: Sequence[JsonObject]) -> None:
    """Copy the node ports that an update omits from the old ports with the same names."""
    used = {port.get("nodePort", 0) for port in ports} & {port.get("nodePort", 0) for port in old_ports} - {0}
    by_name = {port.get("name") or "": port.get("nodePort", 0) for port in old_ports}
    for port in ports:
        known = by_name.get(port.get("name") or "", 0)
        if not port.get("nodePort") and known and known not in used:
            port["nodePort"] = known


def keeps_dual_stack_preference(spec: JsonObject, old_spec: JsonObject | None) -> bool:
    """True if an update of a PreferDualStack service leaves its type, cluster IPs and IP families unchanged.

    The server then leaves the IP families unchanged, too, even if the cluster has meanwhile become dual-stack or
    single-stack.
    """
    return (
        old_spec is not None
        and spec.get("ipFamilyPolicy") == _PREFER
        and old_spec.get("ipFamilyPolicy") in (None, _PREFER)
        and spec["type"] == old_spec["type"] != EXTERNAL_NAME
        and all((spec.get(field) or []) == (old_spec.get(field) or []) for field in ("clusterIPs", "ipFamilies"))
    )


def init_ip_families(spec: JsonObject, old_spec: JsonObject | None, configured: Sequence[str]) -> list[FieldError]:
    """Set the IP families and their policy, in place.

    `configured` are the families of the cluster, the default first.
    """
    if spec["type"] == EXTERNAL_NAME or keeps_dual_stack_preference(spec, old_spec):
        return []
    headless_without_selector = spec.get("clusterIP") == NO_CLUSTER_IP and not spec.get("selector")
    if spec.get("ipFamilyPolicy") is None:
        old_policy = (old_spec or {}).get("ipFamilyPolicy")
        spec["ipFamilyPolicy"] = old_policy or (_REQUIRE if headless_without_selector else _SINGLE)
    if found := validate_cluster_ip_fields(spec, old_spec or {}):
        return found
    found = _fit_to_policy(spec, old_spec) + _infer_families(spec, configured)
    if found:
        return found
    if headless_without_selector:
        _complete_families(spec, configured[0], dual_stack=True)
        return []
    found = _unavailable_families(spec, configured)
    if not found:
        _complete_families(spec, configured[0], dual_stack=len(configured) == 2)
    return found


def _unavailable_families(spec: JsonObject, configured: Sequence[str]) -> list[FieldError]:
    """Return an error for each family that a Service requires and the cluster does not have."""
    found = []
    if spec["ipFamilyPolicy"] == _REQUIRE and len(configured) < 2:
        reason = "this cluster is not configured for dual-stack services"
        found.append(errors.invalid(_POLICY_FIELD, _REQUIRE, reason))
    for index, family in enumerate(spec.get("ipFamilies") or ()):
        if family not in configured:
            found.append(errors.invalid(f"spec.ipFamilies[{index}]", family, "not configured on this cluster"))
    return found


def _fit_to_policy(spec: JsonObject, old_spec: JsonObject | None) -> list[FieldError]:
    """Remove the secondary IP and family if an update changes the policy to SingleStack.

    Return the conflicts with the policy.
    """
    policy, found = spec["ipFamilyPolicy"], []
    for field, name in (("clusterIPs", "cluster IP"), ("ipFamilies", "IP family")) if old_spec is not None else ():
        values, old_values = spec.get(field) or [], (old_spec or {}).get(field) or []
        if policy == _SINGLE and values == old_values and len(values) > 1:
            spec[field] = values[:1]
        elif policy != _SINGLE and 0 < len(values) < len(old_values):
            reason = f"must be 'SingleStack' to release the secondary {name}"
            found.append(errors.invalid(_POLICY_FIELD, policy, reason))
    for field, name in (("clusterIPs", "cluster IPs"), ("ipFamilies", "IP families")):
        if policy == _SINGLE and len(spec.get(field) or ()) == 2:
            reason = f"must be 'RequireDualStack' or 'PreferDualStack' when multiple {name} are specified"
            found.append(errors.invalid(_POLICY_FIELD, policy, reason))
    return found


def _infer_families(spec: JsonObject, configured: Sequence[str]) -> list[FieldError]:
    found = []
    ips = spec.get("clusterIPs") or []
    for index, ip in enumerate(ips):
        if ip == NO_CLUSTER_IP:
            break
        families = spec.get("ipFamilies") or []
        if index >= len(families):
            family = ip_family(ip)
            if family in configured:
                spec["ipFamilies"] = [*families, family]
            else:
                reason = f"{family} is not configured on this cluster"
                found.append(errors.invalid(f"spec.clusterIPs[{index}]", ips, reason))
    return found


def _complete_families(spec: JsonObject, default: str, *, dual_stack: bool) -> None:
    """Set `ipFamilies` to the default family if unset.

    Add the other family if `dual_stack` is true and the policy allows it.
    """
    families = spec.get("ipFamilies") or [default]
    if dual_stack and len(families) == 1 and spec["ipFamilyPolicy"] != _SINGLE:
        families = [*families, *(family for family in IP_FAMILIES if family != families[0])]
    spec["ipFamilies"] = families


def default_stored_service(spec: JsonObject, default_family: str) -> None:
    """Set fields of a stored Service that are missing if an older server has written it."""
    normalize_cluster_ips(spec, None)
    if spec["type"] == EXTERNAL_NAME:
        spec.pop("internalTrafficPolicy", None)
        return
    if spec.get("ipFamilies"):
        return
    if spec.get("clusterIP") == NO_CLUSTER_IP:
        spec["ipFamilyPolicy"] = _SINGLE if spec.get("selector") else _REQUIRE
        _complete_families(spec, default_family, dual_stack=True)
    elif ips := spec.get("clusterIPs"):
        spec["ipFamilies"] = [ip_family(ip) for ip in ips]
        spec["ipFamilyPolicy"] = _SINGLE if len(ips) == 1 else _REQUIRE
