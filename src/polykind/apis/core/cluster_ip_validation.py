"""Validation of the fields `clusterIPs`, `ipFamilies` and `ipFamilyPolicy` of a Service."""

from __future__ import annotations

from polykind import errors
from polykind.addresses import ip_errors, ip_family
from polykind.apis.core.service_defaults import EXTERNAL_NAME, NO_CLUSTER_IP, is_headless
from polykind.contract import JsonObject
from polykind.errors import FieldError

IP_FAMILIES = ("IPv4", "IPv6")
_FAMILY_POLICIES = ("PreferDualStack", "RequireDualStack", "SingleStack")
_IMMUTABLE = "may not change once set"
_AT = "spec.clusterIPs"


def validate_cluster_ip_fields(spec: JsonObject, old_spec: JsonObject) -> list[FieldError]:
    """Validate the cluster IPs and IP families. `old_spec` is the spec before an update, empty for a create."""
    if spec["type"] == EXTERNAL_NAME:
        return []
    ips, families = spec.get("clusterIPs") or [], spec.get("ipFamilies") or []
    found = _validate_first_ip(spec.get("clusterIP") or "", ips) + _validate_families(families)
    policy = spec.get("ipFamilyPolicy")
    if policy is not None and policy not in _FAMILY_POLICIES:
        found.append(errors.not_supported("spec.ipFamilyPolicy", policy, _FAMILY_POLICIES))
    invalid = _validate_ips(ips, old_spec.get("clusterIPs") or [])
    found += invalid
    if len(ips) > 2:
        found.append(errors.invalid(_AT, ips, "may only hold up to 2 values"))
    if invalid:
        return found
    if len(ips) > 1 and len({ip_family(ip) for ip in ips}) < 2:
        found.append(errors.invalid(_AT, ips, "may specify no more than one IP for each IP family"))
    return found if is_headless(spec) else found + _mismatched_families(ips, families)


def _mismatched_families(ips: list[str], families: list[str]) -> list[FieldError]:
    found = []
    for index, (ip, family) in enumerate(zip(ips, families, strict=False)):
        if family in IP_FAMILIES and ip_family(ip) != family:
            reason = f"expected an {family} value as indicated by `ipFamilies[{index}]`"
            found.append(errors.invalid(f"{_AT}[{index}]", ip, reason))
    return found


def _validate_first_ip(ip: str, ips: list[str]) -> list[FieldError]:
    if ip and not ips:
        return [errors.required(_AT)]
    if ip and ips[0] != ip:
        return [errors.invalid(_AT, ips, "first value must match `clusterIP`")]
    if not ip and ips:
        return [errors.invalid(_AT, ips, "must be empty when `clusterIP` is not specified")]
    return []


def _validate_families(families: list[str]) -> list[FieldError]:
    found = []
    for index, family in enumerate(families):
        at = f"spec.ipFamilies[{index}]"
        if family not in IP_FAMILIES:
            found.append(errors.not_supported(at, family, IP_FAMILIES))
        if family in families[:index]:
            found.append(errors.duplicate(at, family))
    return found


def _validate_ips(ips: list[str], existing: list[str]) -> list[FieldError]:
    found = []
    for index, ip in enumerate(ips):
        if index == 0 and ip == NO_CLUSTER_IP:
            if len(ips) > 1:
                found.append(errors.invalid(_AT, ips, "'None' must be the first and only value"))
        else:
            found += ip_errors(ip, f"{_AT}[{index}]", existing)
    return found


def validate_cluster_ips_update(spec: JsonObject, old_spec: JsonObject) -> list[FieldError]:
    """Validate that an update does not change the cluster IPs. An update may only add or remove the secondary IP."""
    if EXTERNAL_NAME in (spec["type"], old_spec["type"]) or (is_headless(spec) and is_headless(old_spec)):
        return []
    ips, old_ips = spec.get("clusterIPs") or [], old_spec.get("clusterIPs") or []
    if len(ips) == len(old_ips):
        return [errors.invalid(f"{_AT}[{index}]", ips, _IMMUTABLE) for index in _changed(ips, old_ips)]
    found = []
    if not ips:
        found.append(errors.invalid(f"{_AT}[0]", ips or None, "primary clusterIP can not be unset"))
    if _starts_differ(ips, old_ips):
        found.append(errors.invalid(f"{_AT}[0]", ips, _IMMUTABLE))
    return found + _release_errors(spec, ips, old_ips, "clusterIP")


def validate_ip_families_update(spec: JsonObject, old_spec: JsonObject) -> list[FieldError]:
    """Validate that an update does not change the IP families.

    An update may only add or remove the secondary family.
    """
    if any(side["type"] == EXTERNAL_NAME or is_headless(side) for side in (spec, old_spec)):
        return []
    families, old_families = spec.get("ipFamilies") or [], old_spec.get("ipFamilies") or []
    ips, at = spec.get("clusterIPs") or [], "spec.ipFamilies[0]"
    if len(families) == len(old_families):
        return [errors.invalid(at, families, _IMMUTABLE) for _ in _changed(families, old_families)]
    found = []
    if not ips and len(old_families) > len(families):
        found.append(errors.invalid(at, families or None, "primary ipFamily can not be unset"))
    if _starts_differ(families, old_families):
        # As in kube-apiserver, the error shows the cluster IPs as the invalid value.
        found.append(errors.invalid(at, ips or None, _IMMUTABLE))
    return found + _release_errors(spec, families, old_families, "ipFamily")


def _starts_differ(values: list[str], old_values: list[str]) -> bool:
    """True if two lists have different first values."""
    return bool(values and old_values) and values[0] != old_values[0]


def _changed(values: list[str], old_values: list[str]) -> list[int]:
    """Return the indexes at which two lists of the same length differ."""
    return [index for index, (value, old) in enumerate(zip(values, old_values, strict=True)) if value != old]


def _release_errors(spec: JsonObject, values: list[str], old_values: list[str], name: str) -> list[FieldError]:
    """Return an error if an update releases the secondary IP or family without changing the policy."""
    policy = spec.get("ipFamilyPolicy")
    if not len(old_values) > len(values) == 1 or policy == "SingleStack":
        return []
    reason = f"must be set to 'SingleStack' when releasing the secondary {name}"
    return [errors.invalid("spec.ipFamilyPolicy", policy, reason)]
