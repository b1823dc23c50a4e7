"""Matching of requests by the rules and selectors of webhooks, policies and bindings."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

from polykind import errors
from polykind.admission.attributes import CONNECT, DELETE, Attributes
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

    @property
    def has_names(self) -> bool:
        """True if the rule matches only objects with certain names."""
        return bool(self._names)

    def matches(self, attributes: Attributes, api_version: str = "") -> bool:
        """True if the rule matches the request at `api_version`, or at the request's apiVersion if that is empty."""
        resource = attributes.resource
        group, _, version = (api_version or resource.api_version).rpartition("/")
        return (
            _contains(self._operations, attributes.operation)
            and _contains(self._groups, group)
            and _contains(self._versions, version)
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
    """Return the apiVersion at which one of the rules matches the request. Return None if no rule matches.

    The request's version has precedence. Other versions are tried only if the match policy is Equivalent.
    """
    request_version = attributes.resource.api_version
    if any(rule.matches(attributes) for rule in rules):
        return request_version
    if match_policy == "Equivalent":
        for rule in rules:
            for version in attributes.resource.equivalents:
                if version != request_version and rule.matches(attributes, version):
                    return version
    return None


_MAX_CACHED_MATCHES = 1000


class Rules:
    """The rules of a webhook, a policy or a binding.

    There can be thousands of them, and every write is compared with them. So the version at which they match is cached
    for each operation on a resource, unless a rule depends on the name of the object.
    """

    __slots__ = ("_has_names", "_match_policy", "_rules", "_versions")

    def __init__(self, rules: Iterable[JsonObject] | None, match_policy: str) -> None:
        self._rules = [Rule(rule) for rule in rules or ()]
        self._match_policy = match_policy
        self._has_names = any(rule.has_names for rule in self._rules)
        self._versions: dict[Hashable, str | None] = {}

    def __len__(self) -> int:
        return len(self._rules)

    def matching_version(self, attributes: Attributes) -> str | None:
        """Return the apiVersion at which one of the rules matches the request. Return None if no rule matches."""
        if self._has_names:
            return matching_version(self._rules, attributes, self._match_policy)
        key = (attributes.operation, bool(attributes.namespace), attributes.resource)
        if key not in self._versions:
            if len(self._versions) >= _MAX_CACHED_MATCHES:
                self._versions.clear()
            self._versions[key] = matching_version(self._rules, attributes, self._match_policy)
        return self._versions[key]


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
    """True if the selector matches the labels of the new or of the existing object.

    The options of a CONNECT have no labels. Only an empty selector matches them.
    """
    return label_selector.empty or any(
        obj is not None and label_selector.matches(_object_labels(obj))
        for obj in (attributes.obj, attributes.old)
        if attributes.operation != CONNECT
    )


def _object_labels(obj: JsonObject) -> dict[str, str]:
    """Return the labels of an object, or an empty dict if a mutating webhook has made the labels invalid."""
    labels: Any = labels_of(obj)
    return labels if isinstance(labels, dict) and all(isinstance(value, str) for value in labels.values()) else {}


class MatchResources:
    """The matchConstraints of a policy or the matchResources of a binding."""

    __slots__ = ("_excluded", "_namespaces", "_objects", "_rules")

    def __init__(self, resources: JsonObject) -> None:
        self._namespaces = compile_label_selector(resources.get("namespaceSelector"))
        self._objects = compile_label_selector(resources.get("objectSelector"))
        match_policy = resources.get("matchPolicy") or ""
        self._rules = Rules(resources.get("resourceRules"), match_policy)
        self._excluded = Rules(resources.get("excludeResourceRules"), match_policy)

    def matching_version(self, attributes: Attributes) -> str | None:
        """Return the apiVersion at which the request matches. Return None if the request does not match.

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
        if self._excluded.matching_version(attributes) is not None:
            return None
        version: str | None = attributes.resource.api_version
        if self._rules:
            version = self._rules.matching_version(attributes)
        if version is not None and not_found is not None:
            raise not_found
        return version
