"""The LimitRanger plugin: default resources, and bounds for containers, pods and volume claims of a namespace."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from polykind.admission.attributes import UPDATE, Attributes
from polykind.admission.plugins.builtin_plugin import (
    BuiltinPlugin,
    aggregate,
    forbidden,
    replace_metadata,
    replace_spec,
)
from polykind.admission.plugins.resource_lists import (
    ResourceList,
    container_resources,
    parse_resources,
    pod_level_resources,
    sum_containers,
)
from polykind.apply.last_applied import MAX_ANNOTATION_BYTES
from polykind.contract import JsonObject
from polykind.quantity import Quantity
from polykind.workers import INLINE_BYTES

_ANNOTATION = "kubernetes.io/limit-ranger"
_MAX_MILLI = 2**63 // 1000
"""The largest quantity that is compared in thousandths. Larger quantities are compared as whole numbers."""


class LimitRanger(BuiltinPlugin):
    """Applies the LimitRanges of the namespace to new and resized pods, and to volume claims."""

    subresources = ("", "resize")

    def handles(self, attributes: Attributes) -> bool:
        if not super().handles(attributes) or ((attributes.old or {}).get("metadata") or {}).get("deletionTimestamp"):
            return False
        resize = attributes.resource.subresource == "resize"
        return resize or attributes.resource.plural != "pods" or attributes.operation != UPDATE

    async def mutate(self, attributes: Attributes, obj: JsonObject) -> None:
        if attributes.resource.plural != "pods":
            return
        for limit_range in await self._limit_ranges(attributes):
            set_default_resources(attributes, limit_range)

    async def validate(self, attributes: Attributes, obj: JsonObject) -> None:
        for limit_range in await self._limit_ranges(attributes):
            limits = (limit_range.get("spec") or {}).get("limits") or ()
            violations = [violation for limit in limits for violation in _violations(limit, obj)]
            if violations:
                raise forbidden(attributes, aggregate(violations))

    async def _limit_ranges(self, attributes: Attributes) -> list[JsonObject]:
        return await self.services.objects.list("", "limitranges", attributes.namespace)


def _container_defaults(limit_range: JsonObject) -> dict[str, JsonObject]:
    """Return the default limits and requests of a container."""
    defaults: dict[str, JsonObject] = {"limits": {}, "requests": {}}
    for limit in (limit_range.get("spec") or {}).get("limits") or ():
        if limit.get("type") == "Container":
            defaults["limits"] |= limit.get("default") or {}
            defaults["requests"] |= limit.get("defaultRequest") or {}
    return defaults


def set_default_resources(attributes: Attributes, limit_range: JsonObject) -> None:
    """Set the missing requests and limits of a pod's containers to the defaults. List them in an annotation."""
    defaults = _container_defaults(limit_range)
    pod = attributes.obj or {}
    spec, changes, size = dict(pod.get("spec") or {}), list[str](), 0
    for field, noun in (("containers", "container"), ("initContainers", "init container")):
        if spec.get(field):
            containers = list(spec[field])
            for index, container in enumerate(containers):
                before = len(changes)
                containers[index] = _with_defaults(container, defaults, noun, changes)
                size += sum(map(len, changes[before:]))
                if size > MAX_ANNOTATION_BYTES:
                    # Validation rejects the annotation, so no more defaults are needed.
                    break
            spec[field] = containers
    if changes:
        if size > INLINE_BYTES:
            attributes.grow()
        replace_spec(attributes, spec)
        annotations = pod["metadata"].get("annotations") or {}
        text = f"LimitRanger plugin set: {'; '.join(changes)}"
        replace_metadata(attributes, annotations={**annotations, _ANNOTATION: text})


def _with_defaults(container: JsonObject, defaults: dict[str, JsonObject], noun: str, changes: list[str]) -> JsonObject:
    resources = dict(container.get("resources") or {})
    for field, word in (("requests", "request"), ("limits", "limit")):
        present = resources.get(field) or {}
        added = sorted(name for name in defaults[field] if name not in present)
        if added:
            resources[field] = {**present, **{name: defaults[field][name] for name in added}}
            changes.append(f"{', '.join(added)} {word} for {noun} {container['name']}")
    return {**container, "resources": resources} if resources != (container.get("resources") or {}) else container


def _violations(limit: JsonObject, obj: JsonObject) -> Iterator[str]:
    """Yield the violations of one entry of a LimitRange by a pod or a volume claim."""
    kind, spec, is_pod = limit.get("type", ""), obj.get("spec") or {}, obj.get("kind") == "Pod"
    if kind == "PersistentVolumeClaim" and not is_pod:
        yield from _claim_violations(limit, parse_resources((spec.get("resources") or {}).get("requests")))
    elif kind == "Container" and is_pod:
        for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
            requests, limits = (container_resources(field)(container) for field in ("requests", "limits"))
            yield from _pod_violations(limit, requests, limits)
    elif kind == "Pod" and is_pod:
        requests, limits = (
            sum_containers(spec, container_resources(field)) | pod_level_resources(spec, field, huge_pages=False)
            for field in ("requests", "limits")
        )
        yield from _pod_violations(limit, requests, limits)


def _pod_violations(limit: JsonObject, requests: ResourceList, limits: ResourceList) -> Iterator[str]:
    yield from _failures(limit, "min", lambda name, bound: _below_minimum(name, bound, requests, limits))
    yield from _failures(limit, "max", lambda name, bound: _above_maximum(name, bound, requests, limits))
    yield from _failures(limit, "maxLimitRequestRatio", lambda name, bound: _above_ratio(name, bound, requests, limits))


def _claim_violations(limit: JsonObject, requests: ResourceList) -> Iterator[str]:
    yield from _failures(limit, "min", lambda name, bound: _below_minimum(name, bound, requests, {}))
    yield from _failures(limit, "max", lambda name, bound: _claim_above_maximum(name, bound, requests))


def _failures(limit: JsonObject, field: str, check: Callable[[str, Quantity], str]) -> Iterator[str]:
    """Yield the text of each failed check of `field` (min, max, ...), with the type of the limit filled in."""
    for name, bound in sorted(parse_resources(limit.get(field)).items()):
        if text := check(name, bound):
            yield text.format(type=limit.get("type", ""))


def _comparable(*quantities: Quantity | None) -> list[int]:
    """Return quantities in thousandths, or as whole numbers if one is too large for that. None is treated as 0."""
    values = [0 if quantity is None else quantity.value() for quantity in quantities]
    if all(value <= _MAX_MILLI for value in values):
        return [0 if quantity is None else quantity.milli_value() for quantity in quantities]
    return values


def _below_minimum(name: str, bound: Quantity, requests: ResourceList, limits: ResourceList) -> str:
    request, limit = requests.get(name), limits.get(name)
    requested, limited, minimum = _comparable(request, limit, bound)
    text = f"minimum {name} usage per {{type}} is {bound}"
    if request is None:
        return f"{text}.  No request is specified"
    if requested < minimum:
        return f"{text}, but request is {request}"
    return f"{text}, but limit is {limit}" if limit is not None and limited < minimum else ""


def _above_maximum(name: str, bound: Quantity, requests: ResourceList, limits: ResourceList) -> str:
    request, limit = requests.get(name), limits.get(name)
    requested, limited, maximum = _comparable(request, limit, bound)
    text = f"maximum {name} usage per {{type}} is {bound}"
    if limit is None:
        return f"{text}.  No limit is specified"
    if limited > maximum:
        return f"{text}, but limit is {limit}"
    return f"{text}, but request is {request}" if request is not None and requested > maximum else ""


def _claim_above_maximum(name: str, bound: Quantity, requests: ResourceList) -> str:
    request = requests.get(name)
    requested, maximum = _comparable(request, bound)
    text = f"maximum {name} usage per {{type}} is {bound}"
    if request is None:
        return f"{text}.  No request is specified"
    return f"{text}, but request is {request}" if requested > maximum else ""


def _above_ratio(name: str, bound: Quantity, requests: ResourceList, limits: ResourceList) -> str:
    requested, limited, _ = _comparable(requests.get(name), limits.get(name), bound)
    text = f"{name} max limit to request ratio per {{type}} is {bound}"
    if not requested:
        return f"{text}, but no request is specified or request is 0"
    if not limited:
        return f"{text}, but no limit is specified or limit is 0"
    ratio = limited / requested
    in_milli = bound.value() <= _MAX_MILLI
    observed, maximum = (ratio * 1000, float(bound.milli_value())) if in_milli else (ratio, float(bound.value()))
    return f"{text}, but provided ratio is {ratio:.6f}" if observed > maximum else ""
