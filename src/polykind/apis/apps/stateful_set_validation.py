"""Validation of StatefulSets."""

from __future__ import annotations

from polykind import errors, names
from polykind.apis.apps.types import APPS_V1
from polykind.apis.apps.validation import unmatched_labels_error, validate_long_running, validate_required_selector
from polykind.apis.core.pod_annotation_validation import validate_pod_annotations
from polykind.apis.core.pod_options import template_options
from polykind.apis.core.pod_validation import validate_pod_template_spec
from polykind.apis.core.volume_claim_validation import validate_volume_claim_spec
from polykind.apis.machinery.internal_types import show_internal, show_label_selector
from polykind.apis.meta.field_validation import (
    int_or_percent,
    validate_at_most_100_percent,
    validate_int_or_percent,
    validate_nonnegative,
)
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.schema.metadata_validation import validate_annotations, validate_labels
from polykind.selectors.selector_objects import matches_labels

_MUTABLE_FIELDS = (
    "replicas",
    "template",
    "updateStrategy",
    "minReadySeconds",
    "ordinals",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
)
_IMMUTABLE_TEXT = (
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', "
    "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
)


def validate_new_stateful_set(spec: JsonObject) -> list[FieldError]:
    """Validate the spec of a new StatefulSet."""
    return _validate_spec(spec, is_new=True)


def validate_stateful_set_update(spec: JsonObject, old_spec: JsonObject) -> list[FieldError]:
    """Validate the spec of an updated StatefulSet. Most fields are immutable."""
    # An update does not validate the template if the old spec is invalid, because an older kube-apiserver accepted it.
    tolerates_template = bool(_validate_spec(old_spec))
    found = _validate_spec(spec, old_spec, validate_template=not tolerates_template)
    kept = [{name: value for name, value in s.items() if name not in _MUTABLE_FIELDS} for s in (spec, old_spec)]
    return found if kept[0] == kept[1] else [*found, errors.forbidden("spec", _IMMUTABLE_TEXT)]


def _validate_spec(
    spec: JsonObject, old_spec: JsonObject | None = None, *, is_new: bool = False, validate_template: bool = True
) -> list[FieldError]:
    policy, at = spec["podManagementPolicy"], "spec.podManagementPolicy"
    found = []
    if policy not in ("OrderedReady", "Parallel"):
        found.append(errors.invalid(at, policy, "must be 'OrderedReady' or 'Parallel'"))
    found += _validate_update_strategy(spec["updateStrategy"], "spec.updateStrategy")
    for name, value in spec["persistentVolumeClaimRetentionPolicy"].items():
        if value not in ("Retain", "Delete"):
            here = f"spec.persistentVolumeClaimRetentionPolicy.{name}"
            found.append(errors.not_supported(here, value, ("Retain", "Delete")))
    if is_new:
        found += _validate_claim_templates(spec)
    found += validate_nonnegative(spec["replicas"], "spec.replicas")
    found += validate_nonnegative(spec.get("minReadySeconds"), "spec.minReadySeconds")
    found += validate_nonnegative((spec.get("ordinals") or {}).get("start"), "spec.ordinals.start")
    service_name = spec.get("serviceName")
    if is_new and service_name:
        reasons = names.dns1123_label(service_name)
        found += [errors.invalid("spec.serviceName", service_name, reason) for reason in reasons]
    found += validate_required_selector(spec.get("selector"), "statefulset")
    found += _validate_selected_template(spec, old_spec, validate_template=validate_template)
    return found + validate_long_running(spec["template"]["spec"], "StatefulSet")


def _validate_claim_templates(spec: JsonObject) -> list[FieldError]:
    claims = spec.get("volumeClaimTemplates") or ()
    found: list[FieldError] = []
    for index, claim in enumerate(claims):
        found += validate_volume_claim_spec(claim["spec"], f"spec.volumeClaimTemplates[{index}].spec")
    return found


def _validate_update_strategy(strategy: JsonObject, at: str) -> list[FieldError]:
    rolling_update = strategy.get("rollingUpdate")
    match strategy["type"]:
        case "OnDelete":
            if rolling_update is None:
                return []
            shown = show_internal(APPS_V1.struct("RollingUpdateStatefulSetStrategy"), rolling_update)
            return [errors.invalid(f"{at}.rollingUpdate", shown, "only allowed for updateStrategy 'RollingUpdate'")]
        case "RollingUpdate":
            return _validate_rolling_update(rolling_update or {}, f"{at}.rollingUpdate")
    shown = show_internal(APPS_V1.struct("StatefulSetUpdateStrategy"), strategy)
    return [errors.invalid(at, shown, "must be 'RollingUpdate' or 'OnDelete'")]


def _validate_rolling_update(rolling_update: JsonObject, at: str) -> list[FieldError]:
    found = validate_nonnegative(rolling_update.get("partition"), f"{at}.partition")
    unavailable, at = rolling_update.get("maxUnavailable"), f"{at}.maxUnavailable"
    if unavailable is None:
        return found
    found += validate_int_or_percent(unavailable, at)
    if int_or_percent(unavailable) == 0:
        found.append(errors.invalid(at, unavailable, "cannot be 0"))
    return found + validate_at_most_100_percent(unavailable, at)


def _validate_selected_template(
    spec: JsonObject, old_spec: JsonObject | None, *, validate_template: bool
) -> list[FieldError]:
    selector, template = spec.get("selector"), spec["template"]
    labels = template["metadata"].get("labels")
    selected = matches_labels(selector, labels)
    if selected is None:
        return [errors.invalid("spec.selector", show_label_selector(selector), "")]
    found = [] if selected else [unmatched_labels_error(template)]
    if validate_template:
        options = template_options(old_spec and old_spec["template"])
        found += validate_pod_template_spec(_pod_template(spec), "spec.template", options)
    annotations = template["metadata"].get("annotations") or {}
    found += validate_labels(labels, "spec.template.labels")
    found += validate_annotations(annotations, "spec.template.annotations")
    return found + validate_pod_annotations(annotations, template["spec"], "spec.template.annotations")


def _pod_template(spec: JsonObject) -> JsonObject:
    """Return the pod template without host name and subdomain, and with volumes for the claims.

    The controller sets these values in each pod.
    """
    template: JsonObject = spec["template"]
    pod_spec = {name: value for name, value in template["spec"].items() if name not in ("subdomain", "hostname")}
    claims = [claim["metadata"].get("name", "") for claim in spec.get("volumeClaimTemplates") or ()]
    if claims:
        volumes = [volume for volume in pod_spec.get("volumes") or () if volume["name"] not in claims]
        added = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in dict.fromkeys(claims)]
        pod_spec["volumes"] = [*added, *volumes]
    return {**template, "spec": pod_spec}
