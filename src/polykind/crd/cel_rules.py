"""The interface between CRD validation and a checker of CEL rules (x-kubernetes-validations)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from polykind.contract import JsonObject
from polykind.errors import FieldError


class SchemaStep(NamedTuple):
    """One step from `parent` to a nested schema: `kind` is properties (with `key`), items or additionalProperties."""

    kind: str
    key: str
    parent: JsonObject


class RuleLocation(NamedTuple):
    """A schema with CEL rules. It and the schemas inside it have no other errors.

    `uncorrelated` is the path of the outermost list or map whose items cannot be correlated with old items.
    """

    schema: JsonObject
    path: str
    steps: tuple[SchemaStep, ...]
    uncorrelated: str | None


class RuleCheckRequest(NamedTuple):
    """The CEL rules of one root schema. If the schema is unchanged, the cost of single rules is not checked."""

    root: JsonObject
    path: str
    locations: Sequence[RuleLocation]
    schema_unchanged: bool
    old_rules: frozenset[str]
    old_messages: frozenset[str]


class RuleChecker(Protocol):
    """A checker of CEL rules, passed to CRD validation."""

    def check(self, request: RuleCheckRequest) -> list[FieldError]:
        """Check the rules and message expressions of a schema, and their estimated cost."""

    def check_default(self, schema: JsonObject, value: Any, path: str, *, root: bool) -> list[FieldError]:
        """Check the default of a schema, which is at `path`, against the rules of the schema and of those inside it."""
