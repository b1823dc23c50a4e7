"""Macros: calls that stand for folds and tests, expanded while parsing."""

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

_OLD_ACCUMULATOR = "__result__"
SORT_INPUT = "@__sortBy_input__"


class MacroError(ValueError):
    """The arguments of a macro do not fit; `at` is the place to name."""

    def __init__(self, at: int, message: str) -> None:
        super().__init__(message)
        self.at = at


Expander: TypeAlias = Callable[[int, Expr, list[Expr]], Expr]


def expand(at: int, function: str, target: Expr | None, args: list[Expr]) -> Expr | None:
    """What a call stands for, None if it is no macro. Raises MacroError."""
    if target is None:
        return _has(at, args[0]) if function == "has" and len(args) == 1 else None
    expander = _RECEIVER.get((function, len(args)))
    return expander(at, target, args) if expander else None


def _has(at: int, arg: Expr) -> Expr:
    if not isinstance(arg, Select):
        raise MacroError(arg.offset, "invalid argument to has() macro")
    return Select(at, arg.operand, arg.name, True)


def _accu(at: int) -> Ident:
    return Ident(at, ACCUMULATOR)


def _call(at: int, function: str, *args: Expr) -> Call:
    return Call(at, function, None, list(args))


def _variable(arg: Expr, complaint: str) -> str:
    if not isinstance(arg, Ident):
        raise MacroError(arg.offset, complaint)
    if arg.name in (ACCUMULATOR, _OLD_ACCUMULATOR):
        raise MacroError(arg.offset, "iteration variable overwrites accumulator variable")
    return arg.name


def _variables(args: list[Expr]) -> tuple[str, ...]:
    names = []
    for arg in args:
        if not isinstance(arg, Ident):
            raise MacroError(arg.offset, "argument must be a simple name")
        names.append(arg.name)
    if len(names) == 2 and names[0] == names[1]:
        raise MacroError(args[1].offset, f"duplicate variable name: {names[0]}")
    for arg in args:
        _variable(arg, "")
    return tuple(names)


def _quantifier(kind: str, count: int) -> Expander:
    def expander(at: int, target: Expr, args: list[Expr]) -> Expr:
        variables = _variables(args[:count])
        predicate = args[count]
        initial: Expr
        if kind == "all":
            initial = Literal(at, True)
            condition: Expr = _call(at, "@not_strictly_false", _accu(at))
            step = _call(at, "_&&_", _accu(at), predicate)
            result: Expr = _accu(at)
        elif kind == "exists":
            initial = Literal(at, False)
            condition = _call(at, "@not_strictly_false", _call(at, "!_", _accu(at)))
            step = _call(at, "_||_", _accu(at), predicate)
            result = _accu(at)
        else:
            initial = Literal(at, 0)
            condition = Literal(at, True)
            counted = _call(at, "_+_", _accu(at), Literal(at, 1))
            step = _call(at, "_?_:_", predicate, counted, _accu(at))
            result = _call(at, "_==_", _accu(at), Literal(at, 1))
        return Comprehension(at, kind, target, variables, ACCUMULATOR, initial, condition, step, result, (predicate,))

    return expander


def _collect(at: int, target: Expr, variables: tuple[str, ...], item: Expr, test: Expr | None) -> Expr:
    step: Expr = _call(at, "_+_", _accu(at), ListExpr(at, [item]))
    if test is not None:
        step = _call(at, "_?_:_", test, step, _accu(at))
    parts = (item,) if test is None else (item, test)
    return Comprehension(
        at, "list", target, variables, ACCUMULATOR, ListExpr(at, []), Literal(at, True), step, _accu(at), parts
    )


def _map(at: int, target: Expr, args: list[Expr]) -> Expr:
    name = _variable(args[0], "argument is not an identifier")
    return _collect(at, target, (name,), args[-1], args[1] if len(args) == 3 else None)


def _filter(at: int, target: Expr, args: list[Expr]) -> Expr:
    name = _variable(args[0], "argument is not an identifier")
    return _collect(at, target, (name,), args[0], args[1])


def _transform_list(at: int, target: Expr, args: list[Expr]) -> Expr:
    return _collect(at, target, _variables(args[:2]), args[-1], args[2] if len(args) == 4 else None)


def _transform_map(at: int, target: Expr, args: list[Expr]) -> Expr:
    variables = _variables(args[:2])
    return _insert(at, target, args, variables, [Ident(at, variables[0]), args[-1]])


def _transform_entry(at: int, target: Expr, args: list[Expr]) -> Expr:
    return _insert(at, target, args, _variables(args[:2]), [args[-1]])


def _insert(at: int, target: Expr, args: list[Expr], variables: tuple[str, ...], added: list[Expr]) -> Expr:
    test = args[2] if len(args) == 4 else None
    step: Expr = _call(at, "cel.@mapInsert", _accu(at), *added)
    if test is not None:
        step = _call(at, "_?_:_", test, step, _accu(at))
    initial = MapExpr(at, [])
    return Comprehension(at, "fold", target, variables, ACCUMULATOR, initial, Literal(at, True), step, _accu(at))


def bind(at: int, name: str, value: Expr, body: Expr) -> Comprehension:
    """A body in which a name has a value: a fold over nothing."""
    return Comprehension(
        at, "bind", ListExpr(at, []), ("#unused",), name, value, Literal(at, False), Ident(at, name), body
    )


def _optional_map(flat: bool) -> Expander:
    def expander(at: int, target: Expr, args: list[Expr]) -> Expr:
        if not isinstance(args[0], Ident):
            word = "optFlatMap" if flat else "optMap"
            raise MacroError(args[0].offset, f"{word}() variable name must be a simple identifier")
        body: Expr = bind(at, args[0].name, Call(at, "value", copy_expr(target), []), args[1])
        if not flat:
            body = _call(at, "optional.of", body)
        return _call(at, "_?_:_", Call(at, "hasValue", target, []), body, _call(at, "optional.none"))

    return expander


def _sort_by(at: int, target: Expr, args: list[Expr]) -> Expr:
    if not isinstance(target, ListExpr | Select | Ident | Comprehension | Call):
        raise MacroError(
            target.offset, "sortBy can only be applied to a list, identifier, comprehension, call or select expression"
        )
    keys = _map(at, Ident(at, SORT_INPUT), args)
    return bind(at, SORT_INPUT, target, Call(at, "@sortByAssociatedKeys", Ident(at, SORT_INPUT), [keys]))


_RECEIVER: dict[tuple[str, int], Expander] = {
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
