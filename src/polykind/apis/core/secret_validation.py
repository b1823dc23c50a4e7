"""Validation of Secrets. The type of a secret decides which keys it must have."""

from __future__ import annotations

from polykind import errors
from polykind.apis.core.validation import MAX_DATA_SIZE, data_key_errors, immutable_data_errors
from polykind.codec import json_codec
from polykind.codec.json_syntax import syntax_error
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.golang.base64 import decode_base64
from polykind.golang.json import json_type_name

SERVICE_ACCOUNT_TOKEN = "kubernetes.io/service-account-token"  # noqa: S105
SERVICE_ACCOUNT_NAME = "kubernetes.io/service-account.name"
TLS = "kubernetes.io/tls"
_DOCKER_KEYS = {"kubernetes.io/dockercfg": ".dockercfg", "kubernetes.io/dockerconfigjson": ".dockerconfigjson"}


def validate_secret(secret: JsonObject) -> list[FieldError]:
    """Validate the type and the data of a secret."""
    data = secret.get("data") or {}
    found = [errors.invalid(f"data[{key}]", key, text) for key in data for text in data_key_errors(key)]
    if sum(len(decode_base64(value or "")) for value in data.values()) > MAX_DATA_SIZE:
        found.append(errors.too_long("data", MAX_DATA_SIZE))
    return found + _validate_type(secret, secret.get("type") or "", data)


def _validate_type(secret: JsonObject, kind: str, data: JsonObject) -> list[FieldError]:
    if kind == SERVICE_ACCOUNT_TOKEN:
        annotations = secret["metadata"].get("annotations") or {}
        field = f"metadata.annotations[{SERVICE_ACCOUNT_NAME}]"
        return [] if annotations.get(SERVICE_ACCOUNT_NAME) else [errors.required(field)]
    if kind in _DOCKER_KEYS:
        return _validate_docker_config(data, _DOCKER_KEYS[kind])
    if kind == "kubernetes.io/basic-auth":
        names = ("username", "password")
        return [] if any(name in data for name in names) else [errors.required(f"data[{name}]") for name in names]
    if kind == "kubernetes.io/ssh-auth":
        return [] if data.get("ssh-privatekey") else [errors.required("data[ssh-privatekey]")]
    if kind == TLS:
        return [errors.required(f"data[{name}]") for name in ("tls.crt", "tls.key") if name not in data]
    return []


def _validate_docker_config(data: JsonObject, key: str) -> list[FieldError]:
    """Validate that a key holds a JSON object. Errors do not show the content, which is secret."""
    if key not in data:
        return [errors.required(f"data[{key}]")]
    content = decode_base64(data[key] or "")
    reason = syntax_error(content)
    if reason is None:
        value = json_codec.decode(content)
        if value is None or isinstance(value, dict):
            return []
        reason = f"json: cannot unmarshal {json_type_name(value)} into Go value of type map[string]interface {{}}"
    return [errors.invalid(f"data[{key}]", "<secret contents redacted>", reason)]


def validate_secret_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    """Validate that the type and the data of an immutable secret do not change."""
    kind = new.get("type") or ""
    found = [errors.invalid("type", kind, "field is immutable")] if kind != (old.get("type") or "") else []
    return found + immutable_data_errors(new, old, ("data",))
