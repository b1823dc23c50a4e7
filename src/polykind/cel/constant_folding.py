"""Expressions that are computed once, when a program is made: literals, and what is made of nothing but them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from polykind.cel.ast import Call, Expr, Ident, ListExpr, Literal, MapExpr, Select
from polykind.cel.overload_dispatch import dispatcher

NameResolver = Callable[[Expr], tuple[Any] | None]
"""The value that a name stands for, None if it is a variable."""

_CONVERSIONS = frozenset(["bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint"])


def constant_value(
    node: Expr,
    named: NameResolver = lambda node: None,
    *,
    lists: type[list[Any]] = list,
    maps: type[dict[Any, Any]] = dict,
) -> tuple[Any] | None:
    """The value of a literal, of a list or map of constants, or of a conversion of one. Raises EvalError."""

    def found(node: Expr) -> tuple[Any] | None:
        if isinstance(node, Literal):
            return (node.value,)
        if isinstance(node, Ident | Select):
            return named(node)
        if isinstance(node, ListExpr) and not node.optional:
            items = _all(node.items)
            return (lists(items),) if items is not None else None
        if isinstance(node, MapExpr) and not any(entry.optional for entry in node.entries):
            keys, values = _all([entry.key for entry in node.entries]), _all([entry.value for entry in node.entries])
            if keys is None or values is None or any(isinstance(key, list | dict) for key in keys):
                return None
            return (maps(zip(keys, values, strict=True)),)
        if not isinstance(node, Call) or node.function not in _CONVERSIONS or len(node.args) != 1 or node.target:
            return None
        inner = found(node.args[0])
        return (dispatcher(node.function, node.overloads)(inner[0]),) if inner is not None else None

    def _all(nodes: list[Expr]) -> list[Any] | None:
        values = []
        for item in nodes:
            value = found(item)
            if value is None:
                return None
            values.append(value[0])
        return values

    return found(node)
