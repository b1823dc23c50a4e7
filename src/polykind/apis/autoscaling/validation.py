"""Validation of HorizontalPodAutoscalers in version v2, to which the server converts the other versions."""

from __future__ import annotations

from collections.abc import Callable

from polykind import errors, names
from polykind.apis.core.resource_validation import validate_container_resource_name
from polykind.apis.meta.field_validation import validate_nonnegative_fields
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.quantity import parse_quantity

_MAX_PERIOD_SECONDS = 1800
_MAX_STABILIZATION_SECONDS = 3600
_SELECT_POLICIES = ("Disabled", "Max", "Min")
_POLICY_TYPES = ("Percent", "Pods")
_SOURCE_FIELDS = {
    "Object": "object",
    "Pods": "pods",
    "Resource": "resource",
    "External": "external",
    "ContainerResource": "containerResource",
}
_SOURCE_TYPES = tuple(sorted(_SOURCE_FIELDS))
_NOT_POSITIVE = "must be greater than zero"


def validate_autoscaler_spec(spec: JsonObject, old: JsonObject | None) -> list[FieldError]:
    """Validate the spec of a HorizontalPodAutoscaler. `old` is the stored spec of an update, None for a create."""
    lowest = 0 if old is not None and old.get("minReplicas") == 0 else 1
    minimum, maximum = spec.get("minReplicas"), spec.get("maxReplicas", 0)
    found = []
    if minimum is not None and minimum < lowest:
        found.append(errors.invalid("spec.minReplicas", minimum, f"must be greater than or equal to {lowest}"))
    if maximum == 0:
        found.append(errors.required("spec.maxReplicas", "must be set and greater than 0"))
    elif maximum < 0:
        found.append(errors.invalid("spec.maxReplicas", maximum, "must be greater than or equal to 1"))
    if minimum is not None and maximum < minimum:
        text = "must be greater than or equal to `minReplicas`"
        found.append(errors.invalid("spec.maxReplicas", maximum, text))
    found += _validate_target_reference(spec["scaleTargetRef"], old and old["scaleTargetRef"])
    found += _validate_metrics(spec, old)
    for name in ("scaleUp", "scaleDown"):
        rules = (spec.get("behavior") or {}).get(name)
        if rules is not None:
            found += _validate_scaling_rules(rules, f"spec.behavior.{name}")
    return found


def validate_autoscaler_status(status: JsonObject) -> list[FieldError]:
    """Validate the status of a HorizontalPodAutoscaler."""
    return validate_nonnegative_fields(status, ("currentReplicas", "desiredReplicas"), "status")


def _validate_target_reference(reference: JsonObject, old: JsonObject | None) -> list[FieldError]:
    """Validate scaleTargetRef. Skip the apiVersion if an update changes neither it nor the kind."""
    is_unchanged = old is not None and all(reference.get(name) == old.get(name) for name in ("apiVersion", "kind"))
    found = _validate_reference_names(reference, "spec.scaleTargetRef")
    if is_unchanged:
        return found
    # ReplicationControllers are the only scalable resource of the core group.
    allows_core = reference.get("kind") == "ReplicationController"
    return found + _validate_api_version(reference, "spec.scaleTargetRef", allows_core=allows_core)


def _validate_reference_names(reference: JsonObject, at: str) -> list[FieldError]:
    found: list[FieldError] = []
    for name in ("kind", "name"):
        value = reference.get(name) or ""
        if value:
            found += [errors.invalid(f"{at}.{name}", value, reason) for reason in names.path_segment(value)]
        else:
            found.append(errors.required(f"{at}.{name}"))
    return found


def _validate_api_version(reference: JsonObject, at: str, *, allows_core: bool) -> list[FieldError]:
    api_version = reference.get("apiVersion") or ""
    if api_version.count("/") > 1:
        reason = f"unexpected GroupVersion string: {api_version}"
    elif not allows_core and not api_version.rpartition("/")[0]:
        reason = "apiVersion must specify API group"
    else:
        return []
    return [errors.invalid(f"{at}.apiVersion", api_version, reason)]


def _validate_metrics(spec: JsonObject, old: JsonObject | None) -> list[FieldError]:
    found: list[FieldError] = []
    # If a stored reference has an invalid apiVersion, an older kube-apiserver accepted it. Then accept such references.
    tolerates_versions = any(
        _validate_api_version(metric["object"]["describedObject"], "", allows_core=True)
        for metric in (old or {}).get("metrics") or ()
        if metric.get("type") == "Object" and "object" in metric
    )
    metrics = spec.get("metrics") or ()
    for index, metric in enumerate(metrics):
        found += _validate_metric(metric, f"spec.metrics[{index}]", checks_version=not tolerates_versions)
    if spec.get("minReplicas") == 0 and not any(m.get("type") in ("Object", "External") for m in metrics):
        text = "must specify at least one Object or External metric to support scaling to zero replicas"
        found.append(errors.forbidden("spec.metrics", text))
    return found


def _validate_metric(metric: JsonObject, at: str, *, checks_version: bool) -> list[FieldError]:
    type_ = metric.get("type") or ""
    found = [] if type_ else [errors.required(f"{at}.type", "must specify a metric source type")]
    if type_ not in _SOURCE_FIELDS:
        found.append(errors.not_supported(f"{at}.type", type_, _SOURCE_TYPES))
    present = [name for name in _SOURCE_CHECKS if name in metric]
    if present:
        # If a metric has several sources, kube-apiserver validates only the first one.
        source, here = metric[present[0]], f"{at}.{present[0]}"
        if present[0] == "object":
            found += _validate_described_object(source, here, checks_version=checks_version)
        found += _SOURCE_CHECKS[present[0]](source, here)
    expected = _SOURCE_FIELDS.get(type_)
    if expected is None:
        found.append(errors.not_supported(f"{at}.type", type_, _SOURCE_TYPES))
    elif expected not in metric:
        text = "must populate information for the given metric source"
        found.append(errors.required(f"{at}.{expected}", text))
    if len(present) != 1:
        text = "must populate the given metric source only"
        found += [errors.forbidden(f"{at}.{name}", text) for name in present if name != expected]
    return found


def _validate_described_object(source: JsonObject, at: str, *, checks_version: bool) -> list[FieldError]:
    found = _validate_reference_names(source["describedObject"], f"{at}.describedObject")
    if not checks_version:
        return found
    return found + _validate_api_version(source["describedObject"], f"{at}.describedObject", allows_core=True)


def _validate_object_source(source: JsonObject, at: str) -> list[FieldError]:
    found = _validate_metric_and_target(source, at)
    if not source["target"].keys() & {"value", "averageValue"}:
        text = "must set either a target value or averageValue"
        found.append(errors.required(f"{at}.target.averageValue", text))
    return found


def _validate_external_source(source: JsonObject, at: str) -> list[FieldError]:
    found, target = _validate_metric_and_target(source, at), source["target"]
    if "value" not in target and "averageValue" not in target:
        text = "must set either a target value for metric or a per-pod target"
        found.append(errors.required(f"{at}.target.averageValue", text))
    if "value" in target and "averageValue" in target:
        text = "may not set both a target value for metric and a per-pod target"
        found.append(errors.forbidden(f"{at}.target.value", text))
    return found


def _validate_pods_source(source: JsonObject, at: str) -> list[FieldError]:
    found = _validate_metric_and_target(source, at)
    if "averageValue" not in source["target"]:
        text = "must specify a positive target averageValue"
        found.append(errors.required(f"{at}.target.averageValue", text))
    return found


def _validate_container_source(source: JsonObject, at: str) -> list[FieldError]:
    name, container = source.get("name") or "", source.get("container") or ""
    if name:
        found = validate_container_resource_name(name, f"{at}.name")
    else:
        found = [errors.required(f"{at}.name", "must specify a resource name")]
    if container:
        reasons = names.dns1123_label(container)
        found += [errors.invalid(f"{at}.container", container, reason) for reason in reasons]
    else:
        found.append(errors.required(f"{at}.container", "must specify a container"))
    return found + _validate_resource_target(source["target"], f"{at}.target")


def _validate_resource_source(source: JsonObject, at: str) -> list[FieldError]:
    found = [] if source.get("name") else [errors.required(f"{at}.name", "must specify a resource name")]
    return found + _validate_resource_target(source["target"], f"{at}.target")


_SOURCE_CHECKS: dict[str, Callable[[JsonObject, str], list[FieldError]]] = {
    "object": _validate_object_source,
    "external": _validate_external_source,
    "pods": _validate_pods_source,
    "resource": _validate_resource_source,
    "containerResource": _validate_container_source,
}
"""The functions that validate the sources of a metric, in the order in which kube-apiserver looks for a source."""


def _validate_resource_target(target: JsonObject, at: str) -> list[FieldError]:
    found = _validate_target(target, at)
    if "averageUtilization" not in target and "averageValue" not in target:
        text = "must set either a target raw value or a target utilization"
        found.append(errors.required(f"{at}.averageUtilization", text))
    if "averageUtilization" in target and "averageValue" in target:
        text = "may not set both a target raw value and a target utilization"
        found.append(errors.forbidden(f"{at}.averageValue", text))
    return found


def _validate_metric_and_target(source: JsonObject, at: str) -> list[FieldError]:
    name = source["metric"].get("name") or ""
    if name:
        found = [errors.invalid(f"{at}.metric.name", name, reason) for reason in names.path_segment(name)]
    else:
        found = [errors.required(f"{at}.metric.name", "must specify a metric name")]
    return found + _validate_target(source["target"], f"{at}.target")


def _validate_target(target: JsonObject, at: str) -> list[FieldError]:
    type_ = target.get("type") or ""
    found = [] if type_ else [errors.required(f"{at}.type", "must specify a metric target type")]
    if type_ not in ("Utilization", "Value", "AverageValue"):
        found.append(errors.invalid(f"{at}.type", type_, "must be either Utilization, Value, or AverageValue"))
    found += [
        errors.invalid(f"{at}.{name}", target[name], "must be positive")
        for name in ("value", "averageValue")
        if name in target and parse_quantity(target[name]) <= parse_quantity("0")
    ]
    utilization = target.get("averageUtilization")
    if utilization is not None and utilization < 1:
        found.append(errors.invalid(f"{at}.averageUtilization", utilization, "must be greater than 0"))
    return found


def _validate_scaling_rules(rules: JsonObject, at: str) -> list[FieldError]:
    found, here, window = [], f"{at}.stabilizationWindowSeconds", rules.get("stabilizationWindowSeconds", 0)
    if window < 0:
        found.append(errors.invalid(here, window, "must be greater than or equal to zero"))
    if window > _MAX_STABILIZATION_SECONDS:
        found.append(errors.invalid(here, window, f"must be less than or equal to {_MAX_STABILIZATION_SECONDS}"))
    policy = rules.get("selectPolicy")
    if policy is not None and policy not in _SELECT_POLICIES:
        found.append(errors.not_supported(f"{at}.selectPolicy", policy, _SELECT_POLICIES))
    policies = rules.get("policies")
    if not policies:
        found.append(errors.required(f"{at}.policies", "must specify at least one Policy"))
    for index, policy in enumerate(policies or ()):
        found += _validate_scaling_policy(policy, f"{at}.policies[{index}]")
    tolerance = rules.get("tolerance")
    if tolerance is not None and parse_quantity(tolerance) < parse_quantity("0"):
        found.append(errors.invalid(f"{at}.tolerance", tolerance, "must be greater than or equal to 0"))
    return found


def _validate_scaling_policy(policy: JsonObject, at: str) -> list[FieldError]:
    type_, value, period = policy.get("type") or "", policy.get("value", 0), policy.get("periodSeconds", 0)
    found = []
    if type_ not in _POLICY_TYPES:
        found.append(errors.not_supported(f"{at}.type", type_, _POLICY_TYPES))
    if value <= 0:
        found.append(errors.invalid(f"{at}.value", value, _NOT_POSITIVE))
    if period <= 0:
        found.append(errors.invalid(f"{at}.periodSeconds", period, _NOT_POSITIVE))
    if period > _MAX_PERIOD_SECONDS:
        text = f"must be less than or equal to {_MAX_PERIOD_SECONDS}"
        found.append(errors.invalid(f"{at}.periodSeconds", period, text))
    return found
