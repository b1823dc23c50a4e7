"""What a call may cost before anything is known but the sizes its arguments can have."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from polykind.cel import cel_types
from polykind.cel.ast import Expr, Literal
from polykind.cel.bounds import MAX_UINT64, UNKNOWN, Range, exactly
from polykind.cel.cel_types import Type
from polykind.cel.runtime_cost import AUTHORIZER_CHECK_COST, UNIT_COST_FUNCTIONS

_ONCE = 0.1
_REGEX = 0.25
_LONGEST_FORMAT = 64
_LONGEST_NAME_REGEX = 128
_ADDRESS = Range(4, 16)
_ONE = exactly(1)


class ArgumentEstimate(NamedTuple):
    """An argument: its expression, its type, where its value comes from, and its size as far as it is known."""

    node: Expr | None
    type: Type
    path: tuple[str, ...]
    size: Range | None


class CallEstimate(NamedTuple):
    cost: Range
    result_size: Range | None = None


class SizeProvider(Protocol):
    """How large what lies at a path can be."""

    def size_at(self, path: tuple[str, ...]) -> Range | None: ...


CallEstimator = Callable[[ArgumentEstimate | None, Sequence[ArgumentEstimate], SizeProvider, str], CallEstimate | None]


def _size(arg: ArgumentEstimate, sizes: SizeProvider) -> Range:
    if arg.size is not None:
        return arg.size
    found = sizes.size_at(arg.path)
    return found if found is not None else UNKNOWN


def _element(target: ArgumentEstimate) -> ArgumentEstimate | None:
    if not target.type.params:
        return None
    path = (*target.path, "@items") if target.path else ()
    return ArgumentEstimate(None, target.type.params[0], path, None)


def _traversed(
    target: ArgumentEstimate | None, args: Sequence[ArgumentEstimate], sizes: SizeProvider, overload: str
) -> CallEstimate | None:
    if target is None:
        return None
    element = _element(target)
    if element is None:
        return CallEstimate(_size(target, sizes).scaled(_ONCE))
    each = _ONE
    if element.type.kind in ("string", "bytes"):
        each = each.plus(_size(element, sizes).scaled(_ONCE))
    return CallEstimate(_size(target, sizes).times(each))


def _text_call(
    target: ArgumentEstimate | None, args: Sequence[ArgumentEstimate], sizes: SizeProvider, overload: str
) -> CallEstimate | None:
    if target is None:
        return None
    size = _size(target, sizes)
    return CallEstimate(size.scaled(_ONCE), size)


def _url(
    target: ArgumentEstimate | None, args: Sequence[ArgumentEstimate], sizes: SizeProvider, overload: str
) -> CallEstimate | None:
    if len(args) != 1:
        return None
    size = _size(args[0], sizes)
    return CallEstimate(size.scaled(_ONCE), size)


def _replace(
    target: ArgumentEstimate | None, args: Sequence[ArgumentEstimate], sizes: SizeProvider, overload: str
) -> CallEstimate | None:
    if target is None or len(args) < 2:
        return None
    size, old, new = _size(target, sizes), _size(args[0], sizes), _size(args[1], sizes)
    if old.min == 0:
        most, kept_most = min(size.max + 1, MAX_UINT64), size.max
    elif new.max <= old.min:
        most, kept_most = 0, size.max
    else:
        most, kept_most = math.ceil(size.max / old.min), 0
    if old.max == 0:
        least, kept_least = min(size.min + 1, MAX_UINT64), size.min
    elif old.max <= new.min:
        least, kept_least = 0, size.min
    else:
        least, kept_least = math.ceil(size.min / old.max), 0
    result = Range(least, most).times(new).plus(Range(kept_least, kept_most))
    return CallEstimate(size.scaled(2 * _ONCE), result)


def _split(
    target: ArgumentEstimate | None, args: Sequence[ArgumentEstimate], sizes: SizeProvider, overload: str
) -> CallEstimate | None:
    if target is None:
        return None
    size = _size(target, sizes)
    most = size.max
    if len(args) > 1:
        limit = _literal(args[1])
        if limit is not None:
            most = limit % 2**64
    return CallEstimate(size.scaled(2 * _ONCE), Range(0, most))


def _literal(arg: ArgumentEstimate) -> int | None:
    node = arg.node
    if isinstance(node, Literal) and type(node.value) is int:
        return node.value
    return None


def _join(
    target: ArgumentEstimate | None, args: Sequence[ArgumentEstimate], sizes: SizeProvider, overload: str
) -> CallEstimate | None:
    if target is None:
        return None
    items = _size(target, sizes)
    element = _element(target)
    size = items.times(_size(element, sizes)) if element is not None else Range(0, 0)
    if args:
        separators = Range(max(items.min - 1, 0), max(items.max - 1, 0))
        size = size.plus(_size(args[0], sizes).times(separators))
    return CallEstimate(size.scaled(_ONCE), size)


def _find(
    target: ArgumentEstimate | None, args: Sequence[ArgumentEstimate], sizes: SizeProvider, overload: str
) -> CallEstimate | None:
    if target is None or not args:
        return None
    size = _size(target, sizes)
    cost = size.plus(_ONE).scaled(_ONCE).times(_size(args[0], sizes).scaled(_REGEX))
    return CallEstimate(cost, Range(0, size.max))


def _parsed(factor: float) -> CallEstimator:
    def estimate(
        target: ArgumentEstimate | None, args: Sequence[ArgumentEstimate], sizes: SizeProvider, overload: str
    ) -> CallEstimate | None:
        if overload == "cidr_ip":
            return CallEstimate(_ONE)
        return CallEstimate(_size(args[0], sizes).scaled(factor)) if args else None

    return estimate


def _one(
    target: ArgumentEstimate | None, args: Sequence[ArgumentEstimate], sizes: SizeProvider, overload: str
) -> CallEstimate:
    return CallEstimate(_ONE)


def _contains_ip(
    target: ArgumentEstimate | None, args: Sequence[ArgumentEstimate], sizes: SizeProvider, overload: str
) -> CallEstimate | None:
    if not args:
        return None
    cost = _ADDRESS.plus(_ADDRESS).scaled(_ONCE)
    if overload == "cidr_contains_ip_string":
        cost = cost.plus(_size(args[0], sizes).scaled(_ONCE))
    return CallEstimate(cost)


def _contains_cidr(
    target: ArgumentEstimate | None, args: Sequence[ArgumentEstimate], sizes: SizeProvider, overload: str
) -> CallEstimate | None:
    if not args:
        return None
    cost = _ADDRESS.plus(_ADDRESS).scaled(_ONCE).plus(_ADDRESS.scaled(_ONCE)).plus(_ONE)
    if overload == "cidr_contains_cidr_string":
        cost = cost.plus(_size(args[0], sizes).scaled(_ONCE))
    return CallEstimate(cost)


def _validate(
    target: ArgumentEstimate | None, args: Sequence[ArgumentEstimate], sizes: SizeProvider, overload: str
) -> CallEstimate | None:
    if not args:
        return None
    return CallEstimate(_size(args[0], sizes).scaled(_ONCE).scaled(_LONGEST_NAME_REGEX * _REGEX))


def _check(
    target: ArgumentEstimate | None, args: Sequence[ArgumentEstimate], sizes: SizeProvider, overload: str
) -> CallEstimate:
    return CallEstimate(exactly(AUTHORIZER_CHECK_COST))


def _selector(
    target: ArgumentEstimate | None, args: Sequence[ArgumentEstimate], sizes: SizeProvider, overload: str
) -> CallEstimate | None:
    if len(args) != 1:
        return None
    size = _size(args[0], sizes)
    return CallEstimate(exactly(10).plus(size.scaled(_ONCE)).plus(size.scaled(0.5).scaled(50)))


def _equal(
    target: ArgumentEstimate | None, args: Sequence[ArgumentEstimate], sizes: SizeProvider, overload: str
) -> CallEstimate | None:
    if len(args) != 2 or args[0].type != args[1].type:
        return None
    match args[0].type:
        case cel_types.IP | cel_types.CIDR:
            return CallEstimate(_ONE)
        case cel_types.FORMAT:
            return CallEstimate(Range(1, _LONGEST_FORMAT).scaled(_ONCE))
        case cel_types.URL:
            size = args[1].size
            return CallEstimate(Range(1, size.max if size is not None else 1).scaled(_ONCE))
    return CallEstimate(_ONE) if args[0].type in cel_types.LIBRARY_STRUCTS else None


def _allocated(factor: float, size: Range) -> CallEstimate:
    return CallEstimate(size.scaled(factor).plus(_ONE).plus(exactly(10)), size)


def _natural(arg: ArgumentEstimate, otherwise: int) -> int:
    value = _literal(arg)
    return otherwise if value is None else max(value, 0)


def _slice(
    target: ArgumentEstimate | None, args: Sequence[ArgumentEstimate], sizes: SizeProvider, overload: str
) -> CallEstimate | None:
    if target is None or len(args) != 2:
        return None
    start, end = _natural(args[0], 0), _natural(args[1], _size(target, sizes).max)
    return _allocated(1, exactly((end - start) % 2**64))


def _range(
    target: ArgumentEstimate | None, args: Sequence[ArgumentEstimate], sizes: SizeProvider, overload: str
) -> CallEstimate | None:
    return _allocated(1, exactly(_natural(args[0], MAX_UINT64))) if len(args) == 1 else None


def _reverse(
    target: ArgumentEstimate | None, args: Sequence[ArgumentEstimate], sizes: SizeProvider, overload: str
) -> CallEstimate | None:
    return _allocated(1, _size(target, sizes)) if target is not None else None


def _flatten(
    target: ArgumentEstimate | None, args: Sequence[ArgumentEstimate], sizes: SizeProvider, overload: str
) -> CallEstimate | None:
    if target is None:
        return None
    depth = _natural(args[0], MAX_UINT64) if args else 1
    return _allocated(float(depth), _size(target, sizes))


def _distinct(
    target: ArgumentEstimate | None, args: Sequence[ArgumentEstimate], sizes: SizeProvider, overload: str
) -> CallEstimate | None:
    if target is None:
        return None
    size = _size(target, sizes)
    return _allocated(2.0, size.times(size))


def _sort(
    target: ArgumentEstimate | None, args: Sequence[ArgumentEstimate], sizes: SizeProvider, overload: str
) -> CallEstimate | None:
    if target is None:
        return None
    size = _size(args[0] if args else target, sizes)
    factor = 2.1 if overload.startswith(("list_string_", "list_bytes_")) else 2.0
    return _allocated(factor, size.times(size))


def _sets(factor: float) -> CallEstimator:
    def estimate(
        target: ArgumentEstimate | None, args: Sequence[ArgumentEstimate], sizes: SizeProvider, overload: str
    ) -> CallEstimate | None:
        if len(args) != 2:
            return None
        return CallEstimate(_size(args[0], sizes).times(_size(args[1], sizes)).scaled(factor).plus(_ONE))

    return estimate


ESTIMATORS_BY_OVERLOAD: dict[str, CallEstimator] = {
    "list_slice": _slice,
    "list_flatten": _flatten,
    "list_flatten_int": _flatten,
    "lists_range": _range,
    "list_reverse": _reverse,
    "list_distinct": _distinct,
    "list_sets_contains_list": _sets(1),
    "list_sets_intersects_list": _sets(1),
    "list_sets_equivalent_list": _sets(2),
    **{
        f"list_{kind}_{word}": _sort
        for kind in ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes")
        for word in ("sort", "sortByAssociatedKeys")
    },
}
"""Asked first, by the overload."""

ESTIMATORS_BY_FUNCTION: dict[str, CallEstimator] = {
    **dict.fromkeys(("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"), _traversed),
    **dict.fromkeys(("lowerAscii", "upperAscii", "substring", "trim"), _text_call),
    "url": _url,
    "replace": _replace,
    "split": _split,
    "join": _join,
    "find": _find,
    "findAll": _find,
    **dict.fromkeys(("cidr", "isIP", "isCIDR", "ip", "quantity", "isQuantity", "semver", "isSemver"), _parsed(_ONCE)),
    "ip.isCanonical": _parsed(2 * _ONCE),
    **dict.fromkeys(UNIT_COST_FUNCTIONS.split(), _one),
    "containsIP": _contains_ip,
    "containsCIDR": _contains_cidr,
    "validate": _validate,
    "check": _check,
    **dict.fromkeys(("fieldSelector", "labelSelector"), _selector),
    "_==_": _equal,
}
"""Asked next, by the function."""
