"""Dynamic overload dispatch: choosing an overload by the runtime types of the arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from polykind.cel.cel_types import ORDERED_KINDS, Type, unwrap_optional
from polykind.cel.evaluation_errors import NO_OVERLOAD, EvalError
from polykind.cel.library import FUNCTION_OVERLOADS, OVERLOADS_BY_ID, Overload
from polykind.cel.runtime_values import KIND_BY_CLASS, kind_of, runtime_type

Implementation = Callable[..., Any]

_RECEIVERS = frozenset(["duration", "string", "timestamp"])
"""Kinds with cel-go's Receiver trait. cel-go passes an unsupported call to the value, which returns a shorter error."""
_TRAIT_KINDS = {
    "_+_": _RECEIVERS | {"bytes", "double", "int", "list", "uint"},
    "_-_": _RECEIVERS | {"double", "int", "uint"},
    "_*_": _RECEIVERS | {"double", "int", "uint"},
    "_/_": _RECEIVERS | {"double", "int", "uint"},
    "_%_": _RECEIVERS | {"int", "uint"},
    "-_": _RECEIVERS | {"bool", "double", "int"},
    **dict.fromkeys(("matches", "size", "sort", "@sortByAssociatedKeys"), _RECEIVERS),
    **dict.fromkeys(("_<_", "_<=_", "_>_", "_>=_"), frozenset(ORDERED_KINDS)),
}
"""Per function: the kinds of first arguments that have the cel-go trait required by the function."""
_OPERATORS = frozenset(["_+_", "_-_", "_*_", "_/_", "_%_", "-_", "_<_", "_<=_", "_>_", "_>=_", "size"])
_ANY_ITEM_FUNCTIONS = frozenset(["@sortByAssociatedKeys", "flatten", "sort"])
"""Functions that accept lists with items of any kind."""
_TERSE_FUNCTIONS = frozenset(["!_", "_[_]", "_[?_]", "@in", "contains", "startsWith", "endsWith"])
"""Functions whose "no such overload" error contains no argument types."""


def dispatcher(function: str, overloads: Sequence[str]) -> Implementation:
    """Return a function that calls the first overload that accepts the runtime types of its arguments."""
    resolved = [OVERLOADS_BY_ID[id_] for id_ in overloads]
    if function == "sum":
        return _sum_dispatcher(resolved)
    candidates = [(_accepted_arguments(overload), overload.implementation) for overload in resolved]
    cache: dict[tuple[type, ...], Implementation] = {}

    def find(*values: Any) -> Implementation:
        for accepted, implementation in candidates:
            if all(arg.accepts(value) for arg, value in zip(accepted, values, strict=True)):
                return implementation
        raise no_such_overload(function, values)

    if any(arg.item_kind is not None for accepted, _ in candidates for arg in accepted):
        return lambda *values: find(*values)(*values)

    def dispatch(*values: Any) -> Any:
        classes = tuple(map(type, values))
        implementation = cache.get(classes)
        if implementation is None:
            implementation = cache[classes] = find(*values)
        return implementation(*values)

    return dispatch


def _sum_dispatcher(overloads: Sequence[Overload]) -> Callable[[Any], Any]:
    """Return an implementation of sum() that selects the overload by the list's first item. Mixed items fail."""
    by_kind = {_kind(overload.args[0].params[0]): overload.implementation for overload in overloads}

    def dispatch(items: Any) -> Any:
        if kind_of(items) != "list":
            raise no_such_overload("sum", [items])
        kinds = dict.fromkeys(map(kind_of, items))
        if not kinds:
            return next(iter(by_kind.values()))(items)
        implementation = by_kind.get(next(iter(kinds)))
        if implementation is None:
            raise no_such_overload("sum", [items])
        if len(kinds) > 1:
            raise EvalError(NO_OVERLOAD)
        return implementation(items)

    return dispatch


class _AcceptedArgument(NamedTuple):
    """The kind that an overload accepts for an argument, and for the first item of a list. None means any kind."""

    kind: str | None
    item_kind: str | None

    def accepts(self, value: Any) -> bool:
        if self.kind is None:
            return True
        if kind_of(value) != self.kind:
            return False
        return self.item_kind is None or not value or kind_of(value[0]) == self.item_kind


def _accepted_arguments(overload: Overload) -> list[_AcceptedArgument]:
    check_items = overload.function not in _ANY_ITEM_FUNCTIONS
    return [
        _AcceptedArgument(_kind(t), _kind(t.params[0]) if check_items and t.kind == "list" else None)
        for t in overload.args
    ]


def _kind(t: Type) -> str | None:
    if t.kind in ("dyn", "param"):
        return None
    if unwrap_optional(t)[1]:
        return "optional_type"
    return t.name if t.kind in ("opaque", "struct") else t.kind


def with_first_item_check(overload: Overload, implementation: Implementation) -> Implementation:
    """Return an implementation that checks the first item of a list, which may be null despite the list's type."""
    item_kind = _accepted_arguments(overload)[0].item_kind if overload.args else None
    if item_kind is None:
        return implementation
    kinds = KIND_BY_CLASS

    def checked(items: Any, *values: Any) -> Any:
        if items and kinds.get(type(items[0])) != item_kind:
            raise no_such_overload(overload.function, [items, *values])
        return implementation(items, *values)

    return checked


def with_argument_checks(overload: Overload, implementation: Implementation, *, terse: bool = False) -> Implementation:
    """Return an implementation that rejects arguments of kinds that its overload does not accept.

    An operator is dispatched again on the runtime types of its operands. If `terse` is true, the error does not name
    the argument types.
    """
    if overload.function in _OPERATORS:
        count = len(overload.args)
        ids = [other.id for other in FUNCTION_OVERLOADS[overload.function] if len(other.args) == count]
        return dispatcher(overload.function, ids)
    accepted = _accepted_arguments(overload)
    if all(arg.kind is None for arg in accepted):
        return implementation

    def checked(*values: Any) -> Any:
        for arg, value in zip(accepted, values, strict=True):
            if not arg.accepts(value):
                raise EvalError(NO_OVERLOAD) if terse else no_such_overload(overload.function, values)
        return implementation(*values)

    return checked


def no_such_overload(function: str, values: Sequence[Any]) -> EvalError:
    """Return cel-go's error for a call without a matching overload. Most functions name the argument types in it.

    An operator's error contains its name only if the first operand lacks the trait that the operator requires.
    """
    trait_kinds = _TRAIT_KINDS.get(function)
    if trait_kinds is not None:
        return EvalError(NO_OVERLOAD if kind_of(values[0]) in trait_kinds else f"{NO_OVERLOAD}: {function}")
    if function in _TERSE_FUNCTIONS:
        return EvalError(NO_OVERLOAD)
    names = [str(runtime_type(value)) for value in values]
    if function == "flatten":
        receiver = "map(dyn, dyn)" if kind_of(values[0]) == "map" else names[0]
        return EvalError(f"{NO_OVERLOAD}: {receiver}.flatten({', '.join(names[1:])})")
    return EvalError(f"{NO_OVERLOAD}: {function}({', '.join(names)})")
