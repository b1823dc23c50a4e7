"""Compilation of expression text: parse, check and validate it against the declared variables, as cel-go's Env does."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import NamedTuple

from polykind.cel.ast import Call, Expr, Literal, Select, children
from polykind.cel.ast_validators import validate_ast
from polykind.cel.cel_types import BOOL, Type, optional_of
from polykind.cel.checker import Checker, FieldTypes
from polykind.cel.constant_folding import instantiation_error
from polykind.cel.parser import parse
from polykind.cel.program import Program, RuleProgram
from polykind.cel.schema_types import DeclType, DeclTypeProvider, unescape
from polykind.cel.source import Source


class CompiledRule(NamedTuple):
    """A compiled rule or message expression. `ast` is None if the expression has `errors`."""

    ast: Expr | None
    errors: str
    uses_old_self: bool
    optional_old_self: bool

    def instantiation_error(self) -> str | None:
        """Return cel-go's error if it cannot create a program from a well-typed expression, for example because of an
        invalid regex. Return None if it can.
        """
        return instantiation_error(self.ast) if self.ast is not None else None

    def program(self, decl_type: DeclType) -> RuleProgram:
        if self.ast is None:
            raise ValueError(self.errors)
        return RuleProgram(self.ast, decl_type, optional_old=self.optional_old_self)

    def message_program(self, decl_type: DeclType) -> RuleProgram:
        """Return the program of a message expression. Its oldSelf is never an optional value at runtime."""
        return self._replace(optional_old_self=False).program(decl_type)


def compile_rule(
    text: str, decl_type: DeclType, type_provider: DeclTypeProvider, *, optional_old: bool
) -> CompiledRule:
    """Compile an expression whose variables self and oldSelf have a declared type."""
    old_type = optional_of(decl_type.type) if optional_old else decl_type.type
    variables = {"self": decl_type.type, "oldSelf": old_type}
    ast, errors, used = _parse_and_check(text, variables, type_provider.field_type)
    return CompiledRule(ast, errors, "oldSelf" in used, optional_old)


class CompilationError(ValueError):
    """The expression does not compile. The message is the same as kube-apiserver's.

    `internal` is true if the expression is well-typed, but cel-go cannot create a program from it.
    """

    def __init__(self, detail: str, *, internal: bool = False) -> None:
        super().__init__(detail)
        self.internal = internal


def compile_expression(
    text: str,
    variables: Mapping[str, Type],
    *,
    fields: FieldTypes = lambda name, field: None,
    structs: Container[str] = (),
    results: Sequence[Type] = (BOOL,),
    patches: bool = False,
    unescape_names: bool = False,
) -> Program:
    """Compile an expression over variables of untyped JSON. Raise CompilationError if the expression is invalid.

    `structs` are the names of declared struct types and `fields` returns the types of their fields. The result type
    must be one of `results`; an empty `results` allows any type. If `patches` is true, the expression may construct
    Object and JSONPatch values. If `unescape_names` is true, `a.b__dot__c` selects the key "b.c".
    """
    ast, errors, _ = _parse_and_check(text, variables, fields, structs=structs, patches=patches)
    if ast is None:
        raise CompilationError(f"compilation failed: {errors}")
    if results and ast.type not in results:
        names = [result.declared_name for result in results]
        expected = names[0] if len(names) == 1 else f"one of [{' '.join(names)}]"
        raise CompilationError(f"must evaluate to {expected} but got {ast.type.declared_name}")
    error = instantiation_error(ast)
    if error is not None:
        raise CompilationError(f"program instantiation failed: {error}", internal=True)
    if unescape_names:
        _unescape_selections(ast)
    return Program(ast, tuple(variables))


def _unescape_selections(node: Expr) -> None:
    """Replace the escaped names in selections and constant map keys by the names of the keys in the JSON value."""
    if isinstance(node, Select):
        node.name = unescape(node.name) or node.name
    elif isinstance(node, Call) and node.function in ("_[_]", "_[?_]", "_?._") and isinstance(node.args[1], Literal):
        key = node.args[1].value
        if isinstance(key, str):
            node.args[1].value = unescape(key) or key
    for child in children(node):
        _unescape_selections(child)


def _parse_and_check(
    text: str, variables: Mapping[str, Type], fields: FieldTypes, *, structs: Container[str] = (), patches: bool = False
) -> tuple[Expr | None, str, set[str]]:
    """Return the AST, the error text and the names of the variables used. The AST is None if there are errors."""
    source = Source(text)
    ast = parse(source)
    if ast is None:
        return None, source.error_text(), set()
    checker = Checker(source, variables, fields, structs=structs, patches=patches)
    try:
        checker.check(ast)
        if not source.errors:
            validate_ast(ast, source)
    except RecursionError:
        source.report(-1, "max recursion depth exceeded")
    return (None, source.error_text(), set()) if source.errors else (ast, "", checker.used)
