"""The interface through which CRD validation checks CEL rules (x-kubernetes-validations)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from polykind.contract import JsonObject
from polykind.errors import FieldError


class SchemaStep(NamedTuple):
    """A step from `parent` to a nested schema. `kind` is properties (with a `key`), items or additionalProperties."""

    kind: str
    key: str
    parent: JsonObject


class RuleLocation(NamedTuple):
    """A schema node with CEL rules. CRD validation found no other errors in the node.

    `uncorrelated` is the path of the outermost list or map whose items cannot be correlated with old items.
    """

    schema: JsonObject
    path: str
    steps: tuple[SchemaStep, ...]
    uncorrelated: str | None


class RuleCheckRequest(NamedTuple):
    """The CEL rules of one root schema. If `schema_unchanged` is True, the cost of single rules is not checked."""

    root: JsonObject
    path: str
    locations: Sequence[RuleLocation]
    schema_unchanged: bool
    old_rules: frozenset[str]
    old_messages: frozenset[str]


class RuleChecker(Protocol):
    """A checker of CEL rules. Callers pass one to CRD validation."""

    def check(self, request: RuleCheckRequest) -> list[FieldError]:
        """Check the rules and message expressions of a schema, and their estimated cost."""

    def check_default(self, schema: JsonObject, value: Any, path: str, *, root: bool) -> list[FieldError]:
        """Check the default `value` of a schema against the CEL rules of the schema and of all schemas inside it."""
