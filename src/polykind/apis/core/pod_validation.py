"""Validation of new pods and pod templates."""

from __future__ import annotations

from polykind.apis.core.container_validation import image_whitespace_errors
from polykind.apis.core.pod_annotation_validation import validate_pod_annotations, validate_profiles_match
from polykind.apis.core.pod_options import PodValidationOptions, template_options
from polykind.apis.core.pod_spec_validation import validate_pod_spec
from polykind.contract import JsonObject
from polykind.errors import FieldError, forbidden
from polykind.schema.metadata_validation import validate_annotations, validate_labels


def validate_pod_template_spec(
    template: JsonObject, at: str, options: PodValidationOptions | None = None
) -> list[FieldError]:
    """Validate the pod template of a workload.

    `options` is the result of `template_options`, by default for a create.
    """
    metadata, spec = template.get("metadata") or {}, template.get("spec") or {}
    options = options or template_options()
    annotations: dict[str, str] = metadata.get("annotations") or {}
    found = validate_labels(metadata.get("labels"), f"{at}.labels")
    found += validate_annotations(annotations, f"{at}.annotations")
    found += validate_pod_annotations(annotations, spec, f"{at}.annotations")
    found += validate_pod_spec(spec, f"{at}.spec", options)
    found += validate_profiles_match(annotations, spec, f"{at}.spec")
    if spec.get("ephemeralContainers"):
        found.append(forbidden(f"{at}.spec.ephemeralContainers", "ephemeral containers not allowed in pod template"))
    return found


def validate_pod(pod: JsonObject, options: PodValidationOptions) -> list[FieldError]:
    """Validate the annotations and the spec of a pod, on a create and on an update."""
    metadata, spec = pod["metadata"], pod["spec"]
    found = validate_pod_annotations(metadata.get("annotations") or {}, spec, "metadata.annotations")
    found += validate_pod_spec(spec, "spec", options, metadata)
    if not spec.get("serviceAccountName"):
        found += _validate_no_tokens(spec)
    for field in ("containers", "initContainers"):
        for index, container in enumerate(spec.get(field) or ()):
            found += image_whitespace_errors(container, f"spec.{field}[{index}]")
    return found


def validate_new_pod(pod: JsonObject, options: PodValidationOptions) -> list[FieldError]:
    """Validate a pod that a client creates, without its metadata."""
    spec = pod["spec"]
    found = validate_pod(pod, options)
    if spec.get("ephemeralContainers"):
        found.append(forbidden("spec.ephemeralContainers", "cannot be set on create"))
    if spec.get("nodeName") and spec.get("schedulingGates"):
        found.append(forbidden("spec.nodeName", "cannot be set until all schedulingGates have been cleared"))
    return found + validate_profiles_match(pod["metadata"].get("annotations") or {}, spec, "spec")


def _validate_no_tokens(spec: JsonObject) -> list[FieldError]:
    """Validate that a pod without a service account has no volume with a service account token."""
    reason = "must not be specified when serviceAccountName is not set"
    return [
        forbidden(f"spec.volumes[{index}].projected.sources[{position}].serviceAccountToken", reason)
        for index, volume in enumerate(spec.get("volumes") or ())
        for position, source in enumerate((volume.get("projected") or {}).get("sources") or ())
        if source.get("serviceAccountToken") is not None
    ]
