"""Validation of the core kinds."""

from __future__ import annotations

from polykind import errors, names
from polykind.contract import JsonObject
from polykind.errors import FieldError

EXTERNAL_NAME = "ExternalName"
_SERVICE_TYPES = ("ClusterIP", EXTERNAL_NAME, "LoadBalancer", "NodePort")
_PROTOCOLS = ("SCTP", "TCP", "UDP")


def validate_namespace_status(namespace: JsonObject) -> list[FieldError]:
    """Validate the phase of a namespace: Terminating if and only if the namespace is being deleted."""
    phase = (namespace.get("status") or {}).get("phase")
    if namespace["metadata"].get("deletionTimestamp"):
        if phase != "Terminating":
            reason = "may only be 'Terminating' if `deletionTimestamp` is not empty"
            return [errors.invalid("status.Phase", phase, reason)]
    elif phase != "Active":
        return [errors.invalid("status.Phase", phase, "may only be 'Active' if `deletionTimestamp` is empty")]
    return []


def validate_service_spec(spec: JsonObject) -> list[FieldError]:
    """Validate the spec of a service, as far as it concerns webhooks."""
    service_type, found = spec["type"], []
    external = service_type == EXTERNAL_NAME
    if not spec.get("ports") and not external and spec.get("clusterIP") != "None":
        found.append(errors.required("spec.ports"))
    found += [e for index, port in enumerate(spec.get("ports") or ()) for e in _validate_port(spec, port, index)]
    if external:
        host = (spec.get("externalName") or "").removesuffix(".")
        if spec.get("clusterIP"):
            found.append(errors.forbidden("spec.clusterIPs[0]", "may not be set for ExternalName services"))
        if host:
            found += [errors.invalid("spec.externalName", host, text) for text in names.dns1123_subdomain(host)]
        else:
            found.append(errors.required("spec.externalName"))
    if service_type not in _SERVICE_TYPES:
        found.append(errors.not_supported("spec.type", service_type, _SERVICE_TYPES))
    return found


def _validate_port(spec: JsonObject, port: JsonObject, index: int) -> list[FieldError]:
    at, found = f"spec.ports[{index}]", []
    name, number, protocol = port.get("name", ""), port.get("port", 0), port["protocol"]
    if not name and len(spec["ports"]) > 1:
        found.append(errors.required(f"{at}.name"))
    elif name:
        found += [errors.invalid(f"{at}.name", name, text) for text in names.dns1123_label(name)]
        if any(other.get("name") == name for other in spec["ports"][:index]):
            found.append(errors.duplicate(f"{at}.name", name))
    if not 0 < number < 65536:
        found.append(errors.invalid(f"{at}.port", number, "must be between 1 and 65535, inclusive"))
    if protocol not in _PROTOCOLS:
        found.append(errors.not_supported(f"{at}.protocol", protocol, _PROTOCOLS))
    return found
