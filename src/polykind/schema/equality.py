"""Equality and copies of JSON values. As in Go, true is not equal to 1, and 1 is not equal to 1.0."""

from __future__ import annotations

from typing import Any


def deep_equal(left: Any, right: Any) -> bool:
    """True if two values are equal and have the same types at every level."""
    if left is right:
        return True
    try:
        return bool(left == right) and _have_same_types(left, right)
    except RecursionError:
        # The values are nested too deeply for Python's own recursive comparison.
        return _deep_equal_iteratively(left, right)


def _have_same_types(left: Any, right: Any) -> bool:
    """True if two values that compare equal have the same types at every level. Strings need no check."""
    pending = [(left, right)]
    while pending:
        a, b = pending.pop()
        kind = type(a)
        if kind is not type(b):
            return False
        if kind is dict:
            pending += [(value, b[key]) for key, value in a.items() if type(value) is not str]
        elif kind is list:
            pending += [(value, b[at]) for at, value in enumerate(a) if type(value) is not str]
    return True


def _deep_equal_iteratively(left: Any, right: Any) -> bool:
    pending = [(left, right)]
    while pending:
        a, b = pending.pop()
        if a is b:
            continue
        kind = type(a)
        if kind is not type(b):
            return False
        if kind is dict:
            if len(a) != len(b):
                return False
            for key, value in a.items():
                if key not in b:
                    return False
                pending.append((value, b[key]))
        elif kind is list:
            if len(a) != len(b):
                return False
            pending.extend(zip(a, b, strict=True))
        elif a != b:
            return False
    return True


def deep_copy(value: Any) -> Any:
    """Return a copy that shares no dict or list with the original."""
    if type(value) is dict:
        return {key: deep_copy(item) for key, item in value.items()}
    if type(value) is list:
        return [deep_copy(item) for item in value]
    return value


def hashable_key(value: Any) -> Any:
    """Return a hashable key for a value. Two values have equal keys exactly if `deep_equal` is True for them."""
    if type(value) is dict:
        return (dict, frozenset((key, hashable_key(item)) for key, item in value.items()))
    if type(value) is list:
        return (list, tuple(map(hashable_key, value)))
    return (type(value), value)
