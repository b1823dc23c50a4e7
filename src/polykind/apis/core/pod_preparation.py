"""Preparation of pods for storage: fields that the server sets, and fields that clients cannot set."""

from __future__ import annotations

from polykind.apis.core.pod_annotation_validation import APP_ARMOR_CONTAINER_PREFIX, app_armor_profile
from polykind.apis.core.pod_resources import all_containers, qos_class
from polykind.contract import JsonObject

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_STATUS_LISTS = ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")
_DISABLED_PROJECTIONS = ("clusterTrustBundle", "podCertificate")
"""Sources of projected volumes that are behind feature gates which are off by default."""


def initial_status(pod: JsonObject) -> JsonObject:
    """Return the status of a new pod. Of the status that the client sends, kube-apiserver keeps only the QoS class."""
    requested = (pod.get("status") or {}).get("qosClass")
    status: JsonObject = {"phase": "Pending", "qosClass": requested or qos_class(pod["spec"])}
    if pod["spec"].get("schedulingGates"):
        message = "Scheduling is blocked due to non-empty scheduling gates"
        condition = {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated", "message": message}
        set_condition(status, condition, pod["metadata"].get("creationTimestamp", ""))
    return status


def set_condition(status: JsonObject, condition: JsonObject, now: str) -> None:
    """Add a condition to the status of a pod, or replace the one of the same type, in place."""
    conditions = status["conditions"] = list(status.get("conditions") or ())
    changed = {"lastProbeTime": None, "lastTransitionTime": now, **condition}
    for index, old in enumerate(conditions):
        if old.get("type") == condition["type"]:
            if old.get("status") == condition["status"]:
                changed["lastTransitionTime"] = old.get("lastTransitionTime")
            conditions[index] = changed
            return
    conditions.append(changed)


def drop_disabled_fields(spec: JsonObject, old_spec: JsonObject | None) -> None:
    """Remove fields of disabled features from a pod spec, in place, unless the stored spec already uses them."""
    old_spec = old_spec or {}
    for name in _DISABLED_PROJECTIONS:
        if not any(name in source for source in _projections(old_spec)):
            for source in _projections(spec):
                source.pop(name, None)
    if "schedulingGroup" not in old_spec:
        spec.pop("schedulingGroup", None)
    if not any("stopSignal" in (container.get("lifecycle") or {}) for _, container in all_containers(old_spec)):
        for _, container in all_containers(spec):
            lifecycle = container.get("lifecycle") or {}
            if lifecycle.pop("stopSignal", None) is not None and not lifecycle:
                del container["lifecycle"]


def drop_disabled_template_fields(template: JsonObject | None, old_template: JsonObject | None = None) -> None:
    """Remove fields of disabled features from a pod template, in place, unless the stored template uses them."""
    if template is not None and template.get("spec") is not None:
        drop_disabled_fields(template["spec"], (old_template or {}).get("spec"))


def drop_disabled_status_fields(status: JsonObject, old_status: JsonObject) -> None:
    """Remove fields of disabled features from the status of a pod, in place, unless the stored status uses them."""
    if not any("volumeStatus" in mount for mount in _mounts(old_status)):
        for mount in _mounts(status):
            mount.pop("volumeStatus", None)
    if not old_status.get("nodeAllocatableResourceClaimStatuses"):
        status.pop("nodeAllocatableResourceClaimStatuses", None)


def _projections(spec: JsonObject) -> list[JsonObject]:
    volumes = spec.get("volumes") or ()
    return [source for volume in volumes for source in (volume.get("projected") or {}).get("sources") or ()]


def _mounts(status: JsonObject) -> list[JsonObject]:
    containers = [container for field in _STATUS_LISTS for container in status.get(field) or ()]
    return [mount for container in containers for mount in container.get("volumeMounts") or ()]


def select_by_own_labels(pod: JsonObject) -> None:
    """Add the pod's own label values to the selectors of its affinity terms and spread constraints, in place.

    The fields matchLabelKeys and mismatchLabelKeys name the labels.
    """
    labels: dict[str, str] = pod["metadata"].get("labels") or {}
    affinity = pod["spec"].get("affinity") or {}
    for name in ("podAffinity", "podAntiAffinity"):
        terms = affinity.get(name) or {}
        for weighted in terms.get(_PREFERRED) or ():
            _add_label_values(weighted.get("podAffinityTerm") or {}, labels)
        for term in terms.get(_REQUIRED) or ():
            _add_label_values(term, labels)
    for constraint in pod["spec"].get("topologySpreadConstraints") or ():
        _add_label_values(constraint, labels)


def _add_label_values(term: JsonObject, labels: dict[str, str]) -> None:
    selector = term.get("labelSelector")
    if selector is None:
        return
    added = [
        {"key": key, "operator": operator, "values": [labels[key]]}
        for field, operator in (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn"))
        for key in term.get(field) or ()
        if key in labels
    ]
    if added:
        selector["matchExpressions"] = [*(selector.get("matchExpressions") or ()), *added]


def copy_app_armor_annotations(pod: JsonObject) -> list[str]:
    """Set the AppArmor profiles of containers from the deprecated annotations, in place.

    Return deprecation warnings.
    """
    annotations: dict[str, str] = pod["metadata"].get("annotations") or {}
    spec = pod["spec"]
    if (spec.get("os") or {}).get("name") == "windows":
        return []
    pod_profile = (spec.get("securityContext") or {}).get("appArmorProfile")
    warnings = []
    for _, container in all_containers(spec):
        key = APP_ARMOR_CONTAINER_PREFIX + (container.get("name") or "")
        context = container.get("securityContext") or {}
        if key not in annotations or context.get("appArmorProfile") is not None:
            continue
        profile = app_armor_profile(annotations[key])
        if profile is None or profile != pod_profile:
            warnings.append(
                f'metadata.annotations[{key}]: deprecated since v1.30; use the "appArmorProfile" field instead'
            )
            if profile is not None:
                container["securityContext"] = {**context, "appArmorProfile": profile}
    return warnings


def keep_observed_generations(status: JsonObject, old_status: JsonObject) -> None:
    """Copy observedGeneration from the old status and its conditions, in place, where the client has not set it."""
    if not status.get("observedGeneration") and old_status.get("observedGeneration"):
        status["observedGeneration"] = old_status["observedGeneration"]
    old_generations: dict[str, list[int]] = {}
    for condition in old_status.get("conditions") or ():
        generation = condition.get("observedGeneration") or 0
        old_generations.setdefault(condition.get("type") or "", []).append(generation)
    for condition in status.get("conditions") or ():
        known = old_generations.get(condition.get("type") or "")
        generation = known.pop(0) if known else 0
        if not condition.get("observedGeneration") and generation:
            condition["observedGeneration"] = generation


def only_resources_changed(spec: JsonObject, old_spec: JsonObject) -> JsonObject:
    """Return the old spec with the resources and resize policies of the new spec.

    If the update adds, removes, renames or reorders containers, return the new containers, so that validation rejects
    them.
    """
    if any(len(spec.get(field) or ()) != len(old_spec.get(field) or ()) for field in ("containers", "initContainers")):
        return spec
    result = {name: value for name, value in old_spec.items() if name != "resources"}
    if "resources" in spec:
        result["resources"] = spec["resources"]
    for field in ("containers", "initContainers"):
        if spec.get(field):
            result[field] = _resized_containers(spec[field], old_spec[field])
    return result


def _resized_containers(containers: list[JsonObject], old_containers: list[JsonObject]) -> list[JsonObject]:
    if any(new.get("name") != old.get("name") for new, old in zip(containers, old_containers, strict=True)):
        return containers
    resized = []
    for new, old in zip(containers, old_containers, strict=True):
        container = {name: value for name, value in old.items() if name not in ("resources", "resizePolicy")}
        container.update({name: new[name] for name in ("resources", "resizePolicy") if name in new})
        resized.append(container)
    return resized
