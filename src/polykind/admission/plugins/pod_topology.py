"""The PodTopologyLabels plugin: copies the topology labels of a node to its pods."""

from __future__ import annotations

from polykind.admission.attributes import CREATE, Attributes
from polykind.admission.plugins.builtin_plugin import BuiltinPlugin, replace_metadata
from polykind.contract import JsonObject

_LABELS = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")


class PodTopologyLabels(BuiltinPlugin):
    """Sets the node's topology labels on pods created with a node, and on Bindings, which pass them to the pod."""

    operations = (CREATE,)
    subresources = ("", "binding")

    async def mutate(self, attributes: Attributes, obj: JsonObject) -> None:
        if attributes.resource.subresource == "binding":
            target = obj.get("target") or {}
            node_name = target.get("name", "") if target.get("kind") == "Node" else ""
        else:
            node_name = (obj.get("spec") or {}).get("nodeName", "")
        node = await self.services.objects.get("", "nodes", "", node_name) if node_name else None
        labels = ((node or {}).get("metadata") or {}).get("labels") or {}
        copied = {name: labels[name] for name in _LABELS if name in labels}
        if copied:
            replace_metadata(attributes, labels={**(obj["metadata"].get("labels") or {}), **copied})
