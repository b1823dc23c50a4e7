"""Validation of Deployments, ReplicaSets, DaemonSets and ControllerRevisions."""

from __future__ import annotations

from polykind import errors
from polykind.apis.apps.defaults import ROLLBACK_ANNOTATION
from polykind.apis.apps.types import APPS_V1
from polykind.apis.core.pod_options import template_options
from polykind.apis.core.pod_validation import validate_pod_template_spec
from polykind.apis.machinery.internal_types import show_internal, show_label_selector
from polykind.apis.meta.field_validation import (
    IMMUTABLE,
    int_or_percent,
    validate_at_most_100_percent,
    validate_int_or_percent,
    validate_nonnegative,
)
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.selectors.selector_objects import matches_labels, validate_label_selector

_UNMATCHED_LABELS = "`selector` does not match template `labels`"


def validate_deployment_spec(deployment: JsonObject, old: JsonObject | None) -> list[FieldError]:
    """Validate the spec of a Deployment and the revision in its rollback annotation."""
    spec = deployment["spec"]
    found = validate_nonnegative(spec["replicas"], "spec.replicas")
    found += validate_selector_and_template(spec, old and old["spec"], "Deployment")
    found += _validate_deployment_strategy(spec["strategy"], "spec.strategy")
    found += validate_nonnegative(spec.get("minReadySeconds"), "spec.minReadySeconds")
    found += validate_nonnegative(spec["revisionHistoryLimit"], "spec.revisionHistoryLimit")
    rollback = (deployment["metadata"].get("annotations") or {}).get(ROLLBACK_ANNOTATION)
    found += validate_nonnegative(int(rollback or 0), "spec.rollback.version")
    deadline, at = spec["progressDeadlineSeconds"], "spec.progressDeadlineSeconds"
    found += validate_nonnegative(deadline, at)
    if deadline <= spec.get("minReadySeconds", 0):
        found.append(errors.invalid(at, deadline, "must be greater than minReadySeconds"))
    return found


def validate_replica_set_spec(spec: JsonObject, old_spec: JsonObject | None) -> list[FieldError]:
    """Validate the spec of a ReplicaSet."""
    found = validate_nonnegative(spec["replicas"], "spec.replicas")
    found += validate_nonnegative(spec.get("minReadySeconds"), "spec.minReadySeconds")
    return found + validate_selector_and_template(spec, old_spec, "ReplicaSet")


def validate_selector_and_template(spec: JsonObject, old_spec: JsonObject | None, kind: str) -> list[FieldError]:
    """Validate the selector of a Deployment or ReplicaSet, and the pod template that it must select."""
    selector, template = spec.get("selector"), spec["template"]
    found = validate_required_selector(selector, "deployment")
    selected = matches_labels(selector, template["metadata"].get("labels"))
    if selected is None:
        return [*found, errors.invalid("spec.selector", show_label_selector(selector), "invalid label selector")]
    if not selected:
        found.append(unmatched_labels_error(template))
    found += validate_pod_template_spec(template, "spec.template", template_options(old_spec and old_spec["template"]))
    # kube-apiserver's error message says ReplicaSet even if the object is a Deployment.
    return found + validate_long_running(template["spec"], "ReplicaSet")


def validate_required_selector(selector: JsonObject | None, subject: str) -> list[FieldError]:
    """Validate a selector that must exist and must not be empty. `subject` is the kind in the error message."""
    if selector is None:
        return [errors.required("spec.selector")]
    found = validate_label_selector(selector, "spec.selector")
    return found + validate_not_empty(selector, subject)


def validate_not_empty(selector: JsonObject, subject: str) -> list[FieldError]:
    """Return an error if a selector has no requirement. `subject` is the kind in the error message."""
    if selector.get("matchLabels") or selector.get("matchExpressions"):
        return []
    return [errors.invalid("spec.selector", {}, f"empty selector is invalid for {subject}")]


def unmatched_labels_error(template: JsonObject) -> FieldError:
    """Return the error for a selector that does not select the pods of its own template."""
    return errors.invalid("spec.template.metadata.labels", template["metadata"].get("labels"), _UNMATCHED_LABELS)


def validate_long_running(pod_spec: JsonObject, subject: str) -> list[FieldError]:
    """Validate that the pods of a controller always restart and have no deadline. `subject` is the kind in errors."""
    found, policy = [], pod_spec.get("restartPolicy")
    if policy != "Always":
        found.append(errors.not_supported("spec.template.spec.restartPolicy", policy, ("Always",)))
    if pod_spec.get("activeDeadlineSeconds") is not None:
        text = f"activeDeadlineSeconds in {subject} is not Supported"
        found.append(errors.forbidden("spec.template.spec.activeDeadlineSeconds", text))
    return found


def validate_immutable_selector(new: JsonObject, old: JsonObject) -> list[FieldError]:
    """Return an error if the selector of a spec has changed."""
    selector = new.get("selector")
    if selector == old.get("selector"):
        return []
    return [errors.invalid("spec.selector", show_label_selector(selector), IMMUTABLE)]


def _validate_deployment_strategy(strategy: JsonObject, at: str) -> list[FieldError]:
    rolling_update = strategy.get("rollingUpdate")
    match strategy["type"]:
        case "Recreate":
            if rolling_update is None:
                return []
            text = "may not be specified when strategy `type` is 'Recreate'"
            return [errors.forbidden(f"{at}.rollingUpdate", text)]
        case "RollingUpdate":
            return _validate_rolling_update(rolling_update or {}, f"{at}.rollingUpdate")
    supported = ("Recreate", "RollingUpdate")
    return [errors.not_supported(at, show_internal(APPS_V1.struct("DeploymentStrategy"), strategy), supported)]


def _validate_rolling_update(rolling_update: JsonObject, at: str) -> list[FieldError]:
    unavailable, surge = rolling_update["maxUnavailable"], rolling_update["maxSurge"]
    found = validate_int_or_percent(unavailable, f"{at}.maxUnavailable")
    found += validate_int_or_percent(surge, f"{at}.maxSurge")
    if int_or_percent(unavailable) == 0 and int_or_percent(surge) == 0:
        text = "may not be 0 when `maxSurge` is 0"
        found.append(errors.invalid(f"{at}.maxUnavailable", unavailable, text))
    return found + validate_at_most_100_percent(unavailable, f"{at}.maxUnavailable")


def validate_daemon_set_spec(spec: JsonObject, old_spec: JsonObject | None) -> list[FieldError]:
    """Validate the spec of a DaemonSet. `old_spec` is the stored spec of an update, None for a create."""
    selector, template = spec.get("selector"), spec["template"]
    lenient = old_spec is not None and bool(validate_label_selector(old_spec.get("selector"), ""))
    found = validate_label_selector(selector, "spec.selector", lenient=lenient)
    if matches_labels(selector, template["metadata"].get("labels")) is False:
        found.append(unmatched_labels_error(template))
    if selector is not None:
        found += validate_not_empty(selector, "daemonset")
    found += validate_pod_template_spec(template, "spec.template", template_options(old_spec and old_spec["template"]))
    found += validate_long_running(template["spec"], "DaemonSet")
    found += validate_nonnegative(spec.get("minReadySeconds"), "spec.minReadySeconds")
    found += _validate_daemon_set_strategy(spec["updateStrategy"], "spec.updateStrategy")
    return found + validate_nonnegative(spec["revisionHistoryLimit"], "spec.revisionHistoryLimit")


def _validate_daemon_set_strategy(strategy: JsonObject, at: str) -> list[FieldError]:
    if strategy["type"] == "OnDelete":
        return []
    if strategy["type"] != "RollingUpdate":
        supported = ("RollingUpdate", "OnDelete")
        return [errors.not_supported(at, show_internal(APPS_V1.struct("DaemonSetUpdateStrategy"), strategy), supported)]
    at = f"{at}.rollingUpdate"
    unavailable, surge = strategy["rollingUpdate"]["maxUnavailable"], strategy["rollingUpdate"]["maxSurge"]
    found = validate_int_or_percent(unavailable, f"{at}.maxUnavailable")
    found += validate_int_or_percent(surge, f"{at}.maxSurge")
    found += validate_at_most_100_percent(unavailable, f"{at}.maxUnavailable")
    found += validate_at_most_100_percent(surge, f"{at}.maxSurge")
    has_unavailable, has_surge = int_or_percent(unavailable) != 0, int_or_percent(surge) != 0
    if has_unavailable and has_surge:
        found.append(errors.invalid(f"{at}.maxSurge", surge, "may not be set when maxUnavailable is non-zero"))
    elif not has_unavailable and not has_surge:
        found.append(errors.required(f"{at}.maxUnavailable", "cannot be 0 when maxSurge is 0"))
    return found


def validate_controller_revision(revision: JsonObject) -> list[FieldError]:
    """Validate that the revision of a ControllerRevision is not negative."""
    return validate_nonnegative(revision["revision"], "revision")


def validate_revision_data(revision: JsonObject) -> list[FieldError]:
    """Validate that a new ControllerRevision has data, which must be a JSON object."""
    data = revision.get("data")
    if data is None:
        return [errors.required("data", "data is mandatory")]
    return [] if isinstance(data, dict) else [errors.required("data", "data must be a valid JSON object")]
