"""Which overload a call means where that shows only when its arguments are there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from polykind.cel.cel_types import Type, unwrap_optional
from polykind.cel.evaluation_errors import NO_OVERLOAD, EvalError
from polykind.cel.function_declarations import FUNCTION_OVERLOADS, OVERLOADS_BY_ID, Overload
from polykind.cel.library import IMPLEMENTATIONS
from polykind.cel.runtime_values import KIND_BY_CLASS, kind_of, runtime_type

_ORDERED = frozenset(["bool", "bytes", "double", "duration", "int", "string", "timestamp", "uint"])
_RECEIVERS = frozenset(["duration", "string", "timestamp"])
"""What refuses anything by itself."""
_ABLE = {
    "_+_": _RECEIVERS | {"bytes", "double", "int", "list", "uint"},
    "_-_": _RECEIVERS | {"double", "int", "uint"},
    "_*_": _RECEIVERS | {"double", "int", "uint"},
    "_/_": _RECEIVERS | {"double", "int", "uint"},
    "_%_": _RECEIVERS | {"int", "uint"},
    "-_": _RECEIVERS | {"bool", "double", "int"},
    **dict.fromkeys(("matches", "size", "sort", "@sortByAssociatedKeys"), _RECEIVERS),
    **dict.fromkeys(("_<_", "_<=_", "_>_", "_>=_"), _ORDERED),
}
_OPERATORS = frozenset(["_+_", "_-_", "_*_", "_/_", "_%_", "-_", "_<_", "_<=_", "_>_", "_>=_", "size"])
_BLIND = frozenset(["@sortByAssociatedKeys", "flatten", "sort"])
"""Functions that take any list."""
_SILENT = frozenset(["!_", "_[_]", "_[?_]", "@in", "contains", "startsWith", "endsWith"])


def dispatcher(function: str, overloads: Sequence[str]) -> Callable[..., Any]:
    """A function that finds the overload its arguments fit."""
    if function == "sum":
        return _summing([OVERLOADS_BY_ID[name] for name in overloads])
    forms = [(_wanted(OVERLOADS_BY_ID[name]), IMPLEMENTATIONS[name]) for name in overloads if name in OVERLOADS_BY_ID]
    known: dict[tuple[type, ...], Callable[..., Any]] = {}

    def find(*values: Any) -> Callable[..., Any]:
        for wanted, implementation in forms:
            if all(want.takes(value) for want, value in zip(wanted, values, strict=True)):
                return implementation
        raise no_such_overload(function, values)

    if any(want.item is not None for wanted, _ in forms for want in wanted):
        return lambda *values: find(*values)(*values)

    def dispatch(*values: Any) -> Any:
        classes = tuple(map(type, values))
        implementation = known.get(classes)
        if implementation is None:
            implementation = known[classes] = find(*values)
        return implementation(*values)

    return dispatch


def _summing(overloads: Sequence[Overload]) -> Callable[[Any], Any]:
    """The sum of a list by its first item, as which the others must be."""
    forms = {_kind(overload.args[0].params[0]): IMPLEMENTATIONS[overload.id] for overload in overloads}

    def total(items: Any) -> Any:
        if kind_of(items) != "list":
            raise no_such_overload("sum", [items])
        kinds = dict.fromkeys(map(kind_of, items))
        if not kinds:
            return next(iter(forms.values()))(items)
        implementation = forms.get(next(iter(kinds)))
        if implementation is None:
            raise no_such_overload("sum", [items])
        if len(kinds) > 1:
            raise EvalError(NO_OVERLOAD)
        return implementation(items)

    return total


class _Wanted(NamedTuple):
    """What an overload takes in one place: the kind of a value, and for a list the kind of its first item."""

    kind: str | None
    item: str | None

    def takes(self, value: Any) -> bool:
        if self.kind is None:
            return True
        if kind_of(value) != self.kind:
            return False
        return self.item is None or not value or kind_of(value[0]) == self.item


def _wanted(overload: Overload) -> list[_Wanted]:
    looks = overload.function not in _BLIND
    return [_Wanted(_kind(t), _kind(t.params[0]) if looks and t.kind == "list" else None) for t in overload.args]


def _kind(t: Type) -> str | None:
    if t.kind in ("dyn", "param"):
        return None
    if unwrap_optional(t)[1]:
        return "optional_type"
    return t.name if t.kind in ("opaque", "struct") else t.kind


def with_first_item_check(overload: Overload, implementation: Callable[..., Any]) -> Callable[..., Any]:
    """A function that looks at the first item of a list: it may be null, whatever the list's type is."""
    item = _wanted(overload)[0].item if overload.args else None
    if item is None:
        return implementation
    kinds = KIND_BY_CLASS

    def checked(items: Any, *values: Any) -> Any:
        if items and kinds.get(type(items[0])) != item:
            raise no_such_overload(overload.function, [items, *values])
        return implementation(items, *values)

    return checked


def with_argument_checks(
    overload: Overload, implementation: Callable[..., Any], *, silent: bool = False
) -> Callable[..., Any]:
    """A function that refuses what is not of its overload's kinds; a `silent` one does not say what it was given.

    Operators care for what they are given, not for how that was declared.
    """
    if overload.function in _OPERATORS:
        count = len(overload.args)
        forms = [form.id for form in FUNCTION_OVERLOADS[overload.function] if len(form.args) == count]
        return dispatcher(overload.function, [form for form in forms if form in IMPLEMENTATIONS])
    wanted = _wanted(overload)
    if all(want.kind is None for want in wanted):
        return implementation

    def checked(*values: Any) -> Any:
        for want, value in zip(wanted, values, strict=True):
            if not want.takes(value):
                raise EvalError(NO_OVERLOAD) if silent else no_such_overload(overload.function, values)
        return implementation(*values)

    return checked


def no_such_overload(function: str, values: Sequence[Any]) -> EvalError:
    """Operators tell whether the first operand could ever be theirs; most functions tell what they were given."""
    able = _ABLE.get(function)
    if able is not None:
        return EvalError(NO_OVERLOAD if kind_of(values[0]) in able else f"{NO_OVERLOAD}: {function}")
    if function in _SILENT:
        return EvalError(NO_OVERLOAD)
    if function == "flatten":
        shown = "map(dyn, dyn)" if kind_of(values[0]) == "map" else str(runtime_type(values[0]))
        return EvalError(
            f"{NO_OVERLOAD}: {shown}.flatten({', '.join(str(runtime_type(value)) for value in values[1:])})"
        )
    return EvalError(f"{NO_OVERLOAD}: {function}({', '.join(str(runtime_type(value)) for value in values)})")
