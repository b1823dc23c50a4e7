"""Plugins that namespace annotations configure: PodNodeSelector and PodTolerationRestriction."""

from __future__ import annotations

from polykind import errors
from polykind.admission.attributes import CREATE, Attributes
from polykind.admission.plugins.builtin_plugin import BuiltinPlugin, PluginServices, replace_spec
from polykind.admission.plugins.quota_evaluators import is_best_effort
from polykind.admission.plugins.runtime_class_plugin import includes, merge_tolerations
from polykind.codec import json_codec
from polykind.contract import JsonObject

_NODE_SELECTOR = "scheduler.alpha.kubernetes.io/node-selector"
_CLUSTER_DEFAULT = "clusterDefaultNodeSelector"
_DEFAULT_TOLERATIONS = "scheduler.alpha.kubernetes.io/defaultTolerations"
_ALLOWED_TOLERATIONS = "scheduler.alpha.kubernetes.io/tolerationsWhitelist"


def _annotation(attributes: Attributes, name: str) -> str | None:
    namespace = attributes.namespace_object() or {}
    annotations = (namespace.get("metadata") or {}).get("annotations") or {}
    return annotations.get(name)


class PodNodeSelector(BuiltinPlugin):
    """Adds the node selector of the namespace to new pods."""

    operations = (CREATE,)

    def __init__(self, services: PluginServices) -> None:
        super().__init__(services)
        configuration = services.configurations.get("PodNodeSelector") or {}
        self._configured: dict[str, str] = configuration.get("podNodeSelectorPluginConfig") or {}
        """The selectors that namespaces allow, and the default for namespaces without an annotation."""

    async def mutate(self, attributes: Attributes, obj: JsonObject) -> None:
        spec = obj.get("spec") or {}
        selector = self._selector(attributes, obj)
        if selector:
            replace_spec(attributes, {**spec, "nodeSelector": {**selector, **(spec.get("nodeSelector") or {})}})
        await self.validate(attributes, attributes.obj or obj)

    async def validate(self, attributes: Attributes, obj: JsonObject) -> None:
        self._selector(attributes, obj)
        allowed = parse_selector(self._configured.get(attributes.namespace, ""))
        selector = (obj.get("spec") or {}).get("nodeSelector") or {}
        if allowed and any(allowed.get(key) != value for key, value in selector.items()):
            reason = "pod node label selector labels conflict with its namespace whitelist"
            raise errors.ForbiddenError("pods", "", obj["metadata"].get("name", ""), reason)

    def _selector(self, attributes: Attributes, obj: JsonObject) -> dict[str, str]:
        """Return the namespace's selector. Raise ForbiddenError if the pod's selector contradicts it."""
        annotation = _annotation(attributes, _NODE_SELECTOR)
        selector = parse_selector(self._configured.get(_CLUSTER_DEFAULT, "") if annotation is None else annotation)
        pod_selector = (obj.get("spec") or {}).get("nodeSelector") or {}
        if any(pod_selector.get(key, value) != value for key, value in selector.items()):
            reason = "pod node label selector conflicts with its namespace node label selector"
            raise errors.ForbiddenError("pods", "", obj["metadata"].get("name", ""), reason)
        return selector


def parse_selector(text: str) -> dict[str, str]:
    """Parse a node selector such as a=b,c=d. Raise UnknownReasonError if it is invalid."""
    selector = {}
    for part in text.split(",") if text else ():
        key, equals, value = part.partition("=")
        if not equals:
            raise errors.UnknownReasonError(f"invalid selector: [{part}]")
        selector[key.strip()] = value.strip()
    return selector


class PodTolerationRestriction(BuiltinPlugin):
    """Adds the namespace's default tolerations to pods, and rejects tolerations that the namespace does not allow."""

    def __init__(self, services: PluginServices) -> None:
        super().__init__(services)
        self._configuration: JsonObject = services.configurations.get("PodTolerationRestriction") or {}
        """The tolerations for namespaces without annotations."""

    async def mutate(self, attributes: Attributes, obj: JsonObject) -> None:
        spec = obj.get("spec") or {}
        added: list[JsonObject] = []
        if attributes.operation == CREATE:
            of_namespace = _tolerations(attributes, _DEFAULT_TOLERATIONS)
            added = self._configuration.get("default") or [] if of_namespace is None else of_namespace
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
        allowed, scope = _tolerations(attributes, _ALLOWED_TOLERATIONS), "namespace"
        if allowed is None:
            allowed, scope = self._configuration.get("whitelist") or [], "cluster"
        tolerations = (obj.get("spec") or {}).get("tolerations") or ()
        if allowed and not all(any(includes(wide, one) for wide in allowed) for one in tolerations):
            subject = "pod tolerations (possibly merged with namespace default tolerations)"
            raise errors.UnknownReasonError(f"{subject} conflict with its {scope} whitelist")


def _tolerations(attributes: Attributes, name: str) -> list[JsonObject] | None:
    """Return the tolerations in an annotation of the namespace. Return None if it has no such annotation."""
    text = _annotation(attributes, name)
    if not text:
        return None if text is None else []
    tolerations: list[JsonObject] = json_codec.decode(text.encode())
    return tolerations
