"""The tree of an expression: what the parser makes, the checker annotates, and the rest reads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from polykind.cel.cel_types import DYN, Type

ACCUMULATOR = "@result"
INDEX_FUNCTIONS = frozenset({"_[_]", "_[?_]"})


class UInt(int):
    """An unsigned integer; to Python an int, to CEL a type of its own."""

    __slots__ = ()


LiteralValue: TypeAlias = bool | int | float | str | bytes | None


@dataclass(eq=False, slots=True)
class BaseExpr:
    """One expression; `at` is the offset that complaints about it name."""

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
    """A field of an operand; with `test`, whether it is there."""

    operand: Expr
    name: str
    test_only: bool = False


@dataclass(eq=False, slots=True)
class Call(BaseExpr):
    """A function; `overloads` are those that the checker found to fit."""

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
    """A fold over a list or a map. `macro` says which shape it has: known shapes run without following the fold."""

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
    """What stands directly below a node, in the order of the text."""
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
    """The same expression in new nodes. What stands in two places, as the parts of a fold do, still does."""
    made: dict[int, Expr] = {}

    def copy(node: Expr) -> Expr:
        if id(node) not in made:
            made[id(node)] = _copied(node, copy)
        return made[id(node)]

    return copy(node)


def _copied(node: Expr, copy: Callable[[Expr], Expr]) -> Expr:
    if isinstance(node, Literal):
        return Literal(node.offset, node.value)
    if isinstance(node, Ident):
        return Ident(node.offset, node.name)
    if isinstance(node, Select):
        return Select(node.offset, copy(node.operand), node.name, node.test_only)
    if isinstance(node, Call):
        target = copy(node.target) if node.target is not None else None
        return Call(node.offset, node.function, target, [copy(arg) for arg in node.args])
    if isinstance(node, ListExpr):
        return ListExpr(node.offset, [copy(item) for item in node.items], node.optional)
    if isinstance(node, MapExpr):
        entries = [MapEntry(e.offset, copy(e.key), copy(e.value), e.optional) for e in node.entries]
        return MapExpr(node.offset, entries)
    if isinstance(node, StructExpr):
        return StructExpr(node.offset, node.name, [(at, n, copy(v), opt) for at, n, v, opt in node.fields])
    return Comprehension(
        node.offset,
        node.macro,
        copy(node.iter_range),
        node.iter_vars,
        node.accu_var,
        copy(node.accu_init),
        copy(node.loop_condition),
        copy(node.loop_step),
        copy(node.result),
        tuple(copy(part) for part in node.parts),
    )


def qualified_name(node: Expr | None) -> str | None:
    """a.b.c as a name, None if the expression is anything else."""
    parts: list[str] = []
    while isinstance(node, Select) and not node.test_only:
        parts.append(node.name)
        node = node.operand
    if not isinstance(node, Ident):
        return None
    return ".".join([node.name, *reversed(parts)])


def is_attribute(node: Expr) -> bool:
    """Whether a field or an element can be looked up together with what leads to it."""
    if isinstance(node, Call):
        return node.function in INDEX_FUNCTIONS or node.function == "_?._" or is_conditional(node)
    return isinstance(node, Ident) or (isinstance(node, Select) and not node.test_only)


def is_conditional(node: Expr) -> bool:
    return isinstance(node, Call) and node.function == "_?_:_"
