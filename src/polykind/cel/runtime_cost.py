"""What calls cost when they are made: fixed, or by the size of what they were given."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from polykind.cel.runtime_values import SchemaObject, actual_size, string_traversal_cost

CallCost = Callable[[Sequence[Any], Any], int]

UNIT_COST_FUNCTIONS = (
    "masked prefixLength family isUnspecified isLoopback isLinkLocalMulticast isLinkLocalUnicast isGlobalUnicast "
    "format.named sign asInteger isInteger asApproximateFloat isGreaterThan isLessThan compareTo add sub major minor "
    "patch getScheme getHostname getHost getPort getEscapedPath getQuery"
)
"""Functions that do no more than look something up."""
AUTHORIZER_CHECK_COST = 350_000
"""To ask an authorizer: no expression can do it more than twice."""
_ONE = frozenset(UNIT_COST_FUNCTIONS.split())
_PARSED = "url lowerAscii upperAscii substring trim cidr isIP isCIDR quantity isQuantity semver isSemver"
_ONCE = frozenset([*_PARSED.split(), "jsonpatch.escapeKey"])
_TRAVERSED = frozenset(["isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"])
_COMPARED = frozenset(
    [f"{word}_{kind}" for word in ("less", "less_equals", "greater", "greater_equals") for kind in ("string", "bytes")]
    + ["equals", "not_equals"]
)
_UNIT_EQUALITY = frozenset({"IP", "CIDR", "URL", "Quantity", "Computed", "Semver", "Format"})
QUADRATIC_OVERLOADS = frozenset(
    ["list_distinct", "list_sets_contains_list", "list_sets_intersects_list", "list_sets_equivalent_list"]
)
"""Overloads that take as long as the product of what they are given is large; their costs say so beforehand."""

SELF_COMPARING_OVERLOADS = frozenset(
    ["list_distinct"]
    + [
        f"list_{kind}_{name}"
        for kind in ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes")
        for name in ("sort", "sortByAssociatedKeys")
    ]
)
"""Overloads that cost as much as comparing the items of a list with each other."""


def runtime_call_cost(function: str, overload: str) -> CallCost | int:
    """The cost of a call: a number, or a function of its arguments and result."""
    if function in _ONE:
        return 1
    if function == "check":
        return AUTHORIZER_CHECK_COST
    found = _BY_FUNCTION.get(function)
    if found is not None:
        return 1 if overload == "cidr_ip" else found
    if function in _ONCE:
        return _once
    if function in _TRAVERSED:
        return lambda args, result: _traversal(args[0])
    if overload in _COMPARED:
        return _compared
    return _BY_OVERLOAD.get(overload, 1)


def _once(args: Sequence[Any], result: Any) -> int:
    return string_traversal_cost(actual_size(args[0]))


def _twice(args: Sequence[Any], result: Any) -> int:
    return math.ceil(actual_size(args[0]) * 2 * 0.1)


def _join(args: Sequence[Any], result: Any) -> int:
    return math.ceil(actual_size(result) * 2 * 0.1)


def _search(args: Sequence[Any], result: Any) -> int:
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
    """Going over the text, and for every second character a term, which is a list and a struct."""
    length = actual_size(args[1])
    return 10 + string_traversal_cost(length) + math.ceil(length * 0.5) * 50


def _compared(args: Sequence[Any], result: Any) -> int:
    if type(args[0]).__name__ in _UNIT_EQUALITY:
        return 1
    return string_traversal_cost(min(actual_size(args[0]), actual_size(args[1])))


def _added(args: Sequence[Any], result: Any) -> int:
    return string_traversal_cost(actual_size(args[0]) + actual_size(args[1]))


def _result(args: Sequence[Any], result: Any) -> int:
    return actual_size(result) + 11


def _flatten(args: Sequence[Any], result: Any) -> int:
    return actual_size(args[0]) * int(args[1] if len(args) == 2 else 1) + 11


def _self_compare(items: list[Any]) -> int:
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
    "replace": _twice,
    "split": _twice,
    "join": _join,
    "find": _search,
    "findAll": _search,
    "ip": _once,
    "ip.isCanonical": _twice,
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
        _once,
    ),
    "in_list": lambda args, result: actual_size(args[1]),
    "add_string": _added,
    "add_bytes": _added,
    "matches_string": _search,
    "contains_string": _contains_string,
    "list_slice": _result,
    "lists_range": _result,
    "list_reverse": _result,
    "list_flatten": _flatten,
    "list_flatten_int": _flatten,
    "list_sets_contains_list": _sets(1),
    "list_sets_intersects_list": _sets(1),
    "list_sets_equivalent_list": _sets(2),
    **dict.fromkeys(SELF_COMPARING_OVERLOADS, lambda args, result: _self_compare(args[-1])),
}
