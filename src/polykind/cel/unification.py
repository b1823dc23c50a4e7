"""Assignability of types, unification of type parameters and substitution of their bindings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from polykind.cel.cel_types import DYN, NULL, Type, WrapperType

Bindings: TypeAlias = dict[str, Type]
_NULLABLE = frozenset({"opaque", "struct", "duration", "timestamp"})
_CONTAINERS = frozenset({"opaque", "list", "map"})


def assign(bindings: Bindings, actual: Type, expected: Type) -> Bindings | None:
    """Return the type parameter bindings that make one type assignable to the other. Return None if there are none."""
    new_bindings = dict(bindings)
    return new_bindings if _is_assignable(new_bindings, actual, expected) else None


def assign_all(bindings: Bindings, actual: Sequence[Type], expected: Sequence[Type]) -> Bindings | None:
    new_bindings = dict(bindings)
    return new_bindings if _are_assignable(new_bindings, actual, expected) else None


def substitute(bindings: Bindings, t: Type, *, free_to_dyn: bool) -> Type:
    """Replace type parameters in a type by their bindings. If `free_to_dyn` is true, free parameters become dyn."""
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
    return first if _is_equal_or_less_specific(first, second) else second


def _is_equal_or_less_specific(first: Type, second: Type) -> bool:
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
        return all(_is_equal_or_less_specific(a, b) for a, b in zip(first.params, second.params, strict=True))
    return first == second


def _is_assignable(bindings: Bindings, actual: Type, expected: Type) -> bool:
    if expected.kind == "param":
        valid, bound = _bind_param(bindings, actual, expected)
        if valid or bound:
            return valid
    if actual.kind == "param":
        return _bind_param(bindings, expected, actual)[0]
    if actual.kind in ("dyn", "error") or expected.kind in ("dyn", "error"):
        return True
    if actual is NULL or expected is NULL:
        other = expected if actual is NULL else actual
        return other is NULL or other.kind in _NULLABLE or isinstance(other, WrapperType)
    if actual.kind == "type":
        return expected.kind == "type"
    if actual.kind in _CONTAINERS:
        same_container = (actual.kind, actual.name) == (expected.kind, expected.name)
        return same_container and _are_assignable(bindings, actual.params, expected.params)
    return actual == expected


def _are_assignable(bindings: Bindings, actual: Sequence[Type], expected: Sequence[Type]) -> bool:
    return len(actual) == len(expected) and all(
        _is_assignable(bindings, a, b) for a, b in zip(actual, expected, strict=True)
    )


def _bind_param(bindings: Bindings, value: Type, param: Type) -> tuple[bool, bool]:
    """Bind a type parameter to a type. Return two bools: True if the binding is valid, and True if one existed."""
    if value == param:
        return True, True
    bound = bindings.get(param.name)
    if bound is not None:
        if value == bound:
            return True, True
        if _is_assignable(bindings, value, bound):
            general = most_general(value, bound)
            if _does_not_occur(bindings, param, general):
                bindings[param.name] = general
            return True, True
        return False, True
    if _does_not_occur(bindings, param, value):
        bindings[param.name] = value
        return True, False
    return False, False


def _does_not_occur(bindings: Bindings, param: Type, within: Type) -> bool:
    if within == param:
        return False
    if within.kind == "param":
        bound = bindings.get(within.name)
        return bound is None or _does_not_occur(bindings, param, bound)
    return all(_does_not_occur(bindings, param, p) for p in within.params)
