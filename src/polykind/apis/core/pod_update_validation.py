"""Validation of updates of pods. Most of a pod's spec is immutable."""

from __future__ import annotations

from polykind.apis.core.container_validation import image_whitespace_errors
from polykind.apis.core.internal_pod_types import show_pod_spec
from polykind.apis.core.pod_annotation_validation import APP_ARMOR_CONTAINER_PREFIX, validate_pod_annotations
from polykind.apis.core.pod_options import PodValidationOptions
from polykind.apis.core.pod_resources import equal_specs
from polykind.apis.core.pod_spec_validation import MIRROR_POD_ANNOTATION, NO_FIELD
from polykind.apis.core.pod_validation import validate_pod
from polykind.apis.core.scheduling_validation import validate_tolerations
from polykind.apis.core.types import CORE_V1
from polykind.apis.machinery.internal_types import show_internal
from polykind.apis.meta.validation import range_errors
from polykind.contract import JsonObject
from polykind.errors import FieldError, forbidden, invalid, required
from polykind.golang.diff import json_diff
from polykind.golang.fmt import go_quote

_MAX_INT32 = 2**31 - 1
_UPDATABLE_FIELDS = ",".join(
    (
        "`spec.containers[*].image`",
        "`spec.initContainers[*].image`",
        "`spec.activeDeadlineSeconds`",
        "`spec.tolerations` (only additions to existing tolerations)",
        "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)",
    )
)
_REQUIRED_TERMS = "requiredDuringSchedulingIgnoredDuringExecution"


def validate_pod_update(new: JsonObject, old: JsonObject, options: PodValidationOptions) -> list[FieldError]:
    """Validate an update of a pod, apart from its metadata."""
    spec, old_spec = new["spec"], old["spec"]
    found = validate_pod(new, options)
    found += validate_annotation_update(new, old)
    for field in ("containers", "initContainers"):
        containers, old_containers = spec.get(field) or [], old_spec.get(field) or []
        if len(containers) != len(old_containers):
            return [*found, forbidden(f"spec.{field}", "pod updates may not add or remove containers")]
        for index, container in enumerate(containers):
            if not container.get("image"):
                found.append(required(f"spec.{field}[{index}].image"))
            found += image_whitespace_errors(container, f"spec.{field}[{index}]")
    deadline_errors, stops = _validate_deadline(
        spec.get("activeDeadlineSeconds"), old_spec.get("activeDeadlineSeconds")
    )
    found += deadline_errors
    if stops:
        return found
    found += _validate_added_tolerations(spec.get("tolerations") or [], old_spec.get("tolerations") or [])
    found += _validate_removed_gates(spec.get("schedulingGates") or [], old_spec.get("schedulingGates") or [])
    if equal_specs(spec, old_spec):
        return found
    comparable = _with_immutable_fields_only(spec, old_spec)
    if old_spec.get("schedulingGates"):
        found += _validate_gated_scheduling(comparable, old_spec)
    if not equal_specs(comparable, old_spec):
        difference = json_diff(show_pod_spec(old_spec), show_pod_spec(comparable))
        reason = f"pod updates may not change fields other than {_UPDATABLE_FIELDS}\n{difference}"
        found.append(forbidden("spec", reason))
    return found


def validate_annotation_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    """Validate that AppArmor and mirror pod annotations do not change. Validate all annotations as on a create."""
    found: list[FieldError] = []
    annotations, old_annotations = (pod["metadata"].get("annotations") or {} for pod in (new, old))
    kinds = ((APP_ARMOR_CONTAINER_PREFIX, "AppArmor annotations"), (MIRROR_POD_ANNOTATION, "mirror pod annotation"))
    changes = [
        (key, "may not remove or update") for key, value in old_annotations.items() if annotations.get(key) != value
    ]
    changes += [(key, "may not add") for key in annotations if key not in old_annotations]
    for key, verb in changes:
        for start, title in kinds:
            if key == start or (start.endswith("/") and key.startswith(start)):
                found.append(forbidden(f"metadata.annotations[{key}]", f"{verb} {title}"))
    return found + validate_pod_annotations(annotations, new["spec"], "metadata.annotations")


def validate_ephemeral_containers_update(
    new: JsonObject, old: JsonObject, options: PodValidationOptions
) -> list[FieldError]:
    """Validate an update through the ephemeralcontainers subresource, without the metadata of the pod."""
    if MIRROR_POD_ANNOTATION in (old["metadata"].get("annotations") or {}):
        return [forbidden(NO_FIELD, "static pods do not support ephemeral containers")]
    found = validate_pod(new, options) + validate_annotation_update(new, old)
    at = "spec.ephemeralContainers"
    containers = {container.get("name") or "": container for container in new["spec"].get("ephemeralContainers") or ()}
    for container in old["spec"].get("ephemeralContainers") or ():
        name = container.get("name") or ""
        if name not in containers:
            found.append(forbidden(at, f"existing ephemeral containers {go_quote(name)} may not be removed\n"))
        elif not equal_specs(containers[name], container):
            shown = (
                show_internal(CORE_V1.struct("EphemeralContainer"), value) for value in (container, containers[name])
            )
            reason = f"existing ephemeral containers {go_quote(name)} may not be changed\n{json_diff(*shown)}"
            found.append(forbidden(at, reason))
    return found


def _validate_deadline(deadline: int | None, old_deadline: int | None) -> tuple[list[FieldError], bool]:
    """Return the errors of a deadline, which can only become shorter.

    The second value is True if validation ends here.
    """
    at = "spec.activeDeadlineSeconds"
    if deadline is None:
        if old_deadline is None:
            return [], False
        return [invalid(at, None, "must not update from a positive integer to nil value")], False
    if found := range_errors(deadline, at, 0, _MAX_INT32):
        return found, True
    if old_deadline is not None and old_deadline < deadline:
        return [invalid(at, deadline, "must be less than or equal to previous value")], True
    return [], False


def _validate_added_tolerations(new: list[JsonObject], old: list[JsonObject]) -> list[FieldError]:
    """Validate that an update only adds tolerations. It may also change the tolerationSeconds of old tolerations."""
    without_seconds = [_without(toleration, "tolerationSeconds") for toleration in new]
    if any(_without(toleration, "tolerationSeconds") not in without_seconds for toleration in old):
        reason = "existing toleration can not be modified except its tolerationSeconds"
        return [forbidden("spec.tolerations", reason)]
    return validate_tolerations(new, "spec.tolerations")


def _validate_removed_gates(new: list[JsonObject], old: list[JsonObject]) -> list[FieldError]:
    positions = {gate.get("name") or "": index for index, gate in enumerate(new)}
    added = positions.keys() - {gate.get("name") or "" for gate in old}
    return [
        forbidden(
            f"spec.schedulingGates[{positions[name]}].name",
            f"only deletion is allowed, but found new scheduling gate '{name}'",
        )
        for name in sorted(added)
    ]


def _without(obj: JsonObject, *fields: str) -> JsonObject:
    return {name: value for name, value in obj.items() if name not in fields}


def _with_immutable_fields_only(spec: JsonObject, old_spec: JsonObject) -> JsonObject:
    """Return the new spec with the old values of all mutable fields, so that a comparison shows forbidden changes."""
    updatable = ("activeDeadlineSeconds", "tolerations", "schedulingGates")
    result = {**_without(spec, *updatable), **{name: old_spec[name] for name in updatable if name in old_spec}}
    for field in ("containers", "initContainers"):
        if field in spec:
            pairs = zip(spec[field] or (), old_spec.get(field) or (), strict=True)
            result[field] = [{**container, "image": old.get("image")} for container, old in pairs]
    if (old_spec.get("terminationGracePeriodSeconds") or 0) < 0 and spec.get("terminationGracePeriodSeconds") == 1:
        result["terminationGracePeriodSeconds"] = old_spec["terminationGracePeriodSeconds"]
    return result


def _validate_gated_scheduling(spec: JsonObject, old_spec: JsonObject) -> list[FieldError]:
    """Validate the node selector and node affinity of a pod with scheduling gates, which may only become stricter.

    Then set the old values in `spec`, in place, so that a comparison with `old_spec` ignores these changes.
    """
    found: list[FieldError] = []
    selector, old_selector = spec.get("nodeSelector") or {}, old_spec.get("nodeSelector") or {}
    if any(selector.get(key) != value for key, value in old_selector.items()):
        reason = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
        found.append(invalid("spec.nodeSelector", selector or None, reason))
    _copy("nodeSelector", old_spec, spec)
    affinity, old_affinity = spec.get("affinity"), old_spec.get("affinity")
    node_affinity, old_node_affinity = ((value or {}).get("nodeAffinity") for value in (affinity, old_affinity))
    if node_affinity == old_node_affinity:
        return found
    found += _validate_stricter_affinity(node_affinity, old_node_affinity)
    if affinity is None:
        spec["affinity"] = {"nodeAffinity": old_node_affinity}
    elif old_affinity is None and not _without(affinity, "nodeAffinity"):
        del spec["affinity"]
    else:
        spec["affinity"] = dict(affinity)
        _copy("nodeAffinity", old_affinity or {}, spec["affinity"])
    return found


def _copy(field: str, source: JsonObject, target: JsonObject) -> None:
    if source.get(field) is None:
        target.pop(field, None)
    else:
        target[field] = source[field]


def _validate_stricter_affinity(new: JsonObject | None, old: JsonObject | None) -> list[FieldError]:
    """Validate that an update only adds requirements to the required node affinity."""
    terms, old_terms = (
        ((value or {}).get(_REQUIRED_TERMS) or {}).get("nodeSelectorTerms") or [] for value in (new, old)
    )
    at = f"spec.affinity.nodeAffinity.{_REQUIRED_TERMS}.nodeSelectorTerms"
    if old_terms and len(terms) != len(old_terms):
        shown = [show_internal(CORE_V1.struct("NodeSelectorTerm"), term) for term in terms] or None
        return [invalid(at, shown, "no additions/deletions to non-empty NodeSelectorTerms list are allowed")]
    reason = "only additions are allowed (no mutations or deletions)"
    return [
        invalid(f"{at}[{index}]", show_internal(CORE_V1.struct("NodeSelectorTerm"), term), reason)
        for index, (term, old_term) in enumerate(zip(terms, old_terms, strict=False))
        if not _has_only_additions(term, old_term)
    ]


def _has_only_additions(new: JsonObject, old: JsonObject) -> bool:
    fields = ("matchExpressions", "matchFields")
    before, after = ([term.get(field) or [] for field in fields] for term in (old, new))
    if not any(before) and any(after):
        return False
    return all(now[: len(then)] == then for now, then in zip(after, before, strict=True))
