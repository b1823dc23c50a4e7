"""Which overload a call means where that shows only when its arguments are there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from polykind.cel.library import IMPLEMENTATIONS
from polykind.cel.overloads import BY_ID, Overload
from polykind.cel.types import Type, unwrapped
from polykind.cel.values import NO_OVERLOAD, EvalError, kind_of, type_value

_ORDERED = frozenset(["bool", "bytes", "double", "duration", "int", "string", "timestamp", "uint"])
_ABLE = {
    "_+_": frozenset(["bytes", "double", "duration", "int", "list", "string", "timestamp", "uint"]),
    "_-_": frozenset(["double", "duration", "int", "string", "timestamp", "uint"]),
    "_*_": frozenset({"double", "int", "string", "uint"}),
    "_/_": frozenset({"double", "int", "string", "uint"}),
    "_%_": frozenset({"int", "string", "uint"}),
    "-_": frozenset(["bool", "double", "duration", "int", "string", "uint"]),
    **dict.fromkeys(("matches", "sort", "@sortByAssociatedKeys"), frozenset({"string"})),
    **dict.fromkeys(("_<_", "_<=_", "_>_", "_>=_"), _ORDERED),
    "size": frozenset[str](),
}
_SILENT = frozenset(["!_", "_[_]", "_[?_]", "@in", "contains", "startsWith", "endsWith"])


def dispatcher(function: str, overloads: Sequence[str]) -> Callable[..., Any]:
    """A function that finds the overload its arguments fit."""
    if function == "sum":
        return _summing([BY_ID[name] for name in overloads])
    forms = [(_kinds(BY_ID[name]), IMPLEMENTATIONS[name]) for name in overloads if name in BY_ID]
    known: dict[tuple[type, ...], Callable[..., Any]] = {}

    def find(values: Sequence[Any]) -> Callable[..., Any]:
        found = [kind_of(value) for value in values]
        for kinds, implementation in forms:
            if all(want is None or want == kind for want, kind in zip(kinds, found, strict=True)):
                return implementation
        raise _no_overload(function, values)

    def dispatch(*values: Any) -> Any:
        classes = tuple(map(type, values))
        implementation = known.get(classes)
        if implementation is None:
            implementation = known[classes] = find(values)
        return implementation(*values)

    return dispatch


def _summing(overloads: Sequence[Overload]) -> Callable[[Any], Any]:
    """The sum of a list by its first item, as which the others must be."""
    forms = {_kind(overload.args[0].params[0]): IMPLEMENTATIONS[overload.id] for overload in overloads}

    def total(items: Any) -> Any:
        if kind_of(items) != "list":
            raise _no_overload("sum", [items])
        kinds = dict.fromkeys(map(kind_of, items))
        if not kinds:
            return next(iter(forms.values()))(items)
        implementation = forms.get(next(iter(kinds)))
        if implementation is None:
            raise _no_overload("sum", [items])
        if len(kinds) > 1:
            raise EvalError(NO_OVERLOAD)
        return implementation(items)

    return total


def _kinds(overload: Overload) -> list[str | None]:
    return [_kind(t) for t in overload.args]


def _kind(t: Type) -> str | None:
    if t.kind in ("dyn", "param"):
        return None
    if unwrapped(t)[1]:
        return "optional_type"
    return t.name if t.kind in ("opaque", "struct") else t.kind


def guarded(overload: Overload, implementation: Callable[..., Any]) -> Callable[..., Any]:
    kinds = _kinds(overload)
    if all(kind is None for kind in kinds):
        return implementation

    def checked(*values: Any) -> Any:
        for want, value in zip(kinds, values, strict=True):
            if want is not None and kind_of(value) != want:
                raise _no_overload(overload.function, values)
        return implementation(*values)

    return checked


def _no_overload(function: str, values: Sequence[Any]) -> EvalError:
    """Operators tell whether the first operand could ever be theirs; most functions tell what they were given."""
    able = _ABLE.get(function)
    if able is not None:
        return EvalError(NO_OVERLOAD if kind_of(values[0]) in able else f"{NO_OVERLOAD}: {function}")
    if function in _SILENT:
        return EvalError(NO_OVERLOAD)
    if function == "flatten":
        shown = "map(dyn, dyn)" if kind_of(values[0]) == "map" else str(type_value(values[0]))
        return EvalError(f"{NO_OVERLOAD}: {shown}.flatten()")
    return EvalError(f"{NO_OVERLOAD}: {function}({', '.join(str(type_value(value)) for value in values)})")
