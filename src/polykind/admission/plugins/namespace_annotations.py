"""Plugins that namespace annotations configure: PodNodeSelector and PodTolerationRestriction."""

from __future__ import annotations

from polykind import errors
from polykind.admission.attributes import CREATE, Attributes
from polykind.admission.plugins.builtin_plugin import BuiltinPlugin, replace_spec
from polykind.admission.plugins.quota_evaluators import is_best_effort
from polykind.admission.plugins.runtime_class_plugin import includes, merge_tolerations
from polykind.codec import json_codec
from polykind.contract import JsonObject

_NODE_SELECTOR = "scheduler.alpha.kubernetes.io/node-selector"
_DEFAULT_TOLERATIONS = "scheduler.alpha.kubernetes.io/defaultTolerations"
_ALLOWED_TOLERATIONS = "scheduler.alpha.kubernetes.io/tolerationsWhitelist"


def _annotation(attributes: Attributes, name: str) -> str | None:
    namespace = attributes.namespace_object() or {}
    annotations = (namespace.get("metadata") or {}).get("annotations") or {}
    return annotations.get(name)


class PodNodeSelector(BuiltinPlugin):
    """Adds the node selector of the namespace to new pods."""

    operations = (CREATE,)

    async def mutate(self, attributes: Attributes, obj: JsonObject) -> None:
        spec = obj.get("spec") or {}
        selector = self._selector(attributes, obj)
        if selector:
            replace_spec(attributes, {**spec, "nodeSelector": {**selector, **(spec.get("nodeSelector") or {})}})

    async def validate(self, attributes: Attributes, obj: JsonObject) -> None:
        self._selector(attributes, obj)

    @staticmethod
    def _selector(attributes: Attributes, obj: JsonObject) -> dict[str, str]:
        """Return the namespace's selector. Raise ForbiddenError if the pod's selector contradicts it."""
        selector = _parse_selector(_annotation(attributes, _NODE_SELECTOR) or "")
        pod_selector = (obj.get("spec") or {}).get("nodeSelector") or {}
        if any(pod_selector.get(key, value) != value for key, value in selector.items()):
            reason = "pod node label selector conflicts with its namespace node label selector"
            raise errors.ForbiddenError("pods", "", obj["metadata"].get("name", ""), reason)
        return selector


def _parse_selector(text: str) -> dict[str, str]:
    """Parse a selector such as a=b,c=d. Raise UnknownReasonError if it is invalid."""
    selector = {}
    for part in text.split(",") if text else ():
        key, equals, value = part.partition("=")
        if not equals:
            raise errors.UnknownReasonError(f"invalid selector: [{part}]")
        selector[key.strip()] = value.strip()
    return selector


class PodTolerationRestriction(BuiltinPlugin):
    """Adds the namespace's default tolerations to pods, and rejects tolerations that the namespace does not allow."""

    async def mutate(self, attributes: Attributes, obj: JsonObject) -> None:
        spec = obj.get("spec") or {}
        added = _tolerations(attributes, _DEFAULT_TOLERATIONS) if attributes.operation == CREATE else []
        if not is_best_effort(obj):
            added = [
                *added,
                {"key": "node.kubernetes.io/memory-pressure", "operator": "Exists", "effect": "NoSchedule"},
            ]
        if added:
            merged = merge_tolerations(spec.get("tolerations") or [], added)
            replace_spec(attributes, {**spec, "tolerations": merged})
        await self.validate(attributes, attributes.obj or {})

    async def validate(self, attributes: Attributes, obj: JsonObject) -> None:
        allowed = _tolerations(attributes, _ALLOWED_TOLERATIONS)
        tolerations = (obj.get("spec") or {}).get("tolerations") or ()
        if allowed and not all(any(includes(wide, one) for wide in allowed) for one in tolerations):
            subject = "pod tolerations (possibly merged with namespace default tolerations)"
            raise errors.UnknownReasonError(f"{subject} conflict with its namespace whitelist")


def _tolerations(attributes: Attributes, name: str) -> list[JsonObject]:
    """Return the tolerations in an annotation of the namespace."""
    text = _annotation(attributes, name)
    if not text:
        return []
    tolerations: list[JsonObject] = json_codec.decode(text.encode())
    return tolerations
