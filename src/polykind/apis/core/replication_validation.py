"""Validation of ReplicationControllers."""

from __future__ import annotations

from polykind.apis.core.pod_options import template_options
from polykind.apis.core.pod_validation import validate_pod_template_spec
from polykind.apis.meta.field_validation import validate_nonnegative, validate_nonnegative_fields
from polykind.contract import JsonObject
from polykind.errors import FieldError, forbidden, invalid, not_found, not_supported, required

_NON_CONVERTIBLE = "non-convertible.kubernetes.io"
_COUNTED = ("replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas", "observedGeneration")


def validate_replication_controller_spec(spec: JsonObject, old_spec: JsonObject | None = None) -> list[FieldError]:
    """Validate the spec of a ReplicationController. `old_spec` is the stored spec of an update, None for a create."""
    selector = spec.get("selector") or {}
    found = validate_nonnegative(spec.get("minReadySeconds"), "spec.minReadySeconds")
    found += [] if selector else [required("spec.selector")]
    found += validate_nonnegative(spec.get("replicas"), "spec.replicas")
    return found + _validate_template(spec.get("template"), selector, (old_spec or {}).get("template"))


def validate_non_convertible_fields(new: JsonObject, old: JsonObject) -> list[FieldError]:
    """Validate that an update does not change the selector if an annotation marks the selector as non-convertible."""
    found = []
    for key, value in sorted((old["metadata"].get("annotations") or {}).items()):
        prefix, _, field = key.partition("/")
        if not prefix.startswith(_NON_CONVERTIBLE) or not field or "/" in field:
            continue
        if "selector" not in field:
            found.append(not_found(field, value, "unknown non-convertible field"))
        elif new["spec"].get("selector") != old["spec"].get("selector"):
            reason = "cannot update non-convertible selector"
            found.append(invalid("spec.selector", new["spec"].get("selector"), reason))
    return found


def _validate_template(
    template: JsonObject | None, selector: dict[str, str], old_template: JsonObject | None
) -> list[FieldError]:
    at = "spec.template"
    if template is None:
        return [required(at)]
    found = []
    labels = (template.get("metadata") or {}).get("labels") or {}
    if any(labels.get(key) != value for key, value in selector.items()):
        reason = "`selector` does not match template `labels`"
        found.append(invalid(f"{at}.metadata.labels", labels or None, reason))
    found += validate_pod_template_spec(template, at, template_options(old_template))
    spec = template.get("spec") or {}
    if spec.get("restartPolicy") != "Always":
        found.append(not_supported(f"{at}.spec.restartPolicy", spec.get("restartPolicy") or "", ("Always",)))
    if spec.get("activeDeadlineSeconds") is not None:
        reason = "activeDeadlineSeconds in ReplicationController is not Supported"
        found.append(forbidden(f"{at}.spec.activeDeadlineSeconds", reason))
    return found


def validate_replication_controller_status(status: JsonObject) -> list[FieldError]:
    """Validate the numbers of replicas in the status of a ReplicationController."""
    found = validate_nonnegative_fields(status, _COUNTED, "status")
    replicas, ready, available = (status.get(f) or 0 for f in ("replicas", "readyReplicas", "availableReplicas"))
    for field in ("fullyLabeledReplicas", "readyReplicas", "availableReplicas"):
        if (value := status.get(field) or 0) > replicas:
            found.append(invalid(f"status.{field}", value, "cannot be greater than status.replicas"))
    if available > ready:
        found.append(invalid("status.availableReplicas", available, "cannot be greater than readyReplicas"))
    return found
