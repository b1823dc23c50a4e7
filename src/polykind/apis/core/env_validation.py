"""Validation of the environment variables of containers."""

from __future__ import annotations

from collections.abc import Callable

from polykind.apis.core.downward_api_validation import validate_field_ref, validate_resource_field_ref
from polykind.apis.core.path_validation import path_step_errors
from polykind.apis.core.validation import data_key_errors
from polykind.contract import JsonObject
from polykind.errors import FieldError, invalid, required
from polykind.names import dns1123_label, dns1123_subdomain, env_var_name, subdomain_name

_FIELDS = (
    *("metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName"),
    *("status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"),
)


def validate_env(variables: list[JsonObject], at: str) -> list[FieldError]:
    """Validate the environment variables of a container."""
    found: list[FieldError] = []
    for index, variable in enumerate(variables):
        here, name = f"{at}[{index}]", variable.get("name") or ""
        if not name:
            found.append(required(f"{here}.name"))
        else:
            found += [invalid(f"{here}.name", name, reason) for reason in env_var_name(name)]
        if (source := variable.get("valueFrom")) is not None:
            found += _validate_value_source(source, variable.get("value") or "", f"{here}.valueFrom")
    return found


def validate_env_from(sources: list[JsonObject], at: str) -> list[FieldError]:
    """Validate the ConfigMaps and Secrets whose keys become environment variables."""
    found: list[FieldError] = []
    for index, source in enumerate(sources):
        here = f"{at}[{index}]"
        if prefix := source.get("prefix"):
            found += [invalid(f"{here}.prefix", prefix, reason) for reason in env_var_name(prefix)]
        references = [name for name in ("configMapRef", "secretRef") if source.get(name) is not None]
        for name in references:
            found += _validate_env_source(source[name], f"{here}.{name}")
        if not references:
            found.append(invalid(at, "", "must specify one of: `configMapRef` or `secretRef`"))
        elif len(references) > 1:
            found.append(invalid(at, "", "may not have more than one field specified at a time"))
    return found


def _validate_env_source(source: JsonObject, at: str) -> list[FieldError]:
    name = source.get("name") or ""
    if not name:
        return [required(f"{at}.name")]
    return [invalid(f"{at}.name", name, reason) for reason in subdomain_name(name, prefix=True)]


def _validate_value_source(source: JsonObject, value: str, at: str) -> list[FieldError]:
    found: list[FieldError] = []
    set_sources = [name for name in _value_sources if source.get(name) is not None]
    for name in set_sources:
        found += _value_sources[name](source[name], f"{at}.{name}")
    if not set_sources:
        listed = "`fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
        found.append(invalid(at, "", f"must specify one of: {listed}"))
    elif value:
        found.append(invalid(at, "", "may not be specified when `value` is not empty"))
    elif len(set_sources) > 1:
        found.append(invalid(at, "", "may not have more than one field specified at a time"))
    return found


def _validate_key_ref(reference: JsonObject, at: str) -> list[FieldError]:
    name, key = reference.get("name") or "", reference.get("key") or ""
    found = [invalid(f"{at}.name", name, reason) for reason in dns1123_subdomain(name)]
    if not key:
        return [*found, required(f"{at}.key")]
    return found + [invalid(f"{at}.key", key, reason) for reason in data_key_errors(key)]


def _validate_file_key_ref(reference: JsonObject, at: str) -> list[FieldError]:
    key, volume, path = (reference.get(name) or "" for name in ("key", "volumeName", "path"))
    found = [invalid(f"{at}.key", key, reason) for reason in env_var_name(key)] if key else [required(f"{at}.key")]
    if volume:
        found += [invalid(f"{at}.volumeName", volume, reason) for reason in dns1123_label(volume)]
    else:
        found.append(required(f"{at}.volumeName"))
    return found + (path_step_errors(path, f"{at}.path") if path else [required(f"{at}.path")])


_value_sources: dict[str, Callable[[JsonObject, str], list[FieldError]]] = {
    "fieldRef": lambda value, at: validate_field_ref(value, at, _FIELDS),
    "resourceFieldRef": lambda value, at: validate_resource_field_ref(value, at, in_volume=False),
    "configMapKeyRef": _validate_key_ref,
    "secretKeyRef": _validate_key_ref,
    "fileKeyRef": _validate_file_key_ref,
}
