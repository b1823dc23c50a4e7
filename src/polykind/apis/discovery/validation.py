"""Validation of EndpointSlices."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from polykind import addresses, errors, names
from polykind.apis.meta.field_validation import validate_immutable
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.schema.metadata_validation import validate_labels

_ADDRESS_TYPES = ("FQDN", "IPv4", "IPv6")
_PROTOCOLS = ("SCTP", "TCP", "UDP")
_MAX_TOPOLOGY_LABELS = 16
_MAX_ADDRESSES = 100
_MAX_PORTS = 20000
_MAX_ENDPOINTS = 1000
_MAX_HINTS = 8
_MANAGED_BY = "endpointslice.kubernetes.io/managed-by"
_CONTROLLERS = ("endpointslice-controller.k8s.io", "endpointslicemirroring-controller.k8s.io")


def validate_endpoint_slice(endpoint_slice: JsonObject, old: JsonObject | None = None) -> list[FieldError]:
    """Validate the fields of an EndpointSlice. `old` is the stored object of an update, None for a create.

    An update validates the endpoints only if it changes them, because older versions of Kubernetes had fewer rules.
    """
    address_type = endpoint_slice.get("addressType", "")
    found: list[FieldError] = []
    if not address_type:
        found.append(errors.required("addressType"))
    elif address_type not in _ADDRESS_TYPES:
        found.append(errors.not_supported("addressType", address_type, _ADDRESS_TYPES))
    found += _validate_ports(endpoint_slice.get("ports") or [])
    endpoints = endpoint_slice.get("endpoints") or []
    if old is None or endpoints != (old.get("endpoints") or []):
        found += _validate_endpoints(endpoints, address_type)
    if old is not None:
        found += validate_immutable(address_type, old.get("addressType", ""), "addressType")
    return found


def endpoint_slice_warnings(endpoint_slice: JsonObject, *, created: bool) -> list[str]:
    """Return warnings about addresses in non-canonical form and, for a new object, about the deprecated type FQDN."""
    warnings = []
    if created and endpoint_slice.get("addressType") == "FQDN":
        warnings.append("spec.addressType: FQDN endpoints are deprecated")
    if (endpoint_slice["metadata"].get("labels") or {}).get(_MANAGED_BY) in _CONTROLLERS:
        return warnings
    for index, endpoint in enumerate(endpoint_slice.get("endpoints") or ()):
        for number, address in enumerate(endpoint.get("addresses") or ()):
            warnings += addresses.ip_warnings(address, f"endpoints[{index}].addresses[{number}]")
    return warnings


def _validate_ports(ports: Sequence[JsonObject]) -> list[FieldError]:
    if len(ports) > _MAX_PORTS:
        return [errors.too_many("ports", len(ports), _MAX_PORTS)]
    found: list[FieldError] = []
    port_names: set[str] = set()
    for index, port in enumerate(ports):
        at, name, protocol, application = f"ports[{index}]", port["name"], port.get("protocol"), port.get("appProtocol")
        if name:
            found += errors.all_invalid(f"{at}.name", name, names.dns1123_label(name))
        if name in port_names:
            found.append(errors.duplicate(f"{at}.name", name))
        port_names.add(name)
        if protocol is None:
            found.append(errors.required(f"{at}.protocol"))
        elif protocol not in _PROTOCOLS:
            found.append(errors.not_supported(f"{at}.protocol", protocol, _PROTOCOLS))
        if application is not None:
            found += errors.all_invalid(f"{at}.appProtocol", application, names.qualified_name(application))
    return found


def _validate_endpoints(endpoints: Sequence[JsonObject], address_type: str) -> list[FieldError]:
    if len(endpoints) > _MAX_ENDPOINTS:
        return [errors.too_many("endpoints", len(endpoints), _MAX_ENDPOINTS)]
    found: list[FieldError] = []
    for index, endpoint in enumerate(endpoints):
        found += _validate_endpoint(endpoint, address_type, f"endpoints[{index}]")
    return found


def _validate_endpoint(endpoint: JsonObject, address_type: str, at: str) -> list[FieldError]:
    listed = endpoint.get("addresses") or []
    found: list[FieldError] = []
    if not listed:
        found.append(errors.required(f"{at}.addresses", "must contain at least 1 address"))
    elif len(listed) > _MAX_ADDRESSES:
        found.append(errors.too_many(f"{at}.addresses", len(listed), _MAX_ADDRESSES))
    for index, address in enumerate(listed):
        found += _validate_address(address, address_type, f"{at}.addresses", index)
    node, host, hints = endpoint.get("nodeName"), endpoint.get("hostname"), endpoint.get("hints")
    if node is not None:
        found += errors.all_invalid(f"{at}.nodeName", node, names.dns1123_subdomain(node))
    topology = endpoint.get("deprecatedTopology") or {}
    if len(topology) > _MAX_TOPOLOGY_LABELS:
        found.append(errors.too_many(f"{at}.deprecatedTopology", len(topology), _MAX_TOPOLOGY_LABELS))
    found += validate_labels(topology, f"{at}.deprecatedTopology")
    if host is not None:
        found += errors.all_invalid(f"{at}.hostname", host, names.dns1123_label(host))
    return found if hints is None else found + _validate_hints(hints, f"{at}.hints")


def _validate_address(address: str, address_type: str, at: str, index: int) -> list[FieldError]:
    here = f"{at}[{index}]"
    if address_type == "FQDN":
        return validate_fully_qualified_domain_name(address, here)
    if address_type not in ("IPv4", "IPv6"):
        return []
    is_ipv4 = address_type == "IPv4"
    found = addresses.ip_errors(address, here) if is_ipv4 else addresses.canonical_ip_errors(address, here)
    if found:
        return found
    if addresses.ip_family(address) != address_type:
        found = [errors.invalid(at, address, f"must be an {address_type} address")]
    return found + addresses.endpoint_ip_errors(address, here)


def validate_fully_qualified_domain_name(name: str, at: str) -> list[FieldError]:
    """Validate a domain name of at least two labels, which may end with a dot."""
    if not name:
        return [errors.required(at)]
    name = name.removesuffix(".")
    messages = names.dns1123_subdomain(name)
    if messages:
        return [errors.invalid(at, name, ",".join(messages))]
    labels = name.split(".")
    if len(labels) < 2:
        return [errors.invalid(at, name, "should be a domain with at least two segments separated by dots")]
    for label in labels:
        messages = names.dns1123_label(label)
        if messages:
            return [errors.invalid(at, label, ",".join(messages))]
    return []


def _validate_hints(hints: JsonObject, at: str) -> list[FieldError]:
    found: list[FieldError] = []
    checks: tuple[tuple[str, Callable[[str], list[str]]], ...] = (
        ("forZones", names.label_value),
        ("forNodes", names.dns1123_subdomain),
    )
    for field, check in checks:
        listed = hints.get(field) or []
        if len(listed) > _MAX_HINTS:
            return [*found, errors.too_many(f"{at}.{field}", len(listed), _MAX_HINTS)]
        known: set[str] = set()
        for index, hint in enumerate(listed):
            here, name = f"{at}.{field}[{index}].name", hint.get("name", "")
            if name in known:
                found.append(errors.duplicate(here, name))
            known.add(name)
            found += errors.all_invalid(here, name, check(name))
    return found
