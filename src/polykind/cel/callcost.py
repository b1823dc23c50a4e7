"""What a call may cost before anything is known but the sizes its arguments can have."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from polykind.cel import types
from polykind.cel.bounds import LARGEST, UNKNOWN, Bounds, fixed
from polykind.cel.spending import ACCESSORS, CHECK
from polykind.cel.tree import Expr, Literal
from polykind.cel.types import Type

_ONCE = 0.1
_REGEX = 0.25
_LONGEST_FORMAT = 64
_LONGEST_NAME_REGEX = 128
_ADDRESS = Bounds(4, 16)
_ONE = fixed(1)


class Argument(NamedTuple):
    """An argument: its expression, its type, where its value comes from, and its size as far as it is known."""

    node: Expr | None
    type: Type
    path: tuple[str, ...]
    size: Bounds | None


class CallCost(NamedTuple):
    cost: Bounds
    result: Bounds | None = None


class Sizes(Protocol):
    """How large what lies at a path can be."""

    def at(self, path: tuple[str, ...]) -> Bounds | None: ...


Estimate = Callable[[Argument | None, Sequence[Argument], Sizes, str], CallCost | None]


def _size(arg: Argument, sizes: Sizes) -> Bounds:
    if arg.size is not None:
        return arg.size
    found = sizes.at(arg.path)
    return found if found is not None else UNKNOWN


def _element(target: Argument) -> Argument | None:
    if not target.type.params:
        return None
    path = (*target.path, "@items") if target.path else ()
    return Argument(None, target.type.params[0], path, None)


def _traversed(target: Argument | None, args: Sequence[Argument], sizes: Sizes, overload: str) -> CallCost | None:
    if target is None:
        return None
    element = _element(target)
    if element is None:
        return CallCost(_size(target, sizes).scaled(_ONCE))
    each = _ONE
    if element.type.kind in ("string", "bytes"):
        each = each.plus(_size(element, sizes).scaled(_ONCE))
    return CallCost(_size(target, sizes).times(each))


def _text_call(target: Argument | None, args: Sequence[Argument], sizes: Sizes, overload: str) -> CallCost | None:
    if target is None:
        return None
    size = _size(target, sizes)
    return CallCost(size.scaled(_ONCE), size)


def _url(target: Argument | None, args: Sequence[Argument], sizes: Sizes, overload: str) -> CallCost | None:
    if len(args) != 1:
        return None
    size = _size(args[0], sizes)
    return CallCost(size.scaled(_ONCE), size)


def _replace(target: Argument | None, args: Sequence[Argument], sizes: Sizes, overload: str) -> CallCost | None:
    if target is None or len(args) < 2:
        return None
    size, old, new = _size(target, sizes), _size(args[0], sizes), _size(args[1], sizes)
    if old.low == 0:
        most, kept_most = min(size.high + 1, LARGEST), size.high
    elif new.high <= old.low:
        most, kept_most = 0, size.high
    else:
        most, kept_most = math.ceil(size.high / old.low), 0
    if old.high == 0:
        least, kept_least = min(size.low + 1, LARGEST), size.low
    elif old.high <= new.low:
        least, kept_least = 0, size.low
    else:
        least, kept_least = math.ceil(size.low / old.high), 0
    result = Bounds(least, most).times(new).plus(Bounds(kept_least, kept_most))
    return CallCost(size.scaled(2 * _ONCE), result)


def _split(target: Argument | None, args: Sequence[Argument], sizes: Sizes, overload: str) -> CallCost | None:
    if target is None:
        return None
    size = _size(target, sizes)
    most = size.high
    if len(args) > 1:
        limit = _literal(args[1])
        if limit is not None:
            most = limit % 2**64
    return CallCost(size.scaled(2 * _ONCE), Bounds(0, most))


def _literal(arg: Argument) -> int | None:
    node = arg.node
    if isinstance(node, Literal) and type(node.value) is int:
        return node.value
    return None


def _join(target: Argument | None, args: Sequence[Argument], sizes: Sizes, overload: str) -> CallCost | None:
    if target is None:
        return None
    items = _size(target, sizes)
    element = _element(target)
    size = items.times(_size(element, sizes)) if element is not None else Bounds(0, 0)
    if args:
        separators = Bounds(max(items.low - 1, 0), max(items.high - 1, 0))
        size = size.plus(_size(args[0], sizes).times(separators))
    return CallCost(size.scaled(_ONCE), size)


def _find(target: Argument | None, args: Sequence[Argument], sizes: Sizes, overload: str) -> CallCost | None:
    if target is None or not args:
        return None
    size = _size(target, sizes)
    cost = size.plus(_ONE).scaled(_ONCE).times(_size(args[0], sizes).scaled(_REGEX))
    return CallCost(cost, Bounds(0, size.high))


def _parsed(factor: float) -> Estimate:
    def estimate(target: Argument | None, args: Sequence[Argument], sizes: Sizes, overload: str) -> CallCost | None:
        if overload == "cidr_ip":
            return CallCost(_ONE)
        return CallCost(_size(args[0], sizes).scaled(factor)) if args else None

    return estimate


def _one(target: Argument | None, args: Sequence[Argument], sizes: Sizes, overload: str) -> CallCost:
    return CallCost(_ONE)


def _contains_ip(target: Argument | None, args: Sequence[Argument], sizes: Sizes, overload: str) -> CallCost | None:
    if not args:
        return None
    cost = _ADDRESS.plus(_ADDRESS).scaled(_ONCE)
    if overload == "cidr_contains_ip_string":
        cost = cost.plus(_size(args[0], sizes).scaled(_ONCE))
    return CallCost(cost)


def _contains_cidr(target: Argument | None, args: Sequence[Argument], sizes: Sizes, overload: str) -> CallCost | None:
    if not args:
        return None
    cost = _ADDRESS.plus(_ADDRESS).scaled(_ONCE).plus(_ADDRESS.scaled(_ONCE)).plus(_ONE)
    if overload == "cidr_contains_cidr_string":
        cost = cost.plus(_size(args[0], sizes).scaled(_ONCE))
    return CallCost(cost)


def _validate(target: Argument | None, args: Sequence[Argument], sizes: Sizes, overload: str) -> CallCost | None:
    if not args:
        return None
    return CallCost(_size(args[0], sizes).scaled(_ONCE).scaled(_LONGEST_NAME_REGEX * _REGEX))


def _check(target: Argument | None, args: Sequence[Argument], sizes: Sizes, overload: str) -> CallCost:
    return CallCost(fixed(CHECK))


def _selector(target: Argument | None, args: Sequence[Argument], sizes: Sizes, overload: str) -> CallCost | None:
    if len(args) != 1:
        return None
    size = _size(args[0], sizes)
    return CallCost(fixed(10).plus(size.scaled(_ONCE)).plus(size.scaled(0.5).scaled(50)))


def _equal(target: Argument | None, args: Sequence[Argument], sizes: Sizes, overload: str) -> CallCost | None:
    if len(args) != 2 or args[0].type != args[1].type:
        return None
    match args[0].type:
        case types.IP | types.CIDR:
            return CallCost(_ONE)
        case types.FORMAT:
            return CallCost(Bounds(1, _LONGEST_FORMAT).scaled(_ONCE))
        case types.URL:
            size = args[1].size
            return CallCost(Bounds(1, size.high if size is not None else 1).scaled(_ONCE))
    return CallCost(_ONE) if args[0].type in types.LIBRARY_STRUCTS else None


def _allocated(factor: float, size: Bounds) -> CallCost:
    return CallCost(size.scaled(factor).plus(_ONE).plus(fixed(10)), size)


def _natural(arg: Argument, otherwise: int) -> int:
    value = _literal(arg)
    return otherwise if value is None else max(value, 0)


def _slice(target: Argument | None, args: Sequence[Argument], sizes: Sizes, overload: str) -> CallCost | None:
    if target is None or len(args) != 2:
        return None
    start, end = _natural(args[0], 0), _natural(args[1], _size(target, sizes).high)
    return _allocated(1, fixed((end - start) % 2**64))


def _range(target: Argument | None, args: Sequence[Argument], sizes: Sizes, overload: str) -> CallCost | None:
    return _allocated(1, fixed(_natural(args[0], LARGEST))) if len(args) == 1 else None


def _reverse(target: Argument | None, args: Sequence[Argument], sizes: Sizes, overload: str) -> CallCost | None:
    return _allocated(1, _size(target, sizes)) if target is not None else None


def _flatten(target: Argument | None, args: Sequence[Argument], sizes: Sizes, overload: str) -> CallCost | None:
    if target is None:
        return None
    depth = _natural(args[0], LARGEST) if args else 1
    return _allocated(float(depth), _size(target, sizes))


def _distinct(target: Argument | None, args: Sequence[Argument], sizes: Sizes, overload: str) -> CallCost | None:
    if target is None:
        return None
    size = _size(target, sizes)
    return _allocated(2.0, size.times(size))


def _sort(target: Argument | None, args: Sequence[Argument], sizes: Sizes, overload: str) -> CallCost | None:
    if target is None:
        return None
    size = _size(args[0] if args else target, sizes)
    factor = 2.1 if overload.startswith(("list_string_", "list_bytes_")) else 2.0
    return _allocated(factor, size.times(size))


def _sets(factor: float) -> Estimate:
    def estimate(target: Argument | None, args: Sequence[Argument], sizes: Sizes, overload: str) -> CallCost | None:
        if len(args) != 2:
            return None
        return CallCost(_size(args[0], sizes).times(_size(args[1], sizes)).scaled(factor).plus(_ONE))

    return estimate


BY_OVERLOAD: dict[str, Estimate] = {
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

BY_FUNCTION: dict[str, Estimate] = {
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
    **dict.fromkeys(ACCESSORS.split(), _one),
    "containsIP": _contains_ip,
    "containsCIDR": _contains_cidr,
    "validate": _validate,
    "check": _check,
    **dict.fromkeys(("fieldSelector", "labelSelector"), _selector),
    "_==_": _equal,
}
"""Asked next, by the function."""
