"""Cost estimates of function calls, computed from the possible sizes of the arguments."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from polykind.cel import cel_types
from polykind.cel.ast import Expr, Literal
from polykind.cel.cel_types import Type
from polykind.cel.runtime_cost import AUTHORIZER_CHECK_COST, SELF_COMPARING_OVERLOADS, UNIT_COST_FUNCTIONS

MAX_UINT64 = 2**64 - 1
STRING_TRAVERSAL_FACTOR = 0.1
REGEX_STRING_LENGTH_FACTOR = 0.25
_MAX_FORMAT_SIZE = 64
_MAX_NAME_REGEX_SIZE = 128


class Range(NamedTuple):
    """The minimum and maximum of a size or cost. Its arithmetic saturates at the largest uint64."""

    min: int
    max: int

    def plus(self, other: Range) -> Range:
        return Range(min(self.min + other.min, MAX_UINT64), min(self.max + other.max, MAX_UINT64))

    def times(self, other: Range) -> Range:
        return Range(min(self.min * other.min, MAX_UINT64), min(self.max * other.max, MAX_UINT64))

    def scaled(self, factor: float) -> Range:
        """Multiply both bounds by a factor and round up, in float64 arithmetic as cel-go does."""
        return Range(_scaled(self.min, factor), _scaled(self.max, factor))

    def union(self, other: Range) -> Range:
        return Range(min(self.min, other.min), max(self.max, other.max))


def exactly(value: int) -> Range:
    return Range(value, value)


UNKNOWN = Range(0, MAX_UINT64)
ZERO = Range(0, 0)
ONE = exactly(1)
_ADDRESS_SIZE = Range(4, 16)


def _scaled(value: int, factor: float) -> int:
    if value > 0 and factor > 0 and float(value) > 2.0**64 / factor:
        return MAX_UINT64
    product = math.ceil(float(value) * factor)
    return MAX_UINT64 if product >= 2**64 else product


class Argument(NamedTuple):
    """An argument of a call: its expression, the schema path of its value, and its size if known."""

    node: Expr
    path: tuple[str, ...]
    size: Range | None


class CallEstimate(NamedTuple):
    """The estimated cost of a call, excluding its arguments, and the size of its result if known."""

    cost: Range
    result_size: Range | None = None


class EstimatedCall(NamedTuple):
    """A call of one overload whose cost is to be estimated. The receiver of a member function is its first argument.

    `size_at` returns the size of the values at a schema path, or None if the schema does not describe them.
    """

    args: Sequence[Argument]
    size_at: Callable[[tuple[str, ...]], Range | None]
    overload: str

    def size(self, index: int) -> Range:
        return self.args[index].size or UNKNOWN

    def element_type(self) -> Type | None:
        """Return the element type of the first argument. Return None if the type declares no element type."""
        params = self.args[0].node.type.params
        return params[0] if params else None

    def element_size(self) -> Range:
        path = self.args[0].path
        return (self.size_at((*path, "@items")) if path else None) or UNKNOWN


Estimator = Callable[[EstimatedCall], CallEstimate | None]
"""A function that estimates the cost of a call. If it returns None, the standard library's estimate applies."""


def _int_literal(arg: Argument) -> int | None:
    node = arg.node
    if isinstance(node, Literal) and type(node.value) is int:
        return node.value
    return None


def _non_negative_literal(arg: Argument, default: int) -> int:
    value = _int_literal(arg)
    return default if value is None else max(value, 0)


def _list_traversal(call: EstimatedCall) -> CallEstimate:
    element_type = call.element_type()
    if element_type is None:
        return CallEstimate(call.size(0).scaled(STRING_TRAVERSAL_FACTOR))
    element_cost = ONE
    if element_type.kind in ("string", "bytes"):
        element_cost = element_cost.plus(call.element_size().scaled(STRING_TRAVERSAL_FACTOR))
    return CallEstimate(call.size(0).times(element_cost))


def _string_traversal(call: EstimatedCall) -> CallEstimate:
    size = call.size(0)
    return CallEstimate(size.scaled(STRING_TRAVERSAL_FACTOR), size)


def _replace(call: EstimatedCall) -> CallEstimate:
    """Estimate replace(). The result size counts the possible replacements and the characters that are kept."""
    size, old, new = call.size(0), call.size(1), call.size(2)
    if old.min == 0:
        max_count, max_kept = min(size.max + 1, MAX_UINT64), size.max
    elif new.max <= old.min:
        max_count, max_kept = 0, size.max
    else:
        max_count, max_kept = math.ceil(size.max / old.min), 0
    if old.max == 0:
        min_count, min_kept = min(size.min + 1, MAX_UINT64), size.min
    elif old.max <= new.min:
        min_count, min_kept = 0, size.min
    else:
        min_count, min_kept = math.ceil(size.min / old.max), 0
    result = Range(min_count, max_count).times(new).plus(Range(min_kept, max_kept))
    return CallEstimate(size.scaled(2 * STRING_TRAVERSAL_FACTOR), result)


def _split(call: EstimatedCall) -> CallEstimate:
    size = call.size(0)
    limit = _int_literal(call.args[2]) if len(call.args) > 2 else None
    max_items = limit % 2**64 if limit is not None else size.max
    return CallEstimate(size.scaled(2 * STRING_TRAVERSAL_FACTOR), Range(0, max_items))


def _join(call: EstimatedCall) -> CallEstimate:
    items = call.size(0)
    size = items.times(call.element_size()) if call.element_type() is not None else ZERO
    if len(call.args) > 1:
        separators = Range(max(items.min - 1, 0), max(items.max - 1, 0))
        size = size.plus(call.size(1).times(separators))
    return CallEstimate(size.scaled(STRING_TRAVERSAL_FACTOR), size)


def _find(call: EstimatedCall) -> CallEstimate:
    size = call.size(0)
    regex_cost = call.size(1).scaled(REGEX_STRING_LENGTH_FACTOR)
    return CallEstimate(size.plus(ONE).scaled(STRING_TRAVERSAL_FACTOR).times(regex_cost), Range(0, size.max))


def _parse(factor: float) -> Estimator:
    return lambda call: CallEstimate(ONE if call.overload == "cidr_ip" else call.size(0).scaled(factor))


def _contains_ip(call: EstimatedCall) -> CallEstimate:
    cost = _ADDRESS_SIZE.plus(_ADDRESS_SIZE).scaled(STRING_TRAVERSAL_FACTOR)
    if call.overload.endswith("_string"):
        cost = cost.plus(call.size(1).scaled(STRING_TRAVERSAL_FACTOR))
    return CallEstimate(cost)


def _contains_cidr(call: EstimatedCall) -> CallEstimate:
    return CallEstimate(_contains_ip(call).cost.plus(_ADDRESS_SIZE.scaled(STRING_TRAVERSAL_FACTOR)).plus(ONE))


def _validate(call: EstimatedCall) -> CallEstimate:
    traversal = call.size(1).scaled(STRING_TRAVERSAL_FACTOR)
    return CallEstimate(traversal.scaled(_MAX_NAME_REGEX_SIZE * REGEX_STRING_LENGTH_FACTOR))


def _selector(call: EstimatedCall) -> CallEstimate:
    """Estimate parsing a selector: one traversal of the string, plus a list and a struct for every two characters."""
    size = call.size(1)
    return CallEstimate(exactly(10).plus(size.scaled(STRING_TRAVERSAL_FACTOR)).plus(size.scaled(0.5).scaled(50)))


def _equals(call: EstimatedCall) -> CallEstimate | None:
    left, right = call.args
    if left.node.type != right.node.type:
        return None
    match left.node.type:
        case cel_types.IP | cel_types.CIDR:
            return CallEstimate(ONE)
        case cel_types.FORMAT:
            return CallEstimate(Range(1, _MAX_FORMAT_SIZE).scaled(STRING_TRAVERSAL_FACTOR))
        case cel_types.URL:
            max_size = right.size.max if right.size is not None else 1
            return CallEstimate(Range(1, max_size).scaled(STRING_TRAVERSAL_FACTOR))
    return CallEstimate(ONE) if left.node.type in cel_types.LIBRARY_STRUCTS else None


def _list_result(factor: float, size: Range) -> CallEstimate:
    """Estimate a call that returns a new list of this size, with a cost of `factor` per item."""
    return CallEstimate(size.scaled(factor).plus(ONE).plus(exactly(10)), size)


def _slice(call: EstimatedCall) -> CallEstimate:
    start = _non_negative_literal(call.args[1], 0)
    end = _non_negative_literal(call.args[2], call.size(0).max)
    return _list_result(1, exactly((end - start) % 2**64))


def _range(call: EstimatedCall) -> CallEstimate:
    return _list_result(1, exactly(_non_negative_literal(call.args[0], MAX_UINT64)))


def _flatten(call: EstimatedCall) -> CallEstimate:
    depth = _non_negative_literal(call.args[1], MAX_UINT64) if len(call.args) > 1 else 1
    return _list_result(float(depth), call.size(0))


def _sort(call: EstimatedCall) -> CallEstimate:
    """Estimate sort(), sortBy() and distinct(), which compare items, or the keys of items, with each other."""
    size = call.size(-1)
    factor = 2.1 if call.overload.startswith(("list_string_", "list_bytes_")) else 2.0
    return _list_result(factor, size.times(size))


def _sets(factor: float) -> Estimator:
    return lambda call: CallEstimate(call.size(0).times(call.size(1)).scaled(factor).plus(ONE))


ESTIMATORS_BY_OVERLOAD: dict[str, Estimator] = {
    "list_slice": _slice,
    "list_flatten": _flatten,
    "list_flatten_int": _flatten,
    "lists_range": _range,
    "list_reverse": lambda call: _list_result(1, call.size(0)),
    "list_sets_contains_list": _sets(1),
    "list_sets_intersects_list": _sets(1),
    "list_sets_equivalent_list": _sets(2),
    **dict.fromkeys(SELF_COMPARING_OVERLOADS, _sort),
}
"""Estimators by overload id. They take precedence over the estimators by function name."""

ESTIMATORS_BY_FUNCTION: dict[str, Estimator] = {
    **dict.fromkeys(("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"), _list_traversal),
    **dict.fromkeys(("lowerAscii", "upperAscii", "substring", "trim", "url"), _string_traversal),
    "replace": _replace,
    "split": _split,
    "join": _join,
    "find": _find,
    "findAll": _find,
    **dict.fromkeys(
        ("cidr", "isIP", "isCIDR", "ip", "quantity", "isQuantity", "semver", "isSemver"),
        _parse(STRING_TRAVERSAL_FACTOR),
    ),
    "ip.isCanonical": _parse(2 * STRING_TRAVERSAL_FACTOR),
    **dict.fromkeys(UNIT_COST_FUNCTIONS, lambda call: CallEstimate(ONE)),
    "containsIP": _contains_ip,
    "containsCIDR": _contains_cidr,
    "validate": _validate,
    "check": lambda call: CallEstimate(exactly(AUTHORIZER_CHECK_COST)),
    **dict.fromkeys(("fieldSelector", "labelSelector"), _selector),
    "_==_": _equals,
}
"""Estimators by function name, for calls that no estimator by overload id covers."""
