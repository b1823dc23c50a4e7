"""Field sets, in the FieldsV1 format of managedFields.

A set is the FieldsV1 object itself: a tree of dicts whose keys are path elements (`f:name` a field, `k:{...}` an item
of a keyed list, `v:...` an item of a set, `i:0` an index). An element is a member of the set if its dict is empty or
has the key `.`. Sets are immutable, so they may share parts with each other and with objects.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import cmp_to_key
from typing import Any, Final

import msgspec

from polykind.golang.fmt import GoValue, go_float, go_quote
from polykind.golang.json import go_json, json_float

Fields = dict[str, Any]

LEAF: Final[Fields] = {}
"""The value of a path element that is a member of a set and has no members below it."""

EMPTY: Final[Fields] = {}
"""The empty set."""

_needs_no_escape = re.compile(r"[ !#-%'-;=?-\[\]-~]*").fullmatch
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}\Z")
_UNDEFINED = "{{undefined}}"
"""The text of a path element whose value JSON cannot represent."""


def value_json(value: Any) -> str:
    """Encode a value in a path element as Go's JSON encoder does."""
    if type(value) is str and _needs_no_escape(value):
        return f'"{value}"'
    if type(value) is float:
        return json_float(value)
    if type(value) is GoValue:
        return f'"{_UNDEFINED}"'
    try:
        return go_json(value)
    except TypeError:
        # A value with lone surrogates or deep nesting is invalid in a path element, but must not make a write fail.
        return json.dumps(value, separators=(",", ":"), sort_keys=True)


def union(left: Fields, right: Fields) -> Fields:
    """Return the union of two sets."""
    if left is right or not right:
        return left
    if not left:
        return right
    out = None
    for key, right_below in right.items():
        left_below = left.get(key)
        if left_below is None:
            combined = right_below
        elif left_below is right_below or key == ".":
            continue
        elif left_below and right_below:
            combined = union(left_below, right_below)
        else:
            combined = with_self(left_below or right_below)
        if combined is not left_below:
            if out is None:
                out = left.copy()
            out[key] = combined
    return left if out is None else out


def with_self(below: Fields | None) -> Fields:
    """Return `below`, the set of fields below a path element, with the element itself added."""
    if not below:
        return LEAF
    return below if "." in below else {".": LEAF, **below}


def difference(left: Fields, right: Fields) -> Fields:
    """Return the fields of `left` that are not in `right`."""
    out = None
    for key, right_below in right.items():
        left_below = left.get(key)
        if left_below is None:
            continue
        remaining = None if key == "." else _without(left_below, right_below)
        if remaining is left_below:
            continue
        if out is None:
            out = left.copy()
        if remaining is None:
            del out[key]
        else:
            out[key] = remaining
    return left if out is None else out


def _without(left_below: Fields, right_below: Fields) -> Fields | None:
    """Return `left_below` without the members of `right_below`. Both are sets below the same path element.

    Return None if nothing is left.
    """
    if not right_below:
        if not left_below:
            return None
        if "." not in left_below:
            return left_below
        return {key: below for key, below in left_below.items() if key != "."} or None
    if not left_below:
        return None if "." in right_below else left_below
    remaining = difference(left_below, right_below)
    if len(remaining) == 1 and "." in remaining:
        return LEAF
    return remaining or None


def recursive_difference(left: Fields, right: Fields) -> Fields:
    """Return the fields of `left` that are neither members of `right` nor below a member of `right`."""
    out = None
    for key, right_below in right.items():
        left_below = left.get(key)
        if left_below is None or key == ".":
            continue
        if not right_below or "." in right_below:
            remaining: Fields | None = None
        elif not left_below:
            continue
        else:
            remaining = recursive_difference(left_below, right_below) or None
            if remaining is left_below:
                continue
            if remaining is not None and len(remaining) == 1 and "." in remaining:
                remaining = LEAF
        if out is None:
            out = left.copy()
        if remaining is None:
            del out[key]
        else:
            out[key] = remaining
    return left if out is None else out


def intersection(left: Fields, right: Fields) -> Fields:
    """Return the intersection of two sets."""
    out: Fields = {}
    for key, right_below in right.items():
        left_below = left.get(key)
        if left_below is None:
            continue
        if key == "." or left_below is right_below:
            out[key] = left_below
        elif not left_below or not right_below:
            if is_member(left_below) and is_member(right_below):
                out[key] = LEAF
        elif combined := intersection(left_below, right_below):
            out[key] = LEAF if len(combined) == 1 and "." in combined else combined
    return out


def is_member(element: Fields | None) -> bool:
    """True if a path element is a member of the set. False if it only has members below it."""
    return element is not None and (not element or "." in element)


def contains(fields: Fields, path: tuple[str, ...]) -> bool:
    """True if the path, a tuple of path elements, is a member of the set."""
    element: Fields | None = fields
    for key in path:
        element = element.get(key) if element else None
        if element is None:
            return False
    return is_member(element)


def of_path(path: tuple[str, ...]) -> Fields:
    """Return the set that contains only the given path."""
    out = LEAF
    for key in reversed(path):
        out = {key: out}
    return out


def paths(fields: Fields, prefix: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield every path of the set in kube-apiserver's order: at each level first the members, then the paths below."""
    keys = sorted(fields, key=_SORT_KEY)
    for key in keys:
        if key != "." and is_member(fields[key]):
            yield (*prefix, key)
    for key in keys:
        if key != "." and fields[key]:
            yield from paths(fields[key], (*prefix, key))


def format_path(path: tuple[str, ...], *, from_store: bool = False) -> str:
    """Format a path, for example as .spec.beds[name="a"].plant

    `from_store` is True for a path of a stored set: kube-apiserver decodes and prints all its numbers as floats.
    """
    return "".join(_element_text(key, from_store) for key in path)


def _element_text(key: str, from_store: bool) -> str:
    kind, text = key[:2], key[2:]
    if kind == "f:":
        return f".{text}"
    value = _decode_value(key, _with_floats if from_store else _with_integers)
    if kind == "k:" and isinstance(value, list):
        return f"[{','.join(f'{name}={_value_text(item)}' for name, item in value)}]"
    return f"[={_value_text(value)}]" if kind == "v:" else f"[{text}]"


def _integer(digits: str) -> int | float:
    """Parse a whole number. Return a float if it does not fit 64 bits."""
    value = int(digits) if len(digits) <= 20 else 1 << 64
    return value if -(1 << 63) <= value < 1 << 63 else float(digits)


_with_integers = json.JSONDecoder(parse_int=_integer).decode
_with_floats = json.JSONDecoder(parse_int=float).decode


def _decode_value(key: str, decode: Callable[[str], Any] = json.loads) -> Any:
    """Decode the value in the path element `key`. Return a sorted list of pairs for an element such as k:{"name":"a"}.

    If the value is not valid JSON, return its text.
    """
    try:
        value = decode(key[2:])
    except (ValueError, RecursionError):
        return key[2:]
    return sorted(value.items()) if isinstance(value, dict) and key[0] == "k" else value


def _value_text(value: Any) -> str:
    if value == _UNDEFINED:
        return _UNDEFINED
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return go_quote(value)
    if isinstance(value, float):
        return go_float(value)
    if isinstance(value, list):
        return f"[{','.join(map(_value_text, value))}]"
    if isinstance(value, dict):
        return "".join(f"{key}={_value_text(item)}" for key, item in value.items())
    return str(value)


def sort_fields(fields: Fields) -> Fields:
    """Return the set with its keys in kube-apiserver's order, for objects whose keys JSON encoding does not sort."""
    named = all((key[:2] == "f:" or key == ".") and key.isascii() for key in fields)
    keys = sorted(fields) if named else sorted(fields, key=_SORT_KEY)
    return {key: sort_fields(below) if (below := fields[key]) else LEAF for key in keys}


def _compare(left: str, right: str) -> int:
    left_kind, right_kind = (_KIND_ORDER.find(key[:1]) for key in (left, right))
    if left_kind != right_kind:
        return _sign(left_kind, right_kind)
    if left_kind > 1:
        return _compare_values(_decode_value(left), _decode_value(right))
    return _sign(left.encode(errors="replace"), right.encode(errors="replace"))


def _compare_values(left: Any, right: Any) -> int:
    ranks = [_TYPE_RANKS[type(value)] for value in (left, right)]
    if ranks[0] != ranks[1]:
        return _sign(*ranks)
    if isinstance(left, dict):
        return _compare_values(sorted(left.items()), sorted(right.items()))
    if isinstance(left, list | tuple):
        for left_item, right_item in zip(left, right, strict=False):
            if order := _compare_values(left_item, right_item):
                return order
        return _sign(len(left), len(right))
    return 0 if left is None else _sign(left, right)


def _sign(left: Any, right: Any) -> int:
    return int(left > right) - int(left < right)


_KIND_ORDER = ".fkvi"
_TYPE_RANKS = {float: 0, int: 0, str: 1, bool: 2, list: 3, tuple: 3, dict: 4, type(None): 5}
_SORT_KEY = cmp_to_key(_compare)


def is_field_set(fields: Any) -> bool:
    """True if the value has the structure of a field set. The path elements themselves are not checked."""
    if type(fields) is not dict:
        return False
    for below in fields.values():
        if type(below) is not dict:
            return False
        if below and not is_field_set(below):
            return False
    return True


def decode(fields: Any) -> Fields:
    """Decode and normalize a set from a request. Drop unknown kinds of elements. Raise ValueError if it is invalid."""
    if fields is None:
        return EMPTY
    if not isinstance(fields, dict):
        raise ValueError("a set must be an object")
    out: Fields = {}
    for key, below in fields.items():
        if key == ".":
            continue
        element = _element(key)
        if element is None:
            continue
        node = decode(below)
        if node and isinstance(below, dict) and "." in below:
            node = {".": LEAF, **node}
        out[element] = node
    return out


def _element(key: str) -> str | None:
    if len(key) < 2:
        raise ValueError("key must be 2 characters long")
    if key[1] != ":":
        raise ValueError("missing colon")
    kind, text = key[0], key[2:]
    if kind == "f":
        return key
    if kind == "i":
        if not _INTEGER.match(text):
            raise ValueError("not an index")
        return f"i:{int(text)}"
    if kind not in "kv":
        return None
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ValueError(str(error)) from None
    if kind == "v":
        return f"v:{value_json(value)}"
    if not isinstance(value, dict):
        raise ValueError("a key must be an object")
    return key_element(sorted(value.items()))


def key_element(items: list[tuple[str, Any]]) -> str:
    """Return the path element of an item in a keyed list. `items` are its keys and their values, sorted by key."""
    inner = ",".join([f"{value_json(name)}:{value_json(value)}" for name, value in items])
    return f"k:{{{inner}}}"
