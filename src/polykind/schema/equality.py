"""Equality of JSON values as Go sees it: true is not 1, and 1 is not 1.0."""

from __future__ import annotations

from typing import Any


def deep_equal(left: Any, right: Any) -> bool:
    """Deep equality with types."""
    if left is right:
        return True
    try:
        return bool(left == right) and _alike(left, right)
    except RecursionError:
        # Too deep for Python's own comparison, which is quick but takes 1 for true.
        return _walked(left, right)


def _alike(left: Any, right: Any) -> bool:
    """Whether values that Python finds equal have the same types throughout; what equals a string is one."""
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


def _walked(left: Any, right: Any) -> bool:
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
    """A copy that shares no container with the original."""
    if type(value) is dict:
        return {key: deep_copy(item) for key, item in value.items()}
    if type(value) is list:
        return [deep_copy(item) for item in value]
    return value


def hashable_key(value: Any) -> Any:
    """A hashable stand-in: two values are the same exactly if theirs are equal."""
    if type(value) is dict:
        return (dict, frozenset((key, hashable_key(item)) for key, item in value.items()))
    if type(value) is list:
        return (list, tuple(map(hashable_key, value)))
    return (type(value), value)
