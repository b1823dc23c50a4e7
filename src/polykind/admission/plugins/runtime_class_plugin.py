"""The RuntimeClass plugin: gives pods the overhead and the scheduling constraints of their RuntimeClass."""

from __future__ import annotations

from polykind import errors, names
from polykind.admission.attributes import CREATE, Attributes
from polykind.admission.plugins.builtin_plugin import BuiltinPlugin, forbidden, replace_spec
from polykind.contract import JsonObject
from polykind.golang.fmt import go_quote
from polykind.quantity import parse_quantity

_MISMATCH = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"


class RuntimeClassPlugin(BuiltinPlugin):
    """Sets overhead and scheduling constraints of new pods that have a runtimeClassName."""

    operations = (CREATE,)

    async def mutate(self, attributes: Attributes, obj: JsonObject) -> None:
        spec = obj.get("spec") or {}
        runtime_class = await self._runtime_class(attributes, spec)
        if runtime_class is None:
            return
        overhead = _pod_overhead(runtime_class)
        if overhead is not None:
            if spec.get("overhead") and not _same_quantities(spec["overhead"], overhead):
                raise forbidden(attributes, _MISMATCH)
            spec = {**spec, "overhead": overhead} if overhead else spec
        scheduling = runtime_class.get("scheduling")
        if scheduling is not None:
            spec = {**spec, **_scheduling_fields(attributes, spec, scheduling)}
        if spec != obj.get("spec"):
            replace_spec(attributes, spec)

    async def validate(self, attributes: Attributes, obj: JsonObject) -> None:
        spec = obj.get("spec") or {}
        runtime_class = await self._runtime_class(attributes, spec)
        overhead = _pod_overhead(runtime_class) if runtime_class is not None else None
        if overhead is not None:
            if not _same_quantities(spec.get("overhead") or {}, overhead):
                raise forbidden(attributes, _MISMATCH)
        elif spec.get("overhead"):
            reason = "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"
            raise forbidden(attributes, reason)

    async def _runtime_class(self, attributes: Attributes, spec: JsonObject) -> JsonObject | None:
        name = spec.get("runtimeClassName")
        if name is None:
            return None
        # kube-apiserver reads a RuntimeClass that it does not know with a client, which rejects these names.
        if not name:
            raise errors.UnknownReasonError("resource name may not be empty")
        if reasons := names.path_segment(name):
            raise errors.UnknownReasonError(f"invalid resource name {go_quote(name)}: [{' '.join(reasons)}]")
        found = await self.services.objects.get("node.k8s.io", "runtimeclasses", "", name)
        if found is None:
            raise forbidden(attributes, f"pod rejected: RuntimeClass {go_quote(name)} not found")
        return found


def _pod_overhead(runtime_class: JsonObject) -> JsonObject | None:
    """Return the resources of a RuntimeClass's overhead. Return None if it has no overhead."""
    overhead = runtime_class.get("overhead")
    return None if overhead is None else overhead.get("podFixed") or {}


def _same_quantities(one: JsonObject, other: JsonObject) -> bool:
    return one.keys() == other.keys() and all(parse_quantity(one[k]) == parse_quantity(other[k]) for k in one)


def _scheduling_fields(attributes: Attributes, spec: JsonObject, scheduling: JsonObject) -> JsonObject:
    """Return the nodeSelector and tolerations that combine those of the pod and of its RuntimeClass."""
    selector = dict(spec.get("nodeSelector") or {})
    for key, value in (scheduling.get("nodeSelector") or {}).items():
        if selector.setdefault(key, value) != value:
            raise forbidden(
                attributes,
                f"conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value}; "
                f"pod.spec.nodeSelector[{key}] = {selector[key]}",
            )
    tolerations = merge_tolerations(spec.get("tolerations") or [], scheduling.get("tolerations") or [])
    fields = {"nodeSelector": selector, "tolerations": tolerations}
    return {name: value for name, value in fields.items() if value}


def merge_tolerations(first: list[JsonObject], second: list[JsonObject]) -> list[JsonObject]:
    """Return the tolerations of both lists. Drop a toleration if another one includes it."""
    every = [*first, *second]
    merged: list[JsonObject] = []
    for index, toleration in enumerate(every):
        later = every[index + 1 :]
        if not any(includes(kept, toleration) for kept in merged) and not any(
            other != toleration and includes(other, toleration) for other in later
        ):
            merged.append(toleration)
    return merged


def includes(wide: JsonObject, narrow: JsonObject) -> bool:
    """True if the toleration `wide` tolerates everything that `narrow` tolerates."""
    if wide == narrow:
        return True
    key, operator, effect = wide.get("key", ""), wide.get("operator", ""), wide.get("effect", "")
    if narrow.get("key", "") != key and (key or operator != "Exists"):
        return False
    if effect and narrow.get("effect", "") != effect:
        return False
    seconds = wide.get("tolerationSeconds")
    if effect == "NoExecute" and seconds is not None:
        narrow_seconds = narrow.get("tolerationSeconds")
        if narrow_seconds is None or narrow_seconds > seconds:
            return False
    if operator in ("", "Equal"):
        return narrow.get("operator") == "Equal" and narrow.get("value", "") == wide.get("value", "")
    return bool(operator == "Exists")
