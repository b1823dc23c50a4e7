"""Validation of ConfigMaps and of the status of Namespaces."""

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


def validate_config_map(config_map: JsonObject) -> list[FieldError]:
    """Validate the keys and the total size of a ConfigMap's data."""
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
    """Validate that an immutable object stays immutable, and that its data does not change."""
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
