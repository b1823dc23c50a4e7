"""Sets of field paths, in the form in which managedFields carry them.

A set is the FieldsV1 object itself: a tree of dicts whose keys are path elements (`f:name` a field, `k:{...}` an item
of a keyed list, `v:...` an item of a set, `i:0` an index). An element belongs to the set if its dict is empty or has
the key `.`. Sets are never changed once made, so they may share parts with each other and with objects.
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
"""A field that belongs to a set, and nothing below it."""

EMPTY: Final[Fields] = {}
"""The set of no fields, where a set is asked for."""

_PLAIN = re.compile(r"[ !#-%'-;=?-\[\]-~]*\Z")
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}\Z")
_UNDEFINED = "{{undefined}}"
"""How a value that is not of JSON is shown in a path."""


def value_json(value: Any) -> str:
    """A value as it stands in a path element: as Go's JSON encoder writes it."""
    if type(value) is str and _PLAIN.match(value):
        return f'"{value}"'
    if type(value) is float:
        return json_float(value)
    if type(value) is GoValue:
        return f'"{_UNDEFINED}"'
    try:
        return go_json(value)
    except TypeError:
        # Lone surrogates and deep nesting, which have no place in an element but must not stop a write.
        return json.dumps(value, separators=(",", ":"), sort_keys=True)


def union(left: Fields, right: Fields) -> Fields:
    """The fields of either set."""
    if left is right or not right:
        return left
    if not left:
        return right
    out = None
    for key, theirs in right.items():
        ours = left.get(key)
        if ours is None:
            both = theirs
        elif ours is theirs or key == ".":
            continue
        elif ours and theirs:
            both = union(ours, theirs)
        else:
            both = with_self(ours or theirs)
        if both is not ours:
            if out is None:
                out = left.copy()
            out[key] = both
    return left if out is None else out


def with_self(below: Fields | None) -> Fields:
    """An element that belongs to the set together with what is below it."""
    if not below:
        return LEAF
    return below if "." in below else {".": LEAF, **below}


def difference(left: Fields, right: Fields) -> Fields:
    """The fields of `left` that are not in `right`."""
    out = None
    for key, theirs in right.items():
        ours = left.get(key)
        if ours is None:
            continue
        rest = None if key == "." else _without(ours, theirs)
        if rest is ours:
            continue
        if out is None:
            out = left.copy()
        if rest is None:
            del out[key]
        else:
            out[key] = rest
    return left if out is None else out


def _without(ours: Fields, theirs: Fields) -> Fields | None:
    """One element less what the other set has of it; None when nothing stays."""
    if not theirs:
        if not ours:
            return None
        if "." not in ours:
            return ours
        return {key: below for key, below in ours.items() if key != "."} or None
    if not ours:
        return None if "." in theirs else ours
    rest = difference(ours, theirs)
    if len(rest) == 1 and "." in rest:
        return LEAF
    return rest or None


def recursive_difference(left: Fields, right: Fields) -> Fields:
    """The fields of `left` that are neither in `right` nor below a field that is."""
    out = None
    for key, theirs in right.items():
        ours = left.get(key)
        if ours is None or key == ".":
            continue
        if not theirs or "." in theirs:
            rest: Fields | None = None
        elif not ours:
            continue
        else:
            rest = recursive_difference(ours, theirs) or None
            if rest is ours:
                continue
            if rest is not None and len(rest) == 1 and "." in rest:
                rest = LEAF
        if out is None:
            out = left.copy()
        if rest is None:
            del out[key]
        else:
            out[key] = rest
    return left if out is None else out


def intersection(left: Fields, right: Fields) -> Fields:
    """The fields of both sets."""
    out: Fields = {}
    for key, theirs in right.items():
        ours = left.get(key)
        if ours is None:
            continue
        if key == "." or ours is theirs:
            out[key] = ours
        elif not ours or not theirs:
            if is_member(ours) and is_member(theirs):
                out[key] = LEAF
        elif both := intersection(ours, theirs):
            out[key] = LEAF if len(both) == 1 and "." in both else both
    return out


def is_member(element: Fields | None) -> bool:
    """Whether an element found in a set belongs to it, rather than only leading to what does."""
    return element is not None and (not element or "." in element)


def contains(fields: Fields, path: tuple[str, ...]) -> bool:
    """Whether the path, given as keys, belongs to the set."""
    element: Fields | None = fields
    for key in path:
        element = element.get(key) if element else None
        if element is None:
            return False
    return is_member(element)


def of_path(path: tuple[str, ...]) -> Fields:
    """The set of one path."""
    out = LEAF
    for key in reversed(path):
        out = {key: out}
    return out


def paths(fields: Fields, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every path of the set, in the reference's order: at each level first the elements, then what is below them."""
    keys = sorted(fields, key=_ORDER)
    for key in keys:
        if key != "." and is_member(fields[key]):
            yield (*above, key)
    for key in keys:
        if key != "." and fields[key]:
            yield from paths(fields[key], (*above, key))


def format_path(path: tuple[str, ...], *, read: bool = False) -> str:
    """A path as it is shown: .spec.beds[name="a"].plant

    `read`: it comes from a set that was stored, all of whose numbers are floats.
    """
    return "".join(_element_text(key, read) for key in path)


def _element_text(key: str, read: bool) -> str:
    kind, text = key[:2], key[2:]
    if kind == "f:":
        return f".{text}"
    value = _parsed(key, _with_floats if read else _with_integers)
    if kind == "k:" and isinstance(value, list):
        return f"[{','.join(f'{name}={_value_text(item)}' for name, item in value)}]"
    return f"[={_value_text(value)}]" if kind == "v:" else f"[{text}]"


def _integer(digits: str) -> int | float:
    """A whole number; a float beyond 64 bits."""
    value = int(digits) if len(digits) <= 20 else 1 << 64
    return value if -(1 << 63) <= value < 1 << 63 else float(digits)


_with_integers = json.JSONDecoder(parse_int=_integer).decode
_with_floats = json.JSONDecoder(parse_int=float).decode


def _parsed(key: str, decode: Callable[[str], Any] = json.loads) -> Any:
    """The value in an element, that of a key as pairs in order; the text itself if it cannot be read."""
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
    """The same set with its keys in the reference's order, for objects whose keys are not sorted on the wire."""
    if len(fields) < 2:
        return {key: sort_fields(below) for key, below in fields.items()} if fields else LEAF
    return {key: sort_fields(fields[key]) for key in sorted(fields, key=_ORDER)}


def _compare(left: str, right: str) -> int:
    ours, theirs = (_KINDS.find(key[:1]) for key in (left, right))
    if ours != theirs:
        return _sign(ours, theirs)
    if ours > 1:
        return _compare_values(_parsed(left), _parsed(right))
    return _sign(left.encode(errors="replace"), right.encode(errors="replace"))


def _compare_values(left: Any, right: Any) -> int:
    ranks = [_RANKS[type(value)] for value in (left, right)]
    if ranks[0] != ranks[1]:
        return _sign(*ranks)
    if isinstance(left, dict):
        return _compare_values(sorted(left.items()), sorted(right.items()))
    if isinstance(left, list | tuple):
        for ours, theirs in zip(left, right, strict=False):
            if order := _compare_values(ours, theirs):
                return order
        return _sign(len(left), len(right))
    return 0 if left is None else _sign(left, right)


def _sign(left: Any, right: Any) -> int:
    return int(left > right) - int(left < right)


_KINDS = ".fkvi"
_RANKS = {float: 0, int: 0, str: 1, bool: 2, list: 3, tuple: 3, dict: 4, type(None): 5}
_ORDER = cmp_to_key(_compare)


def is_field_set(fields: Any) -> bool:
    """Whether this has the shape of a set; what its elements are is not looked at."""
    if type(fields) is not dict:
        return False
    for below in fields.values():
        if type(below) is not dict:
            return False
        if below and not is_field_set(below):
            return False
    return True


def decode(fields: Any) -> Fields:
    """A set that somebody sent, with its elements spelt our way; ValueError if it is none.

    Elements of kinds that are not known are left out.
    """
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
    """The path element of an item of a keyed list; `items` sorted by name."""
    inner = ",".join([f"{value_json(name)}:{value_json(value)}" for name, value in items])
    return f"k:{{{inner}}}"
