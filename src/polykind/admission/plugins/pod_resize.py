"""The PodResizeValidator plugin: a resized pod must fit on its node."""

from __future__ import annotations

from polykind.admission.attributes import UPDATE, Attributes
from polykind.admission.plugins.builtin_plugin import BuiltinPlugin, forbidden
from polykind.admission.plugins.resource_lists import (
    container_resources,
    parse_resources,
    pod_level_resources,
    sum_containers,
)
from polykind.contract import JsonObject
from polykind.golang.fmt import go_quote
from polykind.quantity import Quantity


class PodResizeValidator(BuiltinPlugin):
    """Rejects a resize that exceeds the node's allocatable resources, and resizes on nodes that do not run Linux."""

    operations = (UPDATE,)
    subresources = ("resize",)

    async def validate(self, attributes: Attributes, obj: JsonObject) -> None:
        node_name = (obj.get("spec") or {}).get("nodeName", "")
        old_meta = (attributes.old or {}).get("metadata") or {}
        if not node_name or old_meta.get("generation") == obj["metadata"].get("generation"):
            return
        node = await self.services.objects.get("", "nodes", "", node_name)
        if node is None:
            raise forbidden(attributes, f"node {go_quote(node_name)} not found")
        system = (node["metadata"].get("labels") or {}).get("kubernetes.io/os", "linux")
        if system != "linux":
            reason = f"pod resize is only supported on linux nodes, node {go_quote(node_name)} is {go_quote(system)}"
            raise forbidden(attributes, reason, causes=[{"reason": "UnsupportedPlatform"}])
        if missing := _exceeded(obj.get("spec") or {}, (node.get("status") or {}).get("allocatable")):
            reason = f"node didn't have enough allocatable resources: {'; '.join(missing)}"
            raise forbidden(attributes, reason, causes=[{"reason": "NodeCapacity"}])


def _exceeded(spec: JsonObject, allocatable: JsonObject | None) -> list[str]:
    """Return a text for each resource of which the pod requests more than the node's allocatable amount."""
    requests = sum_containers(spec, container_resources("requests")) | pod_level_resources(spec, "requests")
    for name, quantity in parse_resources(spec.get("overhead")).items():
        requests[name] = requests.get(name, Quantity.of(0)) + quantity
    available, zero, texts = parse_resources(allocatable), Quantity.of(0), []
    for name, amount in (("cpu", Quantity.milli_value), ("memory", Quantity.value)):
        wanted, limit = requests.get(name, zero), available.get(name, zero)
        if wanted > limit:
            texts.append(f"{name}, requested: {amount(wanted)}, allocatable: {amount(limit)}")
    return texts
