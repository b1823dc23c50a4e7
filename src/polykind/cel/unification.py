"""Which type fits where: assignability with type parameters, and what those stand for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from polykind.cel.cel_types import DYN, NULL, Type, WrapperType

Bindings: TypeAlias = dict[str, Type]
_NULLABLE = frozenset({"opaque", "struct", "duration", "timestamp"})
_CONTAINERS = frozenset({"opaque", "list", "map"})


def assign(bindings: Bindings, given: Type, wanted: Type) -> Bindings | None:
    """The bindings under which the one fits the other, None if there are none."""
    grown = dict(bindings)
    return grown if _fits(grown, given, wanted) else None


def assign_all(bindings: Bindings, given: Sequence[Type], wanted: Sequence[Type]) -> Bindings | None:
    grown = dict(bindings)
    return grown if _all_fit(grown, given, wanted) else None


def substitute(bindings: Bindings, t: Type, *, free_to_dyn: bool) -> Type:
    """The type with its parameters replaced by what they stand for; free ones become dyn if wanted."""
    if t.kind == "param":
        bound = bindings.get(t.name)
        if bound is not None:
            return substitute(bindings, bound, free_to_dyn=free_to_dyn)
        return DYN if free_to_dyn else t
    if not t.params:
        return t
    params = tuple(substitute(bindings, p, free_to_dyn=free_to_dyn) for p in t.params)
    return t if params == t.params else Type(t.kind, t.name, params)


def most_general(first: Type, second: Type) -> Type:
    return first if _less_specific(first, second) else second


def _less_specific(first: Type, second: Type) -> bool:
    if first.kind in ("dyn", "param"):
        return True
    if second.kind in ("dyn", "param"):
        return False
    if first.kind != second.kind:
        return False
    if first.kind == "type":
        return True
    if first.kind in _CONTAINERS:
        if first.name != second.name or len(first.params) != len(second.params):
            return False
        return all(_less_specific(a, b) for a, b in zip(first.params, second.params, strict=True))
    return first == second


def _fits(bindings: Bindings, given: Type, wanted: Type) -> bool:
    if wanted.kind == "param":
        valid, bound = _valid_binding(bindings, given, wanted)
        if valid:
            return True
        if bound:
            return False
    if given.kind == "param":
        return _valid_binding(bindings, wanted, given)[0]
    if given.kind in ("dyn", "error") or wanted.kind in ("dyn", "error"):
        return True
    if given is NULL:
        return wanted is NULL or wanted.kind in _NULLABLE or isinstance(wanted, WrapperType)
    if wanted is NULL:
        return given.kind in _NULLABLE or isinstance(given, WrapperType)
    if given.kind == "type":
        return wanted.kind == "type"
    if given.kind in _CONTAINERS:
        return (
            given.kind == wanted.kind and given.name == wanted.name and _all_fit(bindings, given.params, wanted.params)
        )
    return given == wanted


def _all_fit(bindings: Bindings, given: Sequence[Type], wanted: Sequence[Type]) -> bool:
    return len(given) == len(wanted) and all(_fits(bindings, a, b) for a, b in zip(given, wanted, strict=True))


def _valid_binding(bindings: Bindings, value: Type, param: Type) -> tuple[bool, bool]:
    """Whether a parameter may stand for a type, and whether it stood for one already."""
    if value == param:
        return True, True
    bound = bindings.get(param.name)
    if bound is not None:
        if value == bound:
            return True, True
        if _fits(bindings, value, bound):
            general = most_general(value, bound)
            if _is_free_of(bindings, param, general):
                bindings[param.name] = general
            return True, True
        return False, True
    if _is_free_of(bindings, param, value):
        bindings[param.name] = value
        return True, False
    return False, False


def _is_free_of(bindings: Bindings, param: Type, within: Type) -> bool:
    if within == param:
        return False
    if within.kind == "param":
        bound = bindings.get(within.name)
        return bound is None or _is_free_of(bindings, param, bound)
    return all(_is_free_of(bindings, param, p) for p in within.params)
