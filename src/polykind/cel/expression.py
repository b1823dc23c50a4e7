"""From text to a checked tree: what a rule or a message expression is, or why it is none."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import NamedTuple

from polykind.cel import audit
from polykind.cel.checker import Checker, Fields
from polykind.cel.declared import Declared, Registry
from polykind.cel.parser import parse
from polykind.cel.program import Condition, Program
from polykind.cel.source import Source
from polykind.cel.tree import Expr
from polykind.cel.types import BOOL, Type, optional_of


class Expression(NamedTuple):
    """A checked expression; `tree` is None if it is wrong, and `problems` says how."""

    tree: Expr | None
    problems: str
    uses_old: bool
    optional_old: bool

    def unusable(self) -> str | None:
        """Why no program can be made of it, though it is well-typed; None if one can."""
        return audit.unusable(self.tree) if self.tree is not None else None

    def program(self, declared: Declared) -> Program:
        if self.tree is None:
            raise ValueError(self.problems)
        return Program(self.tree, declared, optional_old=self.optional_old)

    def message(self, declared: Declared) -> Program:
        """The program of a message: it is never given an optional, whatever its types say."""
        return self._replace(optional_old=False).program(declared)


def check(text: str, declared: Declared, registry: Registry, *, optional_old: bool) -> Expression:
    """Reads an expression about a value of a declared type."""
    old = optional_of(declared.type) if optional_old else declared.type
    tree, problems, used = _checked(text, {"self": declared.type, "oldSelf": old}, registry.field)
    return Expression(tree, problems, "oldSelf" in used, optional_old)


class ConditionError(ValueError):
    """A text that is no condition; says why as the reference does. `internal`: well-typed, and yet it cannot run."""

    def __init__(self, detail: str, *, internal: bool = False) -> None:
        super().__init__(detail)
        self.internal = internal


def condition(
    text: str,
    variables: Mapping[str, Type],
    *,
    fields: Fields = lambda name, field: None,
    structs: Container[str] = (),
    results: Sequence[Type] = (BOOL,),
    patches: bool = False,
) -> Condition:
    """An expression about variables, of `structs` as `fields` has them, which gives one of the `results`.

    Anything may come where no results are given; with `patches`, objects and JSON patches may be made.
    Raises ConditionError.
    """
    tree, problems, _ = _checked(text, variables, fields, structs=structs, patches=patches)
    if tree is None:
        raise ConditionError(f"compilation failed: {problems}")
    if results and tree.type not in results:
        names = [result.declared_name for result in results]
        wanted = names[0] if len(names) == 1 else f"one of [{' '.join(names)}]"
        raise ConditionError(f"must evaluate to {wanted} but got {tree.type.declared_name}")
    wrong = audit.unusable(tree)
    if wrong is not None:
        raise ConditionError(f"program instantiation failed: {wrong}", internal=True)
    return Condition(tree, tuple(variables))


def _checked(
    text: str,
    variables: Mapping[str, Type],
    fields: Fields,
    *,
    structs: Container[str] = (),
    patches: bool = False,
) -> tuple[Expr | None, str, set[str]]:
    source = Source(text)
    tree = parse(source)
    if tree is None:
        return None, source.told(), set()
    checker = Checker(source, variables, fields, structs=structs, patches=patches)
    try:
        checker.check(tree)
        if not source.problems:
            audit.audit(tree, source)
    except RecursionError:
        source.report(-1, "max recursion depth exceeded")
    return (None, source.told(), set()) if source.problems else (tree, "", checker.used)
