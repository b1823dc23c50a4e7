"""From text to a checked tree: what a rule or a message expression is, or why it is none."""

from __future__ import annotations

from typing import NamedTuple

from polykind.cel import audit
from polykind.cel.checker import Checker
from polykind.cel.declared import Declared, Registry
from polykind.cel.parser import parse
from polykind.cel.program import Program
from polykind.cel.source import Source
from polykind.cel.tree import Expr
from polykind.cel.types import optional_of


class Expression(NamedTuple):
    """A checked expression; `tree` is None if it is wrong, and `problems` says how."""

    tree: Expr | None
    problems: str
    uses_old: bool
    optional_old: bool

    def unusable(self) -> str | None:
        """Why no program can be made of it, though it is well-typed; None if one can."""
        return audit.unusable(self.tree) if self.tree is not None else None

    def program(self, declared: Declared, registry: Registry) -> Program:
        if self.tree is None:
            raise ValueError(self.problems)
        return Program(self.tree, declared, registry, optional_old=self.optional_old)


def check(text: str, declared: Declared, registry: Registry, *, optional_old: bool) -> Expression:
    """Reads an expression about a value of a declared type."""
    source = Source(text)
    tree = parse(source)
    if tree is None:
        return Expression(None, source.told(), False, optional_old)
    old = optional_of(declared.type) if optional_old else declared.type
    checker = Checker(source, {"self": declared.type, "oldSelf": old}, registry.field)
    try:
        checker.check(tree)
        if not source.problems:
            audit.audit(tree, source)
    except RecursionError:
        source.report(-1, "max recursion depth exceeded")
    if source.problems:
        return Expression(None, source.told(), False, optional_old)
    return Expression(tree, "", "oldSelf" in checker.used, optional_old)
