"""Rules: which writes a webhook or a policy is about."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from polykind.admission.attributes import Attributes
from polykind.contract import JsonObject

GROUP = "admissionregistration.k8s.io"
OWN_KINDS = frozenset(
    f"{how}{what}"
    for how in ("Validating", "Mutating")
    for what in ("WebhookConfiguration", "AdmissionPolicy", "AdmissionPolicyBinding")
)
"""The kinds of the group, whether they are served here or not."""


_STATIC = ".static.k8s.io"


def name_warnings(name: str) -> list[str]:
    """What is warned of in the name of a configuration, a policy or a binding."""
    if not name.endswith(_STATIC):
        return []
    return [
        f'metadata.name: names ending with "{_STATIC}" are reserved for static manifest-based configurations and '
        "cannot be managed via the API"
    ]


def exempt(asked: Attributes) -> bool:
    """Whether nobody is asked: of who is asked about a write nobody is, lest nothing can be mended any more."""
    return asked.resource.group == GROUP and asked.resource.kind in OWN_KINDS


class Rule:
    """One rule, as decoded: a RuleWithOperations, or one with resourceNames."""

    __slots__ = ("_groups", "_names", "_operations", "_resources", "_scope", "_versions")

    def __init__(self, rule: JsonObject) -> None:
        self._operations = _set(rule.get("operations"))
        self._groups = _set(rule.get("apiGroups"))
        self._versions = _set(rule.get("apiVersions"))
        self._resources = [resource.partition("/")[::2] for resource in rule.get("resources") or ()]
        self._scope = rule.get("scope") or "*"
        self._names = frozenset(rule.get("resourceNames") or ())

    def matches(self, asked: Attributes, version: str = "") -> bool:
        """Whether a write is of this rule, looked at as one at `version` of its resource, if not at its own."""
        resource = asked.resource
        return (
            _has(self._operations, asked.operation)
            and _has(self._groups, resource.group)
            and _has(self._versions, version or resource.version)
            and self._in_scope(asked)
            and any(
                plural in ("*", resource.plural) and subresource in ("*", resource.subresource)
                for plural, subresource in self._resources
            )
            and (not self._names or asked.name in self._names)
        )

    def _in_scope(self, asked: Attributes) -> bool:
        if self._scope == "*":
            return True
        resource = asked.resource
        # Namespaces lie in themselves, as far as requests go, but are of the cluster.
        own = (resource.group, resource.version, resource.plural) == ("", "v1", "namespaces")
        inside = bool(asked.namespace) and not own
        return inside if self._scope == "Namespaced" else self._scope == "Cluster" and not inside


def matching_version(rules: Sequence[Rule], asked: Attributes, match_policy: str) -> str | None:
    """The version at which a write is of one of the rules, None if it is of none.

    Its own before others; and those only where the policy says that versions of the same resource are equivalent.
    """
    own = asked.resource.version
    if any(rule.matches(asked) for rule in rules):
        return own
    if match_policy == "Equivalent":
        for rule in rules:
            for version in asked.resource.equivalents:
                if version != own and rule.matches(asked, version):
                    return version
    return None


def _set(items: Iterable[str] | None) -> frozenset[str]:
    return frozenset(items or ())


def _has(items: frozenset[str], wanted: str) -> bool:
    return wanted in items or "*" in items
