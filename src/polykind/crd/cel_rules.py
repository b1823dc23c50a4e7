"""Where the CEL rules of a schema stand: what a compiler of them needs to know, and the seam to plug one in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from polykind.contract import JsonObject
from polykind.errors import FieldError


class SchemaStep(NamedTuple):
    """One step down from `parent`: `kind` is properties (by `key`), items or additionalProperties."""

    kind: str
    key: str
    parent: JsonObject


class RuleLocation(NamedTuple):
    """A schema that has rules; nothing else is wrong with it or below it.

    `uncorrelated` is the path of the outermost list or map whose items cannot be matched with their old selves.
    """

    schema: JsonObject
    path: str
    steps: tuple[SchemaStep, ...]
    uncorrelated: str | None


class RuleCheckRequest(NamedTuple):
    """The rules of one root schema. Costs of single rules are not judged if it did not change in an update."""

    root: JsonObject
    path: str
    sites: Sequence[RuleLocation]
    unchanged: bool
    old_rules: frozenset[str]
    old_messages: frozenset[str]


class RuleChecker(Protocol):
    """A compiler of rules, to be handed to the validation of definitions."""

    def check(self, asked: RuleCheckRequest) -> list[FieldError]:
        """What is wrong with the rules and message expressions of a schema, and with their cost."""

    def check_default(self, schema: JsonObject, value: Any, path: str, *, root: bool) -> list[FieldError]:
        """What the rules of a schema, and of those below it, say to its default, which stands at `path`."""
