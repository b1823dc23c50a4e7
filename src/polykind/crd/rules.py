"""Where the CEL rules of a schema stand: what a compiler of them needs to know, and the seam to plug one in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from polykind.contract import JsonObject
from polykind.errors import FieldError


class Step(NamedTuple):
    """One step down from `parent`: `kind` is properties (by `key`), items or additionalProperties."""

    kind: str
    key: str
    parent: JsonObject


class RuleSite(NamedTuple):
    """A schema that has rules; nothing else is wrong with it or below it.

    `uncorrelated` is the path of the outermost list or map whose items cannot be matched with their old selves.
    """

    schema: JsonObject
    path: str
    steps: tuple[Step, ...]
    uncorrelated: str | None


class RuleCheck(NamedTuple):
    """The rules of one root schema. Costs of single rules are not judged if it did not change in an update."""

    root: JsonObject
    path: str
    sites: Sequence[RuleSite]
    unchanged: bool
    old_rules: frozenset[str]
    old_messages: frozenset[str]


RuleChecker = Callable[[RuleCheck], list[FieldError]]
"""Compiles rules and message expressions; gives what is wrong with them, and with their cost."""
