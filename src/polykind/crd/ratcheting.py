"""Ratcheting of CRD validation: an update need not fix errors that the old CRD already has."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

from polykind.contract import JsonObject
from polykind.crd.ca_bundle import ca_bundle_error
from polykind.crd.empty_values import equal_settings
from polykind.crd.schema_walker import (
    VALIDATIONS,
    all_schemas,
    has_default,
    has_invalid_type,
    has_non_atomic_set_items,
    root_schemas,
    validate_list_keys,
)
from polykind.crd.structural import structural_violations, unsupported_reason
from polykind.crd.validation_defaults import has_unpruned_defaults
from polykind.crd.validation_schema import SchemaStrictness
from polykind.crd.validation_version_entry import MAX_SELECTABLE_FIELDS

REVIEW_VERSIONS = frozenset({"v1", "v1beta1"})

_NO_BETA_DEFAULTS = "(cannot set default values in apiextensions.k8s.io/v1beta1 CRDs, must use apiextensions.k8s.io/v1)"


class ValidationOptions:
    """The optional checks of one create or update. `new` and `old` are internal specs. `old` is None for a create.

    Each option is computed on first use.
    """

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

    def _old_has(self, predicate: Callable[[JsonObject], object]) -> bool:
        return self.old is not None and any(predicate(node) for node in self._old_nodes)

    @cached_property
    def _old_nodes(self) -> list[JsonObject]:
        return [node for schema in root_schemas(self.old or {}) for node in all_schemas(schema)]

    @cached_property
    def defaults_forbidden(self) -> str | None:
        """The reason, for error messages, why schemas may not have defaults. None if they may have defaults."""
        if (self.beta or not self.defaulting) and not self._old_has(has_default):
            return _NO_BETA_DEFAULTS if self.defaulting else ""
        return None

    @cached_property
    def schema_required(self) -> bool:
        """True if every version must have a schema."""
        if self.beta or self.old is None:
            return not self.beta
        if (self.old.get("validation") or {}).get("openAPIV3Schema") is not None:
            return True
        return all((v.get("schema") or {}).get("openAPIV3Schema") is not None for v in self.old["versions"] or ())

    @cached_property
    def structural_required(self) -> bool:
        """True if schemas must be structural."""
        if self.beta or self.old is None:
            return not self.beta
        return not any(
            unsupported_reason(schema) or structural_violations(schema, "") for schema in root_schemas(self.old)
        )

    @cached_property
    def pruned_defaults_required(self) -> bool:
        """True if defaults must not contain fields that their schema does not declare."""
        return self.old is None or not any(has_unpruned_defaults(schema) for schema in root_schemas(self.old))

    @cached_property
    def strictness(self) -> SchemaStrictness:
        """The flags that enable optional checks of schema nodes."""
        return SchemaStrictness(
            self.defaults_forbidden,
            not self.beta and not self._old_has(has_invalid_type),
            not self._old_has(has_non_atomic_set_items),
            not self._old_has(lambda node: validate_list_keys(node, "")),
        )

    @cached_property
    def review_version_required(self) -> bool:
        """True if conversionReviewVersions must include a version that the server supports."""
        review_versions = ((self.old or {}).get("conversion") or {}).get("conversionReviewVersions")
        return not review_versions or not REVIEW_VERSIONS.isdisjoint(review_versions)

    @cached_property
    def invalid_ca_bundle_allowed(self) -> bool:
        """True if an invalid CA bundle is accepted: the CRD is not established, or its old CA bundle is invalid too."""
        if self.old is None or not self.established:
            return True
        client = (self.old.get("conversion") or {}).get("webhookClientConfig") or {}
        return ca_bundle_error(client.get("caBundle")) is not None

    def many_selectable_fields_allowed(self, version: str | None) -> bool:
        """True if the selectable fields may exceed the maximum number: the old CRD has the same selectable fields.

        `version` is None for the selectable fields at the top level of the spec.
        """
        if self.old is None:
            return False
        if version is None:
            new, old = self.new, self.old
        else:
            new, old = _find_version(self.new, version) or {}, _find_version(self.old, version) or {}
        before = old.get("selectableFields") or []
        return len(before) > MAX_SELECTABLE_FIELDS and equal_settings(new.get("selectableFields"), before)

    def schema_unchanged(self, version: str) -> bool:
        """True if the schema of a version did not change."""
        if self.old is None:
            return False
        new, old = _schema_of(self.new, version), _schema_of(self.old, version)
        return old is not _MISSING and new is not _MISSING and equal_settings(new, old)

    @cached_property
    def old_rules(self) -> frozenset[str]:
        """The CEL rules of the old CRD."""
        return frozenset(rule["rule"] for node in self._rule_nodes for rule in node[VALIDATIONS])

    @cached_property
    def old_messages(self) -> frozenset[str]:
        """The CEL message expressions of the old CRD."""
        texts = (rule.get("messageExpression") for node in self._rule_nodes for rule in node[VALIDATIONS])
        return frozenset(text for text in texts if text)

    @cached_property
    def _rule_nodes(self) -> list[JsonObject]:
        return [node for node in self._old_nodes if VALIDATIONS in node]


_MISSING = object()


def _find_version(internal: JsonObject, name: str) -> JsonObject | None:
    return next((version for version in internal.get("versions") or () if version["name"] == name), None)


def _schema_of(internal: JsonObject, version: str) -> object:
    version_entry = _find_version(internal, version)
    if version_entry is None:
        return _MISSING
    per_version = any("schema" in v for v in internal["versions"])
    return version_entry.get("schema") if per_version else internal.get("validation")
