"""Validation of the core kinds."""

from __future__ import annotations

import re
from collections.abc import Sequence

from polykind import errors, names
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.golang.base64 import decode_base64
from polykind.golang.utf8 import byte_length

MAX_DATA_SIZE = 1024 * 1024
_MAX_KEY_LENGTH = 253
_DATA_KEY = "[-._a-zA-Z0-9]+"
_DATA_KEY_RULE = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'"
EXTERNAL_NAME = "ExternalName"
_SERVICE_TYPES = ("ClusterIP", EXTERNAL_NAME, "LoadBalancer", "NodePort")
_PROTOCOLS = ("SCTP", "TCP", "UDP")


def validate_config_map(config_map: JsonObject) -> list[FieldError]:
    """Validate the keys and the total size of the data."""
    data, binary = config_map.get("data") or {}, config_map.get("binaryData") or {}
    found = []
    for field, values in (("data", data), ("binaryData", binary)):
        for key in values:
            reasons = data_key_errors(key)
            if field == "data" and key in binary:
                reasons.append("duplicate of key present in binaryData")
            found += [errors.invalid(f"{field}[{key}]", key, reason) for reason in reasons]
    size = sum(map(byte_length, data.values())) + sum(len(decode_base64(value or "")) for value in binary.values())
    return [*found, errors.too_long("[]", MAX_DATA_SIZE)] if size > MAX_DATA_SIZE else found


def data_key_errors(key: str) -> list[str]:
    """Return the reasons why a key of a ConfigMap is invalid. Keys are file names in volumes."""
    reasons = [f"must be no more than {_MAX_KEY_LENGTH} characters"] if byte_length(key) > _MAX_KEY_LENGTH else []
    if not re.fullmatch(_DATA_KEY, key):
        reasons.append(names.regex_error(_DATA_KEY_RULE, _DATA_KEY, "key.name", "KEY_NAME", "key-name"))
    if key in (".", ".."):
        reasons.append(f"must not be '{key}'")
    elif key.startswith(".."):
        reasons.append("must not start with '..'")
    return reasons


def validate_config_map_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    """Validate that an immutable ConfigMap does not change."""
    return immutable_data_errors(new, old, ("data", "binaryData"))


def immutable_data_errors(new: JsonObject, old: JsonObject, fields: Sequence[str]) -> list[FieldError]:
    """Validate that an immutable object stays so, and that its data does not change."""
    if not old.get("immutable"):
        return []
    changed = [] if new.get("immutable") else ["immutable"]
    changed += [name for name in fields if new.get(name) != old.get(name)]
    return [errors.forbidden(name, "field is immutable when `immutable` is set") for name in changed]


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
