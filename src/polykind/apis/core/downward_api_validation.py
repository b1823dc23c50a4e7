"""Validation of references to fields and resources of a pod, in environment variables and in files."""

from __future__ import annotations

from polykind.contract import JsonObject
from polykind.errors import FieldError, invalid, not_supported, required
from polykind.names import qualified_name
from polykind.quantity import parse_quantity

_POD_FIELDS = frozenset(
    (
        *("metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"),
        *("spec.nodeName", "spec.restartPolicy", "spec.serviceAccountName", "spec.schedulerName"),
        *("status.phase", "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"),
    )
)
_SUBSCRIPTED_FIELDS = ("metadata.annotations", "metadata.labels")
_RESOURCES = tuple(
    f"{kind}.{name}" for kind in ("limits", "requests") for name in ("cpu", "ephemeral-storage", "memory")
)
_HUGE_PAGES = ("limits.hugepages-", "requests.hugepages-")
_BYTE_DIVISORS = ("1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei")


def validate_field_ref(field_ref: JsonObject, at: str, fields: tuple[str, ...]) -> list[FieldError]:
    """Validate a reference to a field of the pod. `fields` are the supported fields, sorted."""
    version, path = field_ref.get("apiVersion") or "", field_ref.get("fieldPath") or ""
    if not version:
        return [required(f"{at}.apiVersion")]
    if not path:
        return [required(f"{at}.fieldPath")]
    field, subscript = _split_subscript(path)
    reason = _conversion_error(version, path, field, subscript)
    if reason:
        return [invalid(f"{at}.fieldPath", path, f"error converting fieldPath: {reason}")]
    if subscript is not None:
        key = subscript.lower() if field == "metadata.annotations" else subscript
        return [invalid(at, key, reason) for reason in qualified_name(key)]
    path = "spec.nodeName" if path == "spec.host" else path
    return [] if path in fields else [not_supported(f"{at}.fieldPath", path, fields)]


def validate_resource_field_ref(reference: JsonObject, at: str, *, in_volume: bool) -> list[FieldError]:
    """Validate a resourceFieldRef. If `in_volume` is true, it must name the container."""
    found: list[FieldError] = []
    resource = reference.get("resource") or ""
    if in_volume and not reference.get("containerName"):
        found.append(required(f"{at}.containerName"))
    elif not resource:
        found.append(required(f"{at}.resource"))
    elif resource not in _RESOURCES and not resource.startswith(_HUGE_PAGES):
        found.append(not_supported(f"{at}.resource", resource, _RESOURCES))
    return found + _validate_divisor(resource, reference.get("divisor") or "0", at)


def _split_subscript(path: str) -> tuple[str, str | None]:
    """Split metadata.labels['app'] into metadata.labels and app.

    The second value is None if the path has no subscript.
    """
    field, bracket, subscript = path.removesuffix("']").partition("['")
    return (field, subscript) if path.endswith("']") and bracket and field else (path, None)


def _conversion_error(version: str, path: str, field: str, subscript: str | None) -> str:
    if version != "v1":
        return f"unsupported pod version: {version}"
    if subscript is not None:
        return "" if field in _SUBSCRIPTED_FIELDS else f"field label does not support subscript: {path}"
    return "" if path in _POD_FIELDS or path == "spec.host" else f"field label not supported: {path}"


def _validate_divisor(resource: str, text: str, at: str) -> list[FieldError]:
    divisor = parse_quantity(text)
    if not divisor.sign:
        return []
    name = resource.partition(".")[2]
    subject = {"cpu": "cpu", "memory": "memory", "ephemeral-storage": "local ephemeral storage"}.get(name, "")
    if resource.startswith(_HUGE_PAGES):
        subject = "hugepages"
    elif resource not in _RESOURCES:
        return []
    supported = ("1m", "1") if subject == "cpu" else _BYTE_DIVISORS
    if divisor.canonical() in supported:
        return []
    listed = " and ".join(supported) if subject == "cpu" else ", ".join(supported)
    reason = f"only divisor's values {listed} are supported with the {subject} resource"
    return [invalid(f"{at}.divisor", resource, reason)]
