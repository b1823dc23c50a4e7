"""From text to a checked tree: what a rule or a message expression is, or why it is none."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import NamedTuple

from polykind.cel import ast_validators
from polykind.cel.ast import Expr
from polykind.cel.cel_types import BOOL, Type, optional_of
from polykind.cel.checker import Checker, Fields
from polykind.cel.parser import parse
from polykind.cel.program import Program, RuleProgram
from polykind.cel.schema_types import DeclType, DeclTypeProvider
from polykind.cel.source import Source


class CompiledRule(NamedTuple):
    """A checked expression; `tree` is None if it is wrong, and `problems` says how."""

    ast: Expr | None
    errors: str
    uses_old_self: bool
    optional_old_self: bool

    def instantiation_error(self) -> str | None:
        """Why no program can be made of it, though it is well-typed; None if one can."""
        return ast_validators.instantiation_error(self.ast) if self.ast is not None else None

    def program(self, declared: DeclType) -> RuleProgram:
        if self.ast is None:
            raise ValueError(self.errors)
        return RuleProgram(self.ast, declared, optional_old=self.optional_old_self)

    def message_program(self, declared: DeclType) -> RuleProgram:
        """The program of a message: it is never given an optional, whatever its types say."""
        return self._replace(optional_old_self=False).program(declared)


def compile_rule(text: str, declared: DeclType, registry: DeclTypeProvider, *, optional_old: bool) -> CompiledRule:
    """Reads an expression about a value of a declared type."""
    old = optional_of(declared.type) if optional_old else declared.type
    tree, problems, used = _checked(text, {"self": declared.type, "oldSelf": old}, registry.field_type)
    return CompiledRule(tree, problems, "oldSelf" in used, optional_old)


class CompilationError(ValueError):
    """A text that is no condition; says why as the reference does. `internal`: well-typed, and yet it cannot run."""

    def __init__(self, detail: str, *, internal: bool = False) -> None:
        super().__init__(detail)
        self.internal = internal


def compile_expression(
    text: str,
    variables: Mapping[str, Type],
    *,
    fields: Fields = lambda name, field: None,
    structs: Container[str] = (),
    results: Sequence[Type] = (BOOL,),
    patches: bool = False,
) -> Program:
    """An expression about variables, of `structs` as `fields` has them, which gives one of the `results`.

    Anything may come where no results are given; with `patches`, objects and JSON patches may be made.
    Raises ConditionError.
    """
    tree, problems, _ = _checked(text, variables, fields, structs=structs, patches=patches)
    if tree is None:
        raise CompilationError(f"compilation failed: {problems}")
    if results and tree.type not in results:
        names = [result.declared_name for result in results]
        wanted = names[0] if len(names) == 1 else f"one of [{' '.join(names)}]"
        raise CompilationError(f"must evaluate to {wanted} but got {tree.type.declared_name}")
    wrong = ast_validators.instantiation_error(tree)
    if wrong is not None:
        raise CompilationError(f"program instantiation failed: {wrong}", internal=True)
    return Program(tree, tuple(variables))


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
        return None, source.error_text(), set()
    checker = Checker(source, variables, fields, structs=structs, patches=patches)
    try:
        checker.check(tree)
        if not source.errors:
            ast_validators.validate_ast(tree, source)
    except RecursionError:
        source.report(-1, "max recursion depth exceeded")
    return (None, source.error_text(), set()) if source.errors else (tree, "", checker.used)
