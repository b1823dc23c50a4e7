"""Arithmetic of resource lists, which map resource names to quantities, and the sums of a pod's resources."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from polykind.contract import JsonObject
from polykind.quantity import Quantity, parse_quantity

ResourceList = dict[str, Quantity]

_POD_LEVEL = ("cpu", "memory")
"""The resources that a pod-level spec.resources can contain."""


def parse_resources(resources: Mapping[str, str] | None) -> ResourceList:
    return {name: parse_quantity(str(text)) for name, text in (resources or {}).items()}


def to_json(resources: ResourceList) -> JsonObject:
    return {name: resources[name].canonical() for name in sorted(resources)}


def add(one: ResourceList, other: ResourceList) -> ResourceList:
    """Return the sum of two lists. A resource that only one list contains keeps its quantity."""
    total = dict(one)
    for name, quantity in other.items():
        total[name] = total[name] + quantity if name in total else quantity
    return total


def subtract(one: ResourceList, other: ResourceList) -> ResourceList:
    """Return the difference of each resource in `one`, and 0 instead of a negative difference."""
    left = {name: quantity - other[name] if name in other else quantity for name, quantity in one.items()}
    return {name: quantity if quantity.sign > 0 else Quantity.of(0) for name, quantity in left.items()}


def largest(one: ResourceList, other: ResourceList) -> ResourceList:
    """Return the larger quantity of each resource."""
    result = dict(one)
    for name, quantity in other.items():
        if name not in result or quantity > result[name]:
            result[name] = quantity
    return result


def mask(resources: ResourceList, names: Iterable[str]) -> ResourceList:
    """Return the resources with the given names."""
    kept = set(names)
    return {name: quantity for name, quantity in resources.items() if name in kept}


def sum_containers(spec: JsonObject, resources_of: Callable[[JsonObject], ResourceList]) -> ResourceList:
    """Return the most of each resource that a pod's containers need at the same time.

    Init containers run one after the other, before all other containers. Init containers with restartPolicy Always keep
    running.
    """
    total: ResourceList = {}
    for container in spec.get("containers") or ():
        total = add(total, resources_of(container))
    sidecars: ResourceList = {}
    peak: ResourceList = {}
    for container in spec.get("initContainers") or ():
        needed = resources_of(container)
        if container.get("restartPolicy") == "Always":
            total, sidecars = add(total, needed), add(sidecars, needed)
            needed = sidecars
        else:
            needed = add(needed, sidecars)
        peak = largest(peak, needed)
    return largest(total, peak)


def container_resources(field: str) -> Callable[[JsonObject], ResourceList]:
    """Return a function that returns the requests or limits of a container."""
    return lambda container: parse_resources((container.get("resources") or {}).get(field))


def pod_level_resources(spec: JsonObject, field: str, *, huge_pages: bool = True) -> ResourceList:
    """Return the requests or limits in the pod-level spec.resources."""
    resources = parse_resources((spec.get("resources") or {}).get(field))
    return {
        name: quantity
        for name, quantity in resources.items()
        if name in _POD_LEVEL or (huge_pages and name.startswith("hugepages-"))
    }


def pod_requests(pod: JsonObject) -> ResourceList:
    """Return the requests of a pod, including its overhead and resources that its running containers still occupy."""
    spec = pod.get("spec") or {}
    total = sum_containers(spec, _effective(pod, "requests"))
    total |= pod_level_resources(spec, "requests")
    return add(total, parse_resources(spec.get("overhead")))


def pod_limits(pod: JsonObject) -> ResourceList:
    """Return the limits of a pod. The overhead is added to resources that have a limit."""
    spec = pod.get("spec") or {}
    total = sum_containers(spec, _effective(pod, "limits"))
    total |= pod_level_resources(spec, "limits")
    for name, quantity in parse_resources(spec.get("overhead")).items():
        if name in total and total[name].sign:
            total[name] += quantity
    return total


def _effective(pod: JsonObject, field: str) -> Callable[[JsonObject], ResourceList]:
    """Return a function that returns the maximum of a container's desired, allocated and actual resources.

    They differ while a pod is resized in place.
    """
    status = pod.get("status") or {}
    statuses = {
        one.get("name"): one
        for one in (*(status.get("containerStatuses") or ()), *(status.get("initContainerStatuses") or ()))
    }
    pending: JsonObject = next((c for c in status.get("conditions") or () if c.get("type") == "PodResizePending"), {})
    infeasible = pending.get("reason") == "Infeasible"
    init_names = {container["name"] for container in (pod.get("spec") or {}).get("initContainers") or ()}

    def resources(container: JsonObject) -> ResourceList:
        in_spec = container_resources(field)(container)
        found = statuses.get(container["name"]) or {}
        one_shot = container["name"] in init_names and container.get("restartPolicy") != "Always"
        if one_shot or found.get("resources") is None:
            return in_spec
        actual = parse_resources(found["resources"].get(field))
        if field == "requests":
            actual = largest(actual, parse_resources(found.get("allocatedResources")))
        return actual if infeasible else largest(in_spec, actual)

    return resources
