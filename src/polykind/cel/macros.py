"""Macro expansion: during parsing, calls such as has(), all() and map() become presence tests and comprehensions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from polykind.cel.ast import (
    ACCUMULATOR,
    Call,
    Comprehension,
    Expr,
    Ident,
    ListExpr,
    Literal,
    MapExpr,
    Select,
    copy_expr,
)

_LEGACY_ACCUMULATOR = "__result__"
_SORT_INPUT = "@__sortBy_input__"


class MacroError(ValueError):
    """A macro has invalid arguments. `offset` is the position at which the error is reported."""

    def __init__(self, offset: int, message: str) -> None:
        super().__init__(message)
        self.offset = offset


Expander: TypeAlias = Callable[[int, Expr, list[Expr]], Expr]


def expand(offset: int, function: str, target: Expr | None, args: list[Expr]) -> Expr | None:
    """Return the expansion of a macro call. Return None if the function is no macro.

    Raise MacroError if the macro's arguments are invalid.
    """
    if target is None:
        return _has(offset, args[0]) if function == "has" and len(args) == 1 else None
    expander = _RECEIVER_MACROS.get((function, len(args)))
    return expander(offset, target, args) if expander else None


def _has(offset: int, arg: Expr) -> Expr:
    if not isinstance(arg, Select):
        raise MacroError(arg.offset, "invalid argument to has() macro")
    return Select(offset, arg.operand, arg.name, True)


def _accu(offset: int) -> Ident:
    return Ident(offset, ACCUMULATOR)


def _call(offset: int, function: str, *args: Expr) -> Call:
    return Call(offset, function, None, list(args))


def _iter_var(arg: Expr, message: str) -> str:
    if not isinstance(arg, Ident):
        raise MacroError(arg.offset, message)
    if arg.name in (ACCUMULATOR, _LEGACY_ACCUMULATOR):
        raise MacroError(arg.offset, "iteration variable overwrites accumulator variable")
    return arg.name


def _iter_vars(args: list[Expr]) -> tuple[str, ...]:
    names = []
    for arg in args:
        if not isinstance(arg, Ident):
            raise MacroError(arg.offset, "argument must be a simple name")
        names.append(arg.name)
    if len(names) == 2 and names[0] == names[1]:
        raise MacroError(args[1].offset, f"duplicate variable name: {names[0]}")
    for arg in args:
        _iter_var(arg, "")
    return tuple(names)


def _quantifier(kind: str, variable_count: int) -> Expander:
    def expander(offset: int, target: Expr, args: list[Expr]) -> Expr:
        variables = _iter_vars(args[:variable_count])
        predicate = args[variable_count]
        init: Expr = Literal(offset, kind == "all")
        condition: Expr
        result: Expr = _accu(offset)
        if kind == "all":
            condition = _call(offset, "@not_strictly_false", _accu(offset))
            step = _call(offset, "_&&_", _accu(offset), predicate)
        elif kind == "exists":
            condition = _call(offset, "@not_strictly_false", _call(offset, "!_", _accu(offset)))
            step = _call(offset, "_||_", _accu(offset), predicate)
        else:
            init, condition = Literal(offset, 0), Literal(offset, True)
            counted = _call(offset, "_+_", _accu(offset), Literal(offset, 1))
            step = _call(offset, "_?_:_", predicate, counted, _accu(offset))
            result = _call(offset, "_==_", _accu(offset), Literal(offset, 1))
        parts = (predicate,)
        return Comprehension(offset, kind, target, variables, ACCUMULATOR, init, condition, step, result, parts)

    return expander


def _collect(
    kind: str, target: Expr, variables: tuple[str, ...], init: Expr, step: Expr, test: Expr | None, *parts: Expr
) -> Expr:
    """Return a comprehension that evaluates `step` for every element, or for every element that passes `test`."""
    offset = init.offset
    if test is not None:
        step = _call(offset, "_?_:_", test, step, _accu(offset))
        parts = (*parts, test) if parts else ()
    condition = Literal(offset, True)
    return Comprehension(offset, kind, target, variables, ACCUMULATOR, init, condition, step, _accu(offset), parts)


def _collect_list(offset: int, target: Expr, variables: tuple[str, ...], item: Expr, test: Expr | None) -> Expr:
    step = _call(offset, "_+_", _accu(offset), ListExpr(offset, [item]))
    return _collect("list", target, variables, ListExpr(offset, []), step, test, item)


def _map(offset: int, target: Expr, args: list[Expr]) -> Expr:
    name = _iter_var(args[0], "argument is not an identifier")
    return _collect_list(offset, target, (name,), args[-1], args[1] if len(args) == 3 else None)


def _filter(offset: int, target: Expr, args: list[Expr]) -> Expr:
    name = _iter_var(args[0], "argument is not an identifier")
    return _collect_list(offset, target, (name,), args[0], args[1])


def _transform_list(offset: int, target: Expr, args: list[Expr]) -> Expr:
    return _collect_list(offset, target, _iter_vars(args[:2]), args[-1], args[2] if len(args) == 4 else None)


def _transform_map(offset: int, target: Expr, args: list[Expr]) -> Expr:
    variables = _iter_vars(args[:2])
    return _insert(offset, target, args, variables, [Ident(offset, variables[0]), args[-1]])


def _transform_entry(offset: int, target: Expr, args: list[Expr]) -> Expr:
    return _insert(offset, target, args, _iter_vars(args[:2]), [args[-1]])


def _insert(offset: int, target: Expr, args: list[Expr], variables: tuple[str, ...], added: list[Expr]) -> Expr:
    step = _call(offset, "cel.@mapInsert", _accu(offset), *added)
    return _collect("map", target, variables, MapExpr(offset, []), step, args[2] if len(args) == 4 else None)


def bind(offset: int, name: str, value: Expr, body: Expr) -> Comprehension:
    """Return the expansion of cel.bind(): a comprehension over an empty list whose accumulator holds the value."""
    iter_range, condition, step = ListExpr(offset, []), Literal(offset, False), Ident(offset, name)
    return Comprehension(offset, "bind", iter_range, ("#unused",), name, value, condition, step, body)


def _optional_map(flat: bool) -> Expander:
    def expander(offset: int, target: Expr, args: list[Expr]) -> Expr:
        if not isinstance(args[0], Ident):
            word = "optFlatMap" if flat else "optMap"
            raise MacroError(args[0].offset, f"{word}() variable name must be a simple identifier")
        body: Expr = bind(offset, args[0].name, Call(offset, "value", copy_expr(target), []), args[1])
        if not flat:
            body = _call(offset, "optional.of", body)
        return _call(offset, "_?_:_", Call(offset, "hasValue", target, []), body, _call(offset, "optional.none"))

    return expander


def _sort_by(offset: int, target: Expr, args: list[Expr]) -> Expr:
    if not isinstance(target, ListExpr | Select | Ident | Comprehension | Call):
        raise MacroError(
            target.offset, "sortBy can only be applied to a list, identifier, comprehension, call or select expression"
        )
    keys = _map(offset, Ident(offset, _SORT_INPUT), args)
    return bind(offset, _SORT_INPUT, target, Call(offset, "@sortByAssociatedKeys", Ident(offset, _SORT_INPUT), [keys]))


_RECEIVER_MACROS: dict[tuple[str, int], Expander] = {
    ("all", 2): _quantifier("all", 1),
    ("exists", 2): _quantifier("exists", 1),
    ("exists_one", 2): _quantifier("exists_one", 1),
    ("all", 3): _quantifier("all", 2),
    ("exists", 3): _quantifier("exists", 2),
    ("exists_one", 3): _quantifier("exists_one", 2),
    ("existsOne", 3): _quantifier("exists_one", 2),
    ("map", 2): _map,
    ("map", 3): _map,
    ("filter", 2): _filter,
    ("transformList", 3): _transform_list,
    ("transformList", 4): _transform_list,
    ("transformMap", 3): _transform_map,
    ("transformMap", 4): _transform_map,
    ("transformMapEntry", 3): _transform_entry,
    ("transformMapEntry", 4): _transform_entry,
    ("optMap", 2): _optional_map(flat=False),
    ("optFlatMap", 2): _optional_map(flat=True),
    ("sortBy", 2): _sort_by,
}
