"""Plugins that add tolerations to pods: DefaultTolerationSeconds and ExtendedResourceToleration."""

from __future__ import annotations

from polykind.admission.attributes import Attributes
from polykind.admission.plugins.builtin_plugin import BuiltinPlugin, replace_spec
from polykind.contract import JsonObject

_NOT_READY, _UNREACHABLE = "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"


class DefaultTolerationSeconds(BuiltinPlugin):
    """Adds tolerations that keep pods on a node for five minutes after the node becomes not ready or unreachable."""

    async def mutate(self, attributes: Attributes, obj: JsonObject) -> None:
        spec = obj.get("spec") or {}
        tolerations = spec.get("tolerations") or []
        tolerated = {
            toleration.get("key", "") for toleration in tolerations if toleration.get("effect", "") in ("", "NoExecute")
        }
        added = [
            {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": self._seconds(key)}
            for key in (_NOT_READY, _UNREACHABLE)
            if not tolerated & {key, ""}
        ]
        if added:
            replace_spec(attributes, {**spec, "tolerations": [*tolerations, *added]})

    def _seconds(self, key: str) -> int:
        name = "not-ready" if key == _NOT_READY else "unreachable"
        return self.services.flags.get(f"default-{name}-toleration-seconds", 300)


class ExtendedResourceToleration(BuiltinPlugin):
    """Adds a toleration for each extended resource that a pod requests, so that dedicated nodes can be tainted."""

    async def mutate(self, attributes: Attributes, obj: JsonObject) -> None:
        spec = obj.get("spec") or {}
        containers = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
        requested = {name for c in containers for name in (c.get("resources") or {}).get("requests") or ()}
        tolerations = [
            {"key": name, "operator": "Exists", "effect": "NoSchedule"}
            for name in sorted(requested)
            if _is_extended(name)
        ]
        present = spec.get("tolerations") or []
        added = [toleration for toleration in tolerations if toleration not in present]
        if added:
            replace_spec(attributes, {**spec, "tolerations": [*present, *added]})


def _is_extended(name: str) -> bool:
    return "/" in name and "kubernetes.io/" not in name and not name.startswith("requests.")
