"""The abstract syntax tree of an expression. The checker adds types and overloads to its nodes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from polykind.cel.cel_types import DYN, Type

ACCUMULATOR = "@result"
INDEX_FUNCTIONS = frozenset({"_[_]", "_[?_]"})


class UInt(int):
    """A CEL uint. CEL has distinct types for signed and unsigned integers."""

    __slots__ = ()


LiteralValue: TypeAlias = bool | int | float | str | bytes | None


@dataclass(eq=False, slots=True)
class BaseExpr:
    """Base class of all expressions. `offset` is the position in the text that error messages report."""

    offset: int
    type: Type = field(default=DYN, init=False)


@dataclass(eq=False, slots=True)
class Literal(BaseExpr):
    value: LiteralValue


@dataclass(eq=False, slots=True)
class Ident(BaseExpr):
    name: str


@dataclass(eq=False, slots=True)
class Select(BaseExpr):
    """A field selection. If `test_only` is true, the node is a presence test made by the has() macro."""

    operand: Expr
    name: str
    test_only: bool = False


@dataclass(eq=False, slots=True)
class Call(BaseExpr):
    """A function call. `overloads` lists the ids of the overloads that the checker resolved."""

    function: str
    target: Expr | None
    args: list[Expr]
    overloads: tuple[str, ...] = field(default=(), init=False)


@dataclass(eq=False, slots=True)
class ListExpr(BaseExpr):
    items: list[Expr]
    optional: frozenset[int] = frozenset()


@dataclass(eq=False, slots=True)
class MapEntry:
    offset: int
    key: Expr
    value: Expr
    optional: bool


@dataclass(eq=False, slots=True)
class MapExpr(BaseExpr):
    entries: list[MapEntry]


@dataclass(eq=False, slots=True)
class StructExpr(BaseExpr):
    name: str
    fields: list[tuple[int, str, Expr, bool]]


@dataclass(eq=False, slots=True)
class Comprehension(BaseExpr):
    """A comprehension over a list or a map.

    `macro` names the kind of comprehension: the planner has a specialized closure for most macros. `parts` are the
    macro's arguments; `loop_step` contains the same nodes.
    """

    macro: str
    iter_range: Expr
    iter_vars: tuple[str, ...]
    accu_var: str
    accu_init: Expr
    loop_condition: Expr
    loop_step: Expr
    result: Expr
    parts: tuple[Expr, ...] = ()

    @property
    def is_bind(self) -> bool:
        return self.macro == "bind"


Expr: TypeAlias = Literal | Ident | Select | Call | ListExpr | MapExpr | StructExpr | Comprehension


def children(node: Expr) -> list[Expr]:
    """Return the direct subexpressions in the order of the source text."""
    if isinstance(node, Select):
        return [node.operand]
    if isinstance(node, Call):
        return [*([node.target] if node.target is not None else []), *node.args]
    if isinstance(node, ListExpr):
        return list(node.items)
    if isinstance(node, MapExpr):
        return [part for entry in node.entries for part in (entry.key, entry.value)]
    if isinstance(node, StructExpr):
        return [value for _, _, value, _ in node.fields]
    if isinstance(node, Comprehension):
        return [node.iter_range, node.accu_init, node.loop_condition, node.loop_step, node.result]
    return []


def copy_expr(node: Expr) -> Expr:
    """Return a deep copy. If a node occurs twice in the tree, its one copy occurs twice in the copied tree."""
    copies: dict[int, Expr] = {}

    def copy(node: Expr) -> Expr:
        if id(node) not in copies:
            copies[id(node)] = _copy_node(node, copy)
        return copies[id(node)]

    return copy(node)


def _copy_node(node: Expr, copy: Callable[[Expr], Expr]) -> Expr:
    if isinstance(node, Select):
        return replace(node, operand=copy(node.operand))
    if isinstance(node, Call):
        target = copy(node.target) if node.target is not None else None
        return replace(node, target=target, args=[copy(arg) for arg in node.args])
    if isinstance(node, ListExpr):
        return replace(node, items=[copy(item) for item in node.items])
    if isinstance(node, MapExpr):
        return replace(node, entries=[replace(e, key=copy(e.key), value=copy(e.value)) for e in node.entries])
    if isinstance(node, StructExpr):
        return replace(node, fields=[(at, name, copy(value), opt) for at, name, value, opt in node.fields])
    if isinstance(node, Comprehension):
        return replace(
            node,
            iter_range=copy(node.iter_range),
            accu_init=copy(node.accu_init),
            loop_condition=copy(node.loop_condition),
            loop_step=copy(node.loop_step),
            result=copy(node.result),
            parts=tuple(copy(part) for part in node.parts),
        )
    return replace(node)


def qualified_name(node: Expr | None) -> str | None:
    """Return the dotted name of a chain of selections such as a.b.c. Return None for any other expression."""
    parts: list[str] = []
    while isinstance(node, Select) and not node.test_only:
        parts.append(node.name)
        node = node.operand
    if not isinstance(node, Ident):
        return None
    return ".".join([node.name, *reversed(parts)])


def is_attribute(node: Expr) -> bool:
    """True if cel-go treats the expression as an attribute: a variable, selection, index or conditional."""
    if isinstance(node, Call):
        return node.function in INDEX_FUNCTIONS or node.function == "_?._" or is_conditional(node)
    return isinstance(node, Ident) or (isinstance(node, Select) and not node.test_only)


def is_conditional(node: Expr) -> bool:
    return isinstance(node, Call) and node.function == "_?_:_"
