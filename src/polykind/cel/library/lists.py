"""The lists and sets libraries: sorting, sums, slices and set operations."""

from __future__ import annotations

import functools
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from polykind.cel import arithmetic
from polykind.cel.ast import UInt
from polykind.cel.cel_types import ORDERED_KINDS
from polykind.cel.evaluation_errors import NO_OVERLOAD, CostExceededError, EvalError
from polykind.cel.runtime_values import Duration, Timestamp, compare, equals, kind_of

_MAX_ITEMS = 1_000_000
_COMPARABLE_CLASSES = frozenset([bool, int, UInt, float, str, bytes, Timestamp, Duration])


def _check_comparable(items: list[Any]) -> None:
    """Raise EvalError if an item has no order, such as a null that the schema allows."""
    if not _COMPARABLE_CLASSES.issuperset(map(type, items)):
        raise EvalError(NO_OVERLOAD)


def _compare_or_none(left: Any, right: Any) -> int | None:
    """Compare two values. Return None instead of an error if they have no order, such as NaN."""
    try:
        return compare(left, right)
    except EvalError:
        return None


def _is_sorted(items: list[Any]) -> bool:
    _check_comparable(items)
    return all(_compare_or_none(a, b) != 1 for a, b in pairwise(items))


def _extreme(name: str, replace_if: int) -> Callable[[list[Any]], Any]:
    """Return max() or min(). The next item replaces the result if compare(result, item) is `replace_if`."""

    def extreme(items: list[Any]) -> Any:
        if not items:
            raise EvalError(f"{name} called on empty list")
        _check_comparable(items)
        result = items[0]
        for item in items[1:]:
            if _compare_or_none(result, item) == replace_if:
                result = item
        return result

    return extreme


def _sum_int(items: list[int]) -> int:
    return functools.reduce(arithmetic.add, items, 0)


def _sum_uint(items: list[int]) -> int:
    return functools.reduce(arithmetic.add_unsigned, items, UInt(0))


def _sum_double(items: list[float]) -> float:
    total = 0.0
    for item in items:
        total += item
    return total


def _sum_duration(items: list[Duration]) -> Duration:
    return Duration(_sum_int([item.ns for item in items]))


def _index_of(items: list[Any], item: Any) -> int:
    for index, one in enumerate(items):
        if equals(one, item):
            return index
    return -1


def _last_index_of(items: list[Any], item: Any) -> int:
    for index in range(len(items) - 1, -1, -1):
        if equals(items[index], item):
            return index
    return -1


def _slice(items: list[Any], start: int, end: int) -> list[Any]:
    if start < 0 or end < 0:
        raise EvalError(f"cannot slice({start}, {end}), negative indexes not supported")
    if start > end:
        raise EvalError(f"cannot slice({start}, {end}), start index must be less than or equal to end index")
    if len(items) < end:
        raise EvalError(f"cannot slice({start}, {end}), list is length {len(items)}")
    return items[start:end]


def _flatten(items: list[Any], depth: int = 1) -> list[Any]:
    if depth < 0:
        raise EvalError("level must be non-negative")
    result = list(items)
    while depth > 0 and any(isinstance(item, list) for item in result):
        result = [inner for item in result for inner in (item if isinstance(item, list) else [item])]
        depth -= 1
    return result


def _range(count: int) -> list[int]:
    if count > _MAX_ITEMS:
        raise CostExceededError
    return list(range(count))


def _distinct(items: list[Any]) -> list[Any]:
    if all(isinstance(item, str) for item in items):
        return list(dict.fromkeys(items))
    result: list[Any] = []
    for item in items:
        if not any(equals(item, one) for one in result):
            result.append(item)
    return result


def _sort_by(items: list[Any], keys: list[Any]) -> list[Any]:
    if keys and kind_of(keys[0]) not in ORDERED_KINDS:
        raise EvalError("list elements must be comparable")
    if len({kind_of(key) for key in keys}) > 1:
        raise EvalError("list elements must have the same type")
    order = sorted(range(len(items)), key=lambda at: functools.cmp_to_key(compare)(keys[at]))
    return [items[at] for at in order]


def _sort(items: list[Any]) -> list[Any]:
    return _sort_by(items, items)


def _contains(items: list[Any], sublist: list[Any]) -> bool:
    return all(any(equals(expected, item) for item in items) for expected in sublist)


def _equivalent(one: list[Any], other: list[Any]) -> bool:
    return _contains(one, other) and _contains(other, one)


def _intersects(one: list[Any], other: list[Any]) -> bool:
    return any(any(equals(b, a) for b in other) for a in one)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{f".isSorted list_{kind}_is_sorted_bool list({kind}) -> bool": _is_sorted for kind in ORDERED_KINDS},
    **{f".max list_{kind}_max_{kind} list({kind}) -> {kind}": _extreme("max", -1) for kind in ORDERED_KINDS},
    **{f".min list_{kind}_min_{kind} list({kind}) -> {kind}": _extreme("min", 1) for kind in ORDERED_KINDS},
    **{f".sort list_{kind}_sort list({kind}) -> list({kind})": _sort for kind in ORDERED_KINDS},
    **{
        f".@sortByAssociatedKeys list_{kind}_sortByAssociatedKeys list(T) list({kind}) -> list(T)": _sort_by
        for kind in ORDERED_KINDS
    },
    ".sum list_int_sum_int list(int) -> int": _sum_int,
    ".sum list_uint_sum_uint list(uint) -> uint": _sum_uint,
    ".sum list_double_sum_double list(double) -> double": _sum_double,
    ".sum list_duration_sum_duration list(duration) -> duration": _sum_duration,
    ".indexOf list_a_index_of_int list(A) A -> int": _index_of,
    ".lastIndexOf list_a_last_index_of_int list(A) A -> int": _last_index_of,
    ".slice list_slice list(T) int int -> list(T)": _slice,
    ".flatten list_flatten list(list(T)) -> list(T)": _flatten,
    ".flatten list_flatten_int list(dyn) int -> list(dyn)": _flatten,
    "lists.range lists_range int -> list(int)": _range,
    ".reverse list_reverse list(T) -> list(T)": lambda items: items[::-1],
    ".distinct list_distinct list(T) -> list(T)": _distinct,
    "sets.contains list_sets_contains_list list(T) list(T) -> bool": _contains,
    "sets.equivalent list_sets_equivalent_list list(T) list(T) -> bool": _equivalent,
    "sets.intersects list_sets_intersects_list list(T) list(T) -> bool": _intersects,
}
