"""How strictly a definition is judged: an update need not mend what its old self already got wrong."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

from polykind.contract import JsonObject
from polykind.crd.cabundle import bundle_problem
from polykind.crd.defaults_validation import has_unpruned_defaults
from polykind.crd.equality import alike
from polykind.crd.schema_rules import Strictness
from polykind.crd.stanzas import MOST_SELECTABLE
from polykind.crd.structural import unsupported, violations
from polykind.crd.survey import RULES, has_default, has_invalid_type, has_split_set_items, key_problems, nodes, schemas

REVIEW_VERSIONS = frozenset({"v1", "v1beta1"})

_NO_BETA_DEFAULTS = "(cannot set default values in apiextensions.k8s.io/v1beta1 CRDs, must use apiextensions.k8s.io/v1)"


class Options:
    """The strictness of one write; `old` is the inner spec before it, None for a create. Answers come when asked."""

    def __init__(
        self,
        new: JsonObject,
        old: JsonObject | None = None,
        *,
        established: bool = False,
        beta: bool = False,
        defaulting: bool = True,
    ) -> None:
        self.new, self.old, self.established, self.beta, self.defaulting = new, old, established, beta, defaulting

    def _old_has(self, trait: Callable[[JsonObject], object]) -> bool:
        return self.old is not None and any(trait(node) for node in self._old_nodes)

    @cached_property
    def _old_nodes(self) -> list[JsonObject]:
        return [node for schema in schemas(self.old or {}) for node in nodes(schema)]

    @cached_property
    def defaults_refused(self) -> str | None:
        """Why schemas may hold no defaults; None if they may."""
        if (self.beta or not self.defaulting) and not self._old_has(has_default):
            return _NO_BETA_DEFAULTS if self.defaulting else ""
        return None

    @cached_property
    def schema_required(self) -> bool:
        if self.beta or self.old is None:
            return not self.beta
        if (self.old.get("validation") or {}).get("openAPIV3Schema") is not None:
            return True
        return all((v.get("schema") or {}).get("openAPIV3Schema") is not None for v in self.old["versions"] or ())

    @cached_property
    def structural_required(self) -> bool:
        if self.beta or self.old is None:
            return not self.beta
        return not any(unsupported(schema) or violations(schema, "") for schema in schemas(self.old))

    @cached_property
    def pruned_defaults_required(self) -> bool:
        return self.old is None or not any(has_unpruned_defaults(schema) for schema in schemas(self.old))

    @cached_property
    def strictness(self) -> Strictness:
        return Strictness(
            self.defaults_refused,
            not self.beta and not self._old_has(has_invalid_type),
            not self._old_has(has_split_set_items),
            not self._old_has(lambda node: key_problems(node, "")),
        )

    @cached_property
    def review_version_required(self) -> bool:
        """Whether one of the review versions must be one that is spoken."""
        reviews = ((self.old or {}).get("conversion") or {}).get("conversionReviewVersions")
        return not reviews or not REVIEW_VERSIONS.isdisjoint(reviews)

    @cached_property
    def bad_bundle_allowed(self) -> bool:
        if self.old is None or not self.established:
            return True
        client = (self.old.get("conversion") or {}).get("webhookClientConfig") or {}
        return bundle_problem(client.get("caBundle")) is not None

    def many_selectable_allowed(self, version: str | None) -> bool:
        """Whether a version (None: all of them together) already had too many selectable fields, and keeps them."""
        if self.old is None:
            return False
        if version is None:
            new, old = self.new, self.old
        else:
            new, old = _version_of(self.new, version) or {}, _version_of(self.old, version) or {}
        before = old.get("selectableFields") or []
        return len(before) > MOST_SELECTABLE and alike(new.get("selectableFields"), before)

    def unchanged(self, version: str) -> bool:
        """Whether the schema of a version is what it was."""
        if self.old is None:
            return False
        new, old = _schema_of(self.new, version), _schema_of(self.old, version)
        return old is not _MISSING and new is not _MISSING and alike(new, old)

    @cached_property
    def old_rules(self) -> frozenset[str]:
        return frozenset(rule["rule"] for node in self._rule_nodes for rule in node[RULES])

    @cached_property
    def old_messages(self) -> frozenset[str]:
        texts = (rule.get("messageExpression") for node in self._rule_nodes for rule in node[RULES])
        return frozenset(text for text in texts if text)

    @cached_property
    def _rule_nodes(self) -> list[JsonObject]:
        return [node for node in self._old_nodes if RULES in node]


_MISSING = object()


def _version_of(inner: JsonObject, name: str) -> JsonObject | None:
    return next((version for version in inner.get("versions") or () if version["name"] == name), None)


def _schema_of(inner: JsonObject, version: str) -> object:
    found = _version_of(inner, version)
    if found is None:
        return _MISSING
    per_version = any("schema" in v for v in inner["versions"])
    return found.get("schema") if per_version else inner.get("validation")
