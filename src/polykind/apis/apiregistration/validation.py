"""Validation of APIServices."""

from __future__ import annotations

from polykind import errors, names
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.golang.base64 import decode_base64
from polykind.golang.fmt import go_quote

_MAX_GROUP_PRIORITY = 20000
_MAX_VERSION_PRIORITY = 1000
_STATUSES = ("True", "False", "Unknown")


def api_service_name(name: str, spec: JsonObject) -> list[str]:
    """Return the reasons why the name of an APIService is invalid. It must be `<version>.<group>`."""
    messages = names.path_segment(name)
    required = f"{spec.get('version', '')}.{spec.get('group', '')}"
    if messages or name == required:
        return messages
    return [f'must be `spec.version+"."+spec.group`: {go_quote(required)}']


def validate_api_service_spec(spec: JsonObject) -> list[FieldError]:
    """Validate the spec of an APIService."""
    found: list[FieldError] = []
    group, version = spec.get("group", ""), spec.get("version", "")
    if group:
        found += errors.all_invalid("spec.group", group, names.dns1123_subdomain(group))
    elif version != "v1":
        reason = "only v1 may have an empty group and it better be legacy kube"
        found.append(errors.required("spec.group", reason))
    found += errors.all_invalid("spec.version", version, names.dns1035_label(version))
    for field, highest in (("groupPriorityMinimum", _MAX_GROUP_PRIORITY), ("versionPriority", _MAX_VERSION_PRIORITY)):
        priority = spec.get(field, 0)
        if not 0 < priority <= highest:
            found.append(errors.invalid(f"spec.{field}", priority, f"must be positive and less than {highest}"))
    return found + _validate_service(spec)


def _validate_service(spec: JsonObject) -> list[FieldError]:
    found: list[FieldError] = []
    service, bundle, insecure = spec.get("service"), spec.get("caBundle"), spec.get("insecureSkipTLSVerify", False)
    if service is None:
        if bundle:
            size = f"{len(decode_base64(bundle))} bytes"
            found.append(errors.invalid("spec.caBundle", size, "local APIServices may not have a caBundle"))
        if insecure:
            reason = "local APIServices may not have insecureSkipTLSVerify"
            found.append(errors.invalid("spec.insecureSkipTLSVerify", True, reason))
        return found
    found += [errors.required(f"spec.service.{field}") for field in ("namespace", "name") if not service.get(field)]
    port = service.get("port", 0)
    messages = names.port_number(port)
    if messages:
        found.append(errors.invalid("spec.service.port", port, f"port is not valid: {', '.join(messages)}"))
    if insecure and bundle:
        found.append(errors.invalid("spec.insecureSkipTLSVerify", True, "may not be true if caBundle is present"))
    return found


def validate_api_service_status(status: JsonObject) -> list[FieldError]:
    """Validate the `status` field of each condition of an APIService."""
    return [
        errors.not_supported(f"status.conditions[{index}].status", condition.get("status", ""), _STATUSES)
        for index, condition in enumerate(status.get("conditions") or ())
        if condition.get("status") not in _STATUSES
    ]
