"""The TaintNodesByCondition plugin: a new node is tainted until a controller finds it ready."""

from __future__ import annotations

from polykind.admission.attributes import CREATE, Attributes
from polykind.admission.plugins.builtin_plugin import BuiltinPlugin, replace_spec
from polykind.contract import JsonObject

_TAINT = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}


class TaintNodesByCondition(BuiltinPlugin):
    """Adds the taint not-ready to new nodes."""

    operations = (CREATE,)

    async def mutate(self, attributes: Attributes, obj: JsonObject) -> None:
        spec = obj.get("spec") or {}
        taints = spec.get("taints") or []
        if not any((taint.get("key"), taint.get("effect")) == tuple(_TAINT.values()) for taint in taints):
            replace_spec(attributes, {**spec, "taints": [*taints, dict(_TAINT)]})
