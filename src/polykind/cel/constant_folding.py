"""Constant folding: evaluates constant expressions once, when a program is created from an expression."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from polykind.cel.ast import Call, Expr, Ident, ListExpr, Literal, MapExpr, Select, children, qualified_name
from polykind.cel.cel_types import Type
from polykind.cel.evaluation_errors import EvalError
from polykind.cel.overload_dispatch import dispatcher
from polykind.cel.runtime_values import Duration, Timestamp
from polykind.cel.well_known_types import REGISTERED_TYPES, WELL_KNOWN_TYPES
from polykind.golang.regexp import PatternError, compile_pattern

NameResolver = Callable[[Expr], tuple[Any] | None]
"""A function that returns a 1-tuple with the constant that a name denotes, or None if the name denotes a variable."""

REGEX_FUNCTIONS = frozenset({"matches", "find", "findAll"})
"""Functions whose second argument is a regular expression. The first argument is the receiver."""
_INDEX_FUNCTIONS = frozenset({"_[_]", "_[?_]"})
_INVALID_QUALIFIERS: dict[type, str] = {
    bytes: "types.Bytes",
    type(None): "types.Null",
    Timestamp: "types.Timestamp",
    Duration: "types.Duration",
    list: "*types.baseList",
    dict: "*types.baseMap",
}
"""The Go types of constants that are no index, by their types here."""
_CONVERSIONS = frozenset(["bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint"])


def constant_value(
    node: Expr,
    resolve_name: NameResolver = lambda node: None,
    *,
    list_class: type[list[Any]] = list,
    map_class: type[dict[Any, Any]] = dict,
) -> tuple[Any] | None:
    """Return a 1-tuple with the value of a literal, a list or map of constants, or a conversion of a constant.

    Return None for any other expression. Raise EvalError if a conversion fails.
    """
    return _Folding(resolve_name, list_class, map_class).fold(node)


class _Folding(NamedTuple):
    """The names and classes with which constants are folded."""

    resolve_name: NameResolver
    list_class: type[list[Any]]
    map_class: type[dict[Any, Any]]

    def _fold_map(self, node: MapExpr) -> tuple[Any] | None:
        keys = self._fold_all([entry.key for entry in node.entries])
        values = self._fold_all([entry.value for entry in node.entries])
        if keys is None or values is None or any(isinstance(key, list | dict) for key in keys):
            return None
        return (self.map_class(zip(keys, values, strict=True)),)

    def fold(self, node: Expr) -> tuple[Any] | None:
        if isinstance(node, Literal):
            return (node.value,)
        if isinstance(node, Ident | Select):
            return self.resolve_name(node)
        if isinstance(node, ListExpr) and not node.optional:
            items = self._fold_all(node.items)
            return (self.list_class(items),) if items is not None else None
        if isinstance(node, MapExpr) and not any(entry.optional for entry in node.entries):
            return self._fold_map(node)
        if not isinstance(node, Call) or node.function not in _CONVERSIONS or len(node.args) != 1 or node.target:
            return None
        arg = self.fold(node.args[0])
        return (dispatcher(node.function, node.overloads)(arg[0]),) if arg is not None else None

    def _fold_all(self, nodes: Sequence[Expr]) -> list[Any] | None:
        values = []
        for item in nodes:
            value = self.fold(item)
            if value is None:
                return None
            values.append(value[0])
        return values


def instantiation_error(ast: Expr) -> str | None:
    """Return the first error that cel-go reports when it creates a program from `ast`. Return None if there is none.

    At this time cel-go evaluates constant conversions, compiles constant regexes and resolves type names.
    """
    errors: list[tuple[int, str]] = []
    pending = [ast]
    while pending:
        node = pending.pop()
        pending.extend(children(node))
        if isinstance(node, Ident | Select) and node.type.kind == "type":
            name = (qualified_name(node) or "").removeprefix(".")
            if node.type.params and _is_undefined_at_runtime(name, node.type.params[0]):
                errors.append((node.offset, f"reference to undefined type: {name}"))
        if isinstance(node, Call) and (error := _call_error(node)):
            errors.append((node.offset, error))
    return min(errors)[1] if errors else None


def _call_error(node: Call) -> str:
    """Return the error of a call with constants when its program is created, or ""."""
    if node.function in _INDEX_FUNCTIONS and (invalid := _invalid_qualifier(node.args[1])):
        return f"invalid qualifier type: {invalid}"
    try:
        if node.function in REGEX_FUNCTIONS:
            args = [*([node.target] if node.target is not None else []), *node.args]
            regex = constant_value(args[1]) if len(args) > 1 else None
            if regex is not None and isinstance(regex[0], str):
                compile_pattern(regex[0])
        else:
            constant_value(node)
    except (EvalError, PatternError) as error:
        return str(error)
    return ""


def _invalid_qualifier(node: Expr) -> str:
    """Return the Go type of a constant that cannot index a list or a map, or "" if the index may be valid."""
    if node.type.kind == "type":
        return "*types.Type"
    found = constant_value(node)
    return "" if found is None else _INVALID_QUALIFIERS.get(type(found[0]), "")


def _is_undefined_at_runtime(name: str, type_: Type) -> bool:
    """True if `name` is a type name that the checker accepts but that has no value at runtime."""
    if name in REGISTERED_TYPES:
        return False
    return name in WELL_KNOWN_TYPES or (type_.kind == "struct" and type_.name == name)
