"""The Priority plugin: resolves priority classes, and allows one default class."""

from __future__ import annotations

from polykind.admission.attributes import CREATE, Attributes
from polykind.admission.plugins.builtin_plugin import BuiltinPlugin, forbidden, replace_spec
from polykind.contract import JsonObject

_GROUP, _PLURAL = "scheduling.k8s.io", "priorityclasses"
_NO_CLASS: JsonObject = {"value": 0, "preemptionPolicy": "PreemptLowerPriority"}
"""The priority of pods without a PriorityClass if no PriorityClass is the default."""


class Priority(BuiltinPlugin):
    """Sets the priority and the preemption policy of new pods from their PriorityClass."""

    async def mutate(self, attributes: Attributes, obj: JsonObject) -> None:
        if attributes.resource.plural != "pods":
            return
        spec = obj.get("spec") or {}
        if attributes.operation == CREATE:
            replace_spec(attributes, {**spec, **await self._priority(attributes, spec)})
            return
        old = ((attributes.old or {}).get("spec")) or {}
        kept = {name: old[name] for name in ("priority", "preemptionPolicy") if name in old and name not in spec}
        if kept:
            replace_spec(attributes, {**spec, **kept})

    async def _priority(self, attributes: Attributes, spec: JsonObject) -> JsonObject:
        """Return the priority fields of a pod's PriorityClass. Raise ForbiddenError if the pod has other values."""
        name = spec.get("priorityClassName", "")
        if name:
            found = await self.services.objects.get(_GROUP, _PLURAL, "", name)
            if found is None:
                raise forbidden(attributes, f"no PriorityClass with name {name} was found")
        else:
            found = await self._default_class() or _NO_CLASS
            name = (found.get("metadata") or {}).get("name", "")
        value, requested = found.get("value", 0), spec.get("priority")
        if requested is not None and requested != value:
            raise forbidden(
                attributes,
                f"the integer value of priority ({requested}) must not be provided in pod spec; "
                f"priority admission controller computed {value} from the given PriorityClass name",
            )
        policy, requested = found.get("preemptionPolicy"), spec.get("preemptionPolicy")
        if policy is not None and requested is not None and requested != policy:
            raise forbidden(
                attributes,
                f"the string value of PreemptionPolicy ({requested}) must not be provided in pod spec; "
                f"priority admission controller computed {policy} from the given PriorityClass name",
            )
        fields = {"priorityClassName": name, "priority": value, "preemptionPolicy": policy}
        return {key: value for key, value in fields.items() if value not in ("", None)}

    async def _default_class(self) -> JsonObject | None:
        """Return the PriorityClass with globalDefault, the one with the lowest value if there are several, or None."""
        classes = await self.services.objects.list(_GROUP, _PLURAL)
        return min((c for c in classes if c.get("globalDefault")), key=lambda c: int(c.get("value", 0)), default=None)

    async def validate(self, attributes: Attributes, obj: JsonObject) -> None:
        if attributes.resource.plural != _PLURAL or not obj.get("globalDefault"):
            return
        default = await self._default_class()
        if default is not None:
            name = default["metadata"]["name"]
            if attributes.operation == CREATE or name != obj["metadata"].get("name"):
                reason = f"PriorityClass {name} is already marked as default. Only one default can exist"
                raise forbidden(attributes, reason)
