"""Compute resources of a whole pod: the aggregate of its containers, and its QoS class."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from polykind.contract import JsonObject
from polykind.quantity import Quantity, parse_quantity

_RESOURCE_LISTS = ("limits", "requests", "overhead")
_QUANTITIES = ("sizeLimit", "divisor")
_QOS_RESOURCES = ("cpu", "memory")
ResourceList = dict[str, Quantity]
CONTAINER_LISTS = ("initContainers", "containers", "ephemeralContainers")
"""The lists of containers of a pod, in the order in which kube-apiserver visits them."""


def all_containers(spec: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    """Yield the path in the pod spec and the container for every container of a pod."""
    for name in CONTAINER_LISTS:
        for index, container in enumerate(spec.get(name) or ()):
            yield f"{name}[{index}]", container


def is_sidecar(init_container: JsonObject) -> bool:
    """True if an init container keeps running beside the containers of the pod."""
    return init_container.get("restartPolicy") == "Always"


def quantities(values: dict[str, str] | None) -> ResourceList:
    """Parse the quantities of a resource list."""
    return {name: parse_quantity(text) for name, text in (values or {}).items()}


def equal_specs(left: JsonObject, right: JsonObject) -> bool:
    """True if two pod specs are equal. Quantities such as 1e3 and 1k are equal, although their texts differ."""
    return left == right or _with_amounts(left) == _with_amounts(right)


def _with_amounts(value: Any, field: str = "") -> Any:
    """Return a copy of a value of the field `field` in a pod spec, with all quantities parsed."""
    if isinstance(value, dict):
        if field in _RESOURCE_LISTS:
            return quantities(value)
        return {name: _with_amounts(member, name) for name, member in value.items()}
    if isinstance(value, list):
        return [_with_amounts(member) for member in value]
    return parse_quantity(value) if field in _QUANTITIES and value else value


def aggregate_resources(spec: JsonObject, field: str) -> ResourceList:
    """Return the resources that the containers of a pod need together. `field` is `requests` or `limits`.

    Init containers run one after the other before the containers, so only the largest of them matters. Sidecars run
    beside all containers that start after them.
    """
    total: ResourceList = {}
    for container in spec.get("containers") or ():
        _add(total, _resources(container, field))
    sidecars: ResourceList = {}
    largest: ResourceList = {}
    for container in spec.get("initContainers") or ():
        needed = _resources(container, field)
        if is_sidecar(container):
            _add(total, needed)
            _add(sidecars, needed)
            _raise_to(largest, sidecars)
        else:
            _add(needed, sidecars)
            _raise_to(largest, needed)
    _raise_to(total, largest)
    return total


def qos_class(spec: JsonObject) -> str:
    """Return the QoS class of a pod: Guaranteed, Burstable or BestEffort."""
    pod_resources = spec.get("resources")
    if pod_resources is not None:
        sources = [pod_resources]
        has_all_limits = not pod_resources.get("limits") or _limits_cpu_and_memory(pod_resources)
    else:
        containers = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
        sources = [container.get("resources") or {} for container in containers]
        has_all_limits = all(map(_limits_cpu_and_memory, sources))
    requests: ResourceList = {}
    limits: ResourceList = {}
    for source in sources:
        _add(requests, _positive_cpu_and_memory(source.get("requests")))
        _add(limits, _positive_cpu_and_memory(source.get("limits")))
    if not requests and not limits:
        return "BestEffort"
    return "Guaranteed" if has_all_limits and requests == limits else "Burstable"


def _resources(container: JsonObject, field: str) -> ResourceList:
    return quantities((container.get("resources") or {}).get(field))


def _limits_cpu_and_memory(resources: JsonObject) -> bool:
    return len(_positive_cpu_and_memory(resources.get("limits"))) == 2


def _positive_cpu_and_memory(values: dict[str, str] | None) -> ResourceList:
    return {name: value for name, value in quantities(values).items() if name in _QOS_RESOURCES and value.sign > 0}


def _add(total: ResourceList, more: ResourceList) -> None:
    for name, quantity in more.items():
        total[name] = total[name] + quantity if name in total else quantity


def _raise_to(total: ResourceList, least: ResourceList) -> None:
    for name, quantity in least.items():
        if name not in total or quantity > total[name]:
            total[name] = quantity
