"""Runtime cost of function calls: a constant, or a function of the actual arguments and result."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from polykind.cel.cel_types import ORDERED_KINDS
from polykind.cel.runtime_values import SchemaObject, actual_size

CallCost = Callable[[Sequence[Any], Any], int]
"""A function that returns the runtime cost of a call. Its parameters are the arguments and the result of the call."""

_UNIT_COST = (
    "masked prefixLength family isUnspecified isLoopback isLinkLocalMulticast isLinkLocalUnicast isGlobalUnicast "
    "format.named sign asInteger isInteger asApproximateFloat isGreaterThan isLessThan compareTo add sub major minor "
    "patch getScheme getHostname getHost getPort getEscapedPath getQuery"
)
UNIT_COST_FUNCTIONS = frozenset(_UNIT_COST.split())
"""Functions of library types that cost 1: accessors and arithmetic."""
AUTHORIZER_CHECK_COST = 350_000
"""Cost of an authorizer check. The cost limit allows at most two checks per evaluation."""
_PARSING_FUNCTIONS = "url lowerAscii upperAscii substring trim cidr isIP isCIDR quantity isQuantity semver isSemver"
_SINGLE_TRAVERSAL_FUNCTIONS = frozenset([*_PARSING_FUNCTIONS.split(), "jsonpatch.escapeKey"])
_LIST_TRAVERSAL_FUNCTIONS = frozenset(["isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"])
COMPARISON_OVERLOADS = frozenset(
    [f"{word}_{kind}" for word in ("less", "less_equals", "greater", "greater_equals") for kind in ("string", "bytes")]
    + ["equals", "not_equals"]
)
_UNIT_COST_EQUALITY = frozenset({"IP", "CIDR", "URL", "Quantity", "Computed", "Semver", "Format"})
QUADRATIC_OVERLOADS = frozenset(
    ["list_distinct", "list_sets_contains_list", "list_sets_intersects_list", "list_sets_equivalent_list"]
)
"""Overloads whose run time grows with the product of two sizes. Their cost is checked before they run."""

SELF_COMPARING_OVERLOADS = frozenset(
    ["list_distinct"] + [f"list_{kind}_{name}" for kind in ORDERED_KINDS for name in ("sort", "sortByAssociatedKeys")]
)
"""Overloads that compare the items of a list with each other."""


def runtime_call_cost(function: str, overload: str) -> CallCost | int:
    """Return the cost of a call: a constant, or a function that computes the cost from the arguments and the result."""
    if function in UNIT_COST_FUNCTIONS:
        return 1
    if function == "check":
        return AUTHORIZER_CHECK_COST
    call_cost = _BY_FUNCTION.get(function)
    if call_cost is not None:
        return 1 if overload == "cidr_ip" else call_cost
    if function in _SINGLE_TRAVERSAL_FUNCTIONS:
        return _single_traversal
    if function in _LIST_TRAVERSAL_FUNCTIONS:
        return lambda args, result: _traversal(args[0])
    if overload in COMPARISON_OVERLOADS:
        return _comparison
    return _BY_OVERLOAD.get(overload, 1)


def string_traversal_cost(size: int) -> int:
    """Return the cost of traversing a string of `size` characters once."""
    return math.ceil(size * 0.1)


def _single_traversal(args: Sequence[Any], result: Any) -> int:
    return string_traversal_cost(actual_size(args[0]))


def _double_traversal(args: Sequence[Any], result: Any) -> int:
    return math.ceil(actual_size(args[0]) * 2 * 0.1)


def _join(args: Sequence[Any], result: Any) -> int:
    return math.ceil(actual_size(result) * 2 * 0.1)


def _regex_search(args: Sequence[Any], result: Any) -> int:
    return string_traversal_cost(1 + actual_size(args[0])) * math.ceil(actual_size(args[1]) * 0.25)


def _contains_string(args: Sequence[Any], result: Any) -> int:
    return string_traversal_cost(actual_size(args[0])) * string_traversal_cost(actual_size(args[1]))


def _contains_ip(args: Sequence[Any], result: Any) -> int:
    cost = string_traversal_cost(2 * actual_size(args[0]))
    return cost + string_traversal_cost(actual_size(args[1])) if isinstance(args[1], str) else cost


def _contains_cidr(args: Sequence[Any], result: Any) -> int:
    cost = string_traversal_cost(2 * actual_size(args[0])) + string_traversal_cost(actual_size(args[0])) + 1
    return cost + string_traversal_cost(actual_size(args[1])) if isinstance(args[1], str) else cost


def _validate(args: Sequence[Any], result: Any) -> int:
    return string_traversal_cost(1 + actual_size(args[1])) * math.ceil(float(args[0].regex_size) * 0.25)


def _selector(args: Sequence[Any], result: Any) -> int:
    """Charge for parsing a selector: one traversal of the string, plus a list and a struct for every two characters."""
    length = actual_size(args[1])
    return 10 + string_traversal_cost(length) + math.ceil(length * 0.5) * 50


def _comparison(args: Sequence[Any], result: Any) -> int:
    if type(args[0]).__name__ in _UNIT_COST_EQUALITY:
        return 1
    return string_traversal_cost(min(actual_size(args[0]), actual_size(args[1])))


def _concatenation(args: Sequence[Any], result: Any) -> int:
    return string_traversal_cost(actual_size(args[0]) + actual_size(args[1]))


def _list_result(args: Sequence[Any], result: Any) -> int:
    return actual_size(result) + 11


def _flatten(args: Sequence[Any], result: Any) -> int:
    return actual_size(args[0]) * int(args[1] if len(args) == 2 else 1) + 11


def _self_comparison(items: list[Any]) -> int:
    factor = 2.1 if items and isinstance(items[0], str | bytes) else 2.0
    return int(len(items) ** 2 * factor) + 11


def _sets(factor: int) -> CallCost:
    return lambda args, result: 1 + actual_size(args[0]) * actual_size(args[1]) * factor


def _traversal(value: Any) -> int:
    if isinstance(value, str | bytes):
        return int(len(value if isinstance(value, bytes) else value.encode("utf-8", "replace")) * 0.1)
    if isinstance(value, list):
        return sum(_traversal(item) for item in value)
    if isinstance(value, dict):
        return sum(_traversal(key) + _traversal(item) for key, item in value.items())
    if isinstance(value, SchemaObject):
        return sum(_traversal(name) + _traversal(value.get(name)) for name in value.names() if value.has(name))
    return 1


_BY_FUNCTION: dict[str, CallCost] = {
    "replace": _double_traversal,
    "split": _double_traversal,
    "join": _join,
    "find": _regex_search,
    "findAll": _regex_search,
    "ip": _single_traversal,
    "ip.isCanonical": _double_traversal,
    "containsIP": _contains_ip,
    "containsCIDR": _contains_cidr,
    "validate": _validate,
    "fieldSelector": _selector,
    "labelSelector": _selector,
}
_BY_OVERLOAD: dict[str, CallCost] = {
    **dict.fromkeys(
        (
            "starts_with_string",
            "ends_with_string",
            "string_to_bytes",
            "bytes_to_string",
            "strings_quote",
            "string_format",
        ),
        _single_traversal,
    ),
    "in_list": lambda args, result: actual_size(args[1]),
    "add_string": _concatenation,
    "add_bytes": _concatenation,
    "matches_string": _regex_search,
    "contains_string": _contains_string,
    "list_slice": _list_result,
    "lists_range": _list_result,
    "list_reverse": _list_result,
    "list_flatten": _flatten,
    "list_flatten_int": _flatten,
    "list_sets_contains_list": _sets(1),
    "list_sets_intersects_list": _sets(1),
    "list_sets_equivalent_list": _sets(2),
    **dict.fromkeys(SELF_COMPARING_OVERLOADS, lambda args, result: _self_comparison(args[-1])),
}
