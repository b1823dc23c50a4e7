"""The steps of a JSONPath. Each step maps a list of values to another list."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

Values = list[Any]
Step = Callable[[Values], Values]
_MAX_RESULTS = 100_000


class MismatchError(Exception):
    """A step cannot be applied to one of its input values. `partial` are the results for the values before it."""

    def __init__(self, message: str, partial: Values) -> None:
        super().__init__(message)
        self.partial = partial


def walk(steps: Iterable[Step], values: Values) -> Values:
    for step in steps:
        values = step(values)
        if len(values) > _MAX_RESULTS:
            raise MismatchError("too many results", [])
    return values


class Field:
    """Selects the value of a key from each object that has the key."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, values: Values) -> Values:
        name = self.name
        return [value[name] for value in values if type(value) is dict and name in value]


class _Byte(int):
    """A byte of a string. It is printed as a number, but numeric columns and comparisons reject it, as in Go."""


def wildcard(values: Values) -> Values:
    """Return the members of each value. The members of a string are its bytes."""
    out: Values = []
    for value in values:
        out += map(_Byte, value.encode(errors="surrogatepass")) if type(value) is str else _members(value)
    return out


def descend(values: Values) -> Values:
    """Return every non-empty object, list and string in `values`, at any depth, each before its members."""
    out: Values = []
    stack = values[::-1]
    while stack:
        value = stack.pop()
        if value and type(value) in (dict, list, str):
            out.append(value)
            stack.extend(reversed(_members(value)))
            if len(out) > _MAX_RESULTS:
                raise MismatchError("too many results", [])
    return out


def _members(value: Any) -> Values:
    if type(value) is dict:
        return list(value.values())
    return value if type(value) is list else []


def constant(value: Any, *, once: bool = False) -> Step:
    return lambda values: [value] if once else [value] * len(values)


def identifier(name: str) -> Step:
    def fail(values: Values) -> Values:
        raise MismatchError(f"unrecognized identifier {name}", values)

    return fail


def union(branches: list[list[Step]]) -> Step:
    def apply(values: Values) -> Values:
        try:
            return [result for steps in branches for result in walk(steps, values)]
        except MismatchError as error:
            raise MismatchError(str(error), values) from None

    return apply


def slice_step(start: int | None, stop: int | None, step: int | None, *, single: bool) -> Step:
    def apply(values: Values) -> Values:
        out: Values = []
        for value in values:
            if value is None:
                continue
            if type(value) is not list:
                raise MismatchError("not an array", values)
            size = len(value)
            low = (start or 0) + (size if (start or 0) < 0 else 0)
            high = size if stop is None else stop
            if high < 0 or (high == 0 and single):
                high += size
            if low == high:
                return out
            if not 0 <= low < size or not 0 <= high <= size or low > high:
                raise MismatchError("array index out of bounds", values)
            if step is not None and step <= 0:
                raise MismatchError("step must be > 0", values)
            out += value[low : high : step or 1]
        return out

    return apply


def filter_step(left: list[Step], operator: str, right: list[Step]) -> Step:
    def apply(values: Values) -> Values:
        out: Values = []
        for value in values:
            if type(value) is not list:
                raise MismatchError("not an array and cannot be filtered", values)
            for item in value:
                if operator == "exists":
                    try:
                        results = walk(left, [item])
                    except MismatchError as error:
                        results = error.partial
                    if results:
                        out.append(item)
                    continue
                sides = []
                for steps in (left, right):
                    results = walk(steps, [item])
                    if len(results) > 1:
                        raise MismatchError("can only compare one element at a time", values)
                    if not results:
                        break
                    sides.append(results[0])
                if len(sides) == 2 and _compare(sides[0], operator, sides[1], out):
                    out.append(item)
        return out

    return apply


def _compare(left: Any, operator: str, right: Any, partial: Values) -> bool:
    """Compare as Go's templates do: only scalars of one type, and booleans only for equality."""
    kind = type(left)
    if kind not in (bool, int, float, str) or type(right) is not kind:
        raise MismatchError("incompatible types for comparison", partial)
    match operator:
        case "==":
            return bool(left == right)
        case "!=":
            return bool(left != right)
    if kind is bool or operator not in ("<", "<=", ">", ">="):
        raise MismatchError("invalid type for comparison", partial)
    return bool({"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}[operator])
