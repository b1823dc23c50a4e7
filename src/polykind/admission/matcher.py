"""Matching of requests by the rules and selectors of webhooks, policies and bindings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from polykind import errors
from polykind.admission.attributes import DELETE, Attributes
from polykind.contract import JsonObject
from polykind.selectors.label_selectors import LabelSelector
from polykind.selectors.selector_objects import compile_label_selector, labels_of

GROUP = "admissionregistration.k8s.io"
OWN_KINDS = frozenset(
    f"{prefix}{suffix}"
    for prefix in ("Validating", "Mutating")
    for suffix in ("WebhookConfiguration", "AdmissionPolicy", "AdmissionPolicyBinding")
)
"""The kinds of admissionregistration.k8s.io that webhooks never see, including kinds that are not served here."""


def is_exempt_from_webhooks(attributes: Attributes) -> bool:
    """True for writes of webhook configurations and policies. A broken webhook must not prevent its own repair."""
    return attributes.resource.group == GROUP and attributes.resource.kind in OWN_KINDS


class Rule:
    """A decoded RuleWithOperations or NamedRuleWithOperations."""

    __slots__ = ("_groups", "_names", "_operations", "_resources", "_scope", "_versions")

    def __init__(self, rule: JsonObject) -> None:
        self._operations = frozenset(rule.get("operations") or ())
        self._groups = frozenset(rule.get("apiGroups") or ())
        self._versions = frozenset(rule.get("apiVersions") or ())
        self._resources = [resource.partition("/")[::2] for resource in rule.get("resources") or ()]
        self._scope = rule.get("scope") or "*"
        self._names = frozenset(rule.get("resourceNames") or ())

    def matches(self, attributes: Attributes, version: str = "") -> bool:
        """True if the rule matches the request at `version`, or at the request's version if `version` is empty."""
        resource = attributes.resource
        return (
            _contains(self._operations, attributes.operation)
            and _contains(self._groups, resource.group)
            and _contains(self._versions, version or resource.version)
            and self._in_scope(attributes)
            and any(
                plural in ("*", resource.plural) and subresource in ("*", resource.subresource)
                for plural, subresource in self._resources
            )
            and (not self._names or attributes.name in self._names)
        )

    def _in_scope(self, attributes: Attributes) -> bool:
        if self._scope == "*":
            return True
        resource = attributes.resource
        # For a request for a Namespace, `attributes.namespace` is that namespace. But Namespaces are cluster-scoped.
        is_namespace = (resource.group, resource.version, resource.plural) == ("", "v1", "namespaces")
        namespaced = bool(attributes.namespace) and not is_namespace
        return namespaced if self._scope == "Namespaced" else self._scope == "Cluster" and not namespaced


def _contains(items: Iterable[str], item: str) -> bool:
    return item in items or "*" in items


def matching_version(rules: Sequence[Rule], attributes: Attributes, match_policy: str) -> str | None:
    """Return the version at which one of the rules matches the request. Return None if no rule matches.

    The request's version has precedence. Other versions are tried only if the match policy is Equivalent.
    """
    request_version = attributes.resource.version
    if any(rule.matches(attributes) for rule in rules):
        return request_version
    if match_policy == "Equivalent":
        for rule in rules:
            for version in attributes.resource.equivalents:
                if version != request_version and rule.matches(attributes, version):
                    return version
    return None


def namespace_matches(label_selector: LabelSelector, attributes: Attributes) -> bool:
    """True if the selector matches the labels of the request's namespace, or if the object is cluster-scoped.

    Raise NotFoundError if the namespace does not exist.
    """
    if label_selector.empty or (not attributes.namespace and attributes.resource.plural != "namespaces"):
        return True
    return label_selector.matches(_namespace_labels(attributes))


def _namespace_labels(attributes: Attributes) -> dict[str, str]:
    resource = attributes.resource
    if resource.plural == "namespaces" and not resource.subresource and attributes.operation != DELETE:
        return labels_of(attributes.obj)
    is_namespace = (resource.group, resource.plural) == ("", "namespaces")
    namespace = attributes.old if is_namespace else attributes.namespace_object()
    if namespace is None:
        raise errors.NotFoundError("namespaces", "", attributes.namespace)
    return labels_of(namespace)


def object_matches(label_selector: LabelSelector, attributes: Attributes) -> bool:
    """True if the selector matches the labels of the new or of the existing object."""
    return label_selector.empty or any(
        obj is not None and label_selector.matches(_object_labels(obj)) for obj in (attributes.obj, attributes.old)
    )


def _object_labels(obj: JsonObject) -> dict[str, str]:
    """Return the labels of an object, or an empty dict if a mutating webhook has made the labels invalid."""
    labels: Any = labels_of(obj)
    return labels if isinstance(labels, dict) and all(isinstance(value, str) for value in labels.values()) else {}


class MatchResources:
    """The matchConstraints of a policy or the matchResources of a binding."""

    __slots__ = ("_excluded", "_match_policy", "_namespaces", "_objects", "_rules")

    def __init__(self, resources: JsonObject) -> None:
        self._namespaces = compile_label_selector(resources.get("namespaceSelector"))
        self._objects = compile_label_selector(resources.get("objectSelector"))
        self._match_policy = resources.get("matchPolicy") or ""
        self._rules = [Rule(rule) for rule in resources.get("resourceRules") or ()]
        self._excluded = [Rule(rule) for rule in resources.get("excludeResourceRules") or ()]

    def matching_version(self, attributes: Attributes) -> str | None:
        """Return the version of the resource at which the request matches. Return None if the request does not match.

        Raise NotFoundError if the match depends on the labels of a namespace that does not exist.
        """
        not_found: errors.NotFoundError | None = None
        try:
            if not namespace_matches(self._namespaces, attributes):
                return None
        except errors.NotFoundError as error:
            not_found = error
        if not object_matches(self._objects, attributes):
            return None
        if matching_version(self._excluded, attributes, self._match_policy) is not None:
            return None
        version: str | None = attributes.resource.version
        if self._rules:
            version = matching_version(self._rules, attributes, self._match_policy)
        if version is not None and not_found is not None:
            raise not_found
        return version
