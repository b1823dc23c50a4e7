"""Validation of resizes, which change the CPU and memory of a running pod."""

from __future__ import annotations

from polykind.apis.core.pod_options import PodValidationOptions
from polykind.apis.core.pod_resources import equal_specs, is_sidecar, qos_class
from polykind.apis.core.pod_spec_validation import MIRROR_POD_ANNOTATION, NO_FIELD
from polykind.apis.core.pod_validation import validate_pod
from polykind.apis.core.resource_names import POD_RESOURCES
from polykind.contract import JsonObject
from polykind.errors import FieldError, forbidden, invalid

_ONLY_CPU_AND_MEMORY = "only cpu and memory resources are mutable"


def validate_pod_resize(new: JsonObject, old: JsonObject, options: PodValidationOptions) -> list[FieldError]:
    """Validate an update through the resize subresource, apart from the metadata of the pod."""
    spec, old_spec = new["spec"], old["spec"]
    if MIRROR_POD_ANNOTATION in (old["metadata"].get("annotations") or {}):
        return [forbidden(NO_FIELD, "static pods cannot be resized")]
    if (old_spec.get("os") or {}).get("name") == "windows":
        return [forbidden(NO_FIELD, "windows pods cannot be resized")]
    found = validate_pod(new, options)
    qos = (old.get("status") or {}).get("qosClass") or qos_class(old_spec)
    if qos != qos_class(spec):
        shown = (new.get("status") or {}).get("qosClass") or ""
        found.append(invalid("spec", shown, "Pod QOS Class may not change as a result of resizing"))
    if not _node_supports_resize(old):
        found.append(forbidden("spec", "Pod running on node without support for resize"))
    found += _validate_pod_level(spec.get("resources"), old_spec.get("resources"))
    if order_errors := _validate_order(spec, old_spec):
        return found + order_errors
    found += _validate_removals(spec, old_spec)
    found += _validate_containers(spec, old_spec)
    if not found and not equal_specs(_without_cpu_and_memory(spec, old_spec), old_spec):
        found.append(forbidden("spec", _ONLY_CPU_AND_MEMORY))
    return found


def _validate_removals(spec: JsonObject, old_spec: JsonObject) -> list[FieldError]:
    """Validate that no container loses a request or a limit."""
    found: list[FieldError] = []
    for field in ("initContainers", "containers"):
        for index, (container, before) in enumerate(_pairs(spec, old_spec, field)):
            resources, old_resources = container.get("resources") or {}, before.get("resources") or {}
            found += _removal_errors(resources, old_resources, f"spec.{field}[{index}].resources", "resource")
    return found


def _pairs(spec: JsonObject, old_spec: JsonObject, field: str) -> list[tuple[JsonObject, JsonObject]]:
    return list(zip(spec.get(field) or (), old_spec.get(field) or (), strict=True))


def _node_supports_resize(pod: JsonObject) -> bool:
    """True if the node of a pod reports the resources of running containers, or if no container is running yet."""
    for status in (pod.get("status") or {}).get("containerStatuses") or ():
        if (status.get("state") or {}).get("running") is not None:
            return status.get("resources") is not None
    return True


def _validate_pod_level(new: JsonObject | None, old: JsonObject | None) -> list[FieldError]:
    """Validate the change of the resources of the whole pod."""
    if not _has_pod_level(new, old):
        return []
    if new is None:
        return [forbidden("spec.resources", "pod-level resources cannot be removed")] if old is not None else []
    found = [] if old is None else _removal_errors(new, old, "spec.resources", "pod-level resource")
    if _masked_pod_level(new, old) != old:
        found.append(forbidden("spec", "only cpu and memory resources are mutable at pod-level"))
    return found


def _has_pod_level(*resources: JsonObject | None) -> bool:
    return any(values and (values.get("requests") or values.get("limits")) for values in resources)


def _masked_pod_level(new: JsonObject | None, old: JsonObject | None) -> JsonObject | None:
    """Return the new resources of a pod with the old CPU and memory, for a comparison with the old resources."""
    if new is None:
        return None
    masked = {**new, **{field: _masked(new.get(field), (old or {}).get(field)) for field in ("requests", "limits")}}
    kept = {name: value for name, value in masked.items() if value}
    return None if old is None and not kept else kept


def _masked(values: dict[str, str] | None, old_values: dict[str, str] | None) -> dict[str, str]:
    others = {name: value for name, value in (values or {}).items() if name not in POD_RESOURCES}
    return {**others, **{name: value for name, value in (old_values or {}).items() if name in POD_RESOURCES}}


def _removal_errors(new: JsonObject, old: JsonObject, at: str, title: str) -> list[FieldError]:
    found = []
    for field in ("requests", "limits"):
        values, old_values = new.get(field) or {}, old.get(field) or {}
        if not old_values.keys() <= values.keys():
            found.append(forbidden(f"{at}.{field}", f"{title} {field} cannot be removed"))
    return found


def _validate_order(spec: JsonObject, old_spec: JsonObject) -> list[FieldError]:
    """Validate that the containers of both specs are the same, in the same order."""
    found = []
    for field in ("containers", "initContainers"):
        containers, old_containers = spec.get(field) or [], old_spec.get(field) or []
        if len(containers) != len(old_containers):
            found.append(forbidden(f"spec.{field}", f"{field} may not be added or removed on resize"))
            continue
        for index, (container, before) in enumerate(zip(containers, old_containers, strict=True)):
            if container.get("name") != before.get("name"):
                here = f"spec.{field}[{index}].name"
                found.append(forbidden(here, f"{field} may not be renamed or reordered on resize"))
    return found


def _masked_container(container: JsonObject, before: JsonObject) -> JsonObject:
    """Return the new container with the CPU and memory of the old one (`before`), and without claims.

    The caller compares the result with the old container, because a resize may change only CPU and memory.
    """
    resources, old_resources = container.get("resources") or {}, before.get("resources") or {}
    lists = {field: _masked(resources.get(field), old_resources.get(field)) for field in ("limits", "requests")}
    return {**container, "resources": {field: values for field, values in lists.items() if values}}


def _comparable(container: JsonObject) -> JsonObject:
    return {**container, "resources": container.get("resources") or {}}


def _validate_containers(spec: JsonObject, old_spec: JsonObject) -> list[FieldError]:
    found = []
    for container, before in _pairs(spec, old_spec, "containers"):
        if not equal_specs(_masked_container(container, before), _comparable(before)):
            found.append(forbidden("spec", _ONLY_CPU_AND_MEMORY))
    for index, (container, before) in enumerate(_pairs(spec, old_spec, "initContainers")):
        here = f"spec.initContainers[{index}]"
        if not equal_specs(_masked_container(container, before), _comparable(before)):
            reason = "only cpu and memory resources for init or sidecar containers are mutable"
            found.append(forbidden(here, reason))
        policies = container.get("resizePolicy") or ()
        if not equal_specs(_comparable(container), _comparable(before)) and not is_sidecar(container):
            restarting = [policy for policy in policies if policy.get("restartPolicy") == "RestartContainer"]
            reason = "non-sidecar init containers with a resize policy of RestartContainer cannot be resized"
            found += [forbidden(here, reason) for _ in restarting]
    return found


def _without_cpu_and_memory(spec: JsonObject, old_spec: JsonObject) -> JsonObject:
    """Return the new spec with the old values of CPU and memory, for a comparison with the old spec."""
    result = dict(spec)
    for field in ("containers", "initContainers"):
        if field in spec:
            pairs = _pairs(spec, old_spec, field)
            result[field] = [
                {**container, "resources": before["resources"]} if "resources" in before else container
                for container, before in pairs
            ]
    resources, old_resources = spec.get("resources"), old_spec.get("resources")
    if _has_pod_level(resources, old_resources):
        resources = _masked_pod_level(resources, old_resources)
    if resources is None:
        result.pop("resources", None)
    else:
        result["resources"] = resources
    return result
