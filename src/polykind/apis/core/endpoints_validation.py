"""Validation of Endpoints."""

from __future__ import annotations

from polykind import errors, names
from polykind.addresses import endpoint_ip_errors, ip_errors
from polykind.apis.meta.validation import port_number_errors, supported_errors
from polykind.contract import JsonObject
from polykind.errors import FieldError

_PROTOCOLS = ("SCTP", "TCP", "UDP")


def validate_subsets(subsets: list[JsonObject]) -> list[FieldError]:
    """Validate the subsets of an Endpoints object."""
    found: list[FieldError] = []
    for index, subset in enumerate(subsets):
        at = f"subsets[{index}]"
        ports = subset.get("ports") or []
        if not subset.get("addresses") and not subset.get("notReadyAddresses"):
            found.append(errors.required(at, "must specify `addresses` or `notReadyAddresses`"))
        for field in ("addresses", "notReadyAddresses"):
            for position, address in enumerate(subset.get(field) or ()):
                found += _validate_address(address, f"{at}.{field}[{position}]")
        for position, port in enumerate(ports):
            found += _validate_port(port, f"{at}.ports[{position}]", needs_name=len(ports) > 1)
    return found


def _validate_address(address: JsonObject, at: str) -> list[FieldError]:
    ip, hostname, node = address.get("ip") or "", address.get("hostname") or "", address.get("nodeName")
    found = ip_errors(ip, f"{at}.ip")
    if hostname:
        found += [errors.invalid(f"{at}.hostname", hostname, text) for text in names.dns1123_label(hostname)]
    if node is not None:
        found += [errors.invalid(f"{at}.nodeName", node, text) for text in names.subdomain_name(node)]
    return found + endpoint_ip_errors(ip, f"{at}.ip")


def _validate_port(port: JsonObject, at: str, *, needs_name: bool) -> list[FieldError]:
    name, app = port.get("name") or "", port.get("appProtocol")
    found = [errors.required(f"{at}.name")] if needs_name and not name else []
    if name:
        found += [errors.invalid(f"{at}.name", name, text) for text in names.dns1123_label(name)]
    found += port_number_errors(port.get("port", 0), f"{at}.port")
    found += supported_errors(port.get("protocol") or "", f"{at}.protocol", _PROTOCOLS)
    if app is not None:
        found += [errors.invalid(f"{at}.appProtocol", app, text) for text in names.qualified_name(app)]
    return found
