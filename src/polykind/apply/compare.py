"""Comparison of two typed values, field by field."""

from __future__ import annotations

from typing import Any, NamedTuple

from polykind.apply.fieldset import EMPTY, LEAF, Fields, recursive_difference, union
from polykind.apply.model import MISSING, ListType, MapType, Type, TypeMismatchError
from polykind.apply.typed_value import all_fields


class Comparison(NamedTuple):
    """The fields that were removed, modified and added. The sets are disjoint. All are empty if nothing differs."""

    removed: Fields
    modified: Fields
    added: Fields

    def __bool__(self) -> bool:
        return bool(self.removed or self.modified or self.added)

    def excluding(self, fields: Fields | None) -> Comparison:
        """Return the comparison without the fields in `fields` and the fields below them."""
        if not fields or not self:
            return self
        return Comparison(*(recursive_difference(part, fields) for part in self))


SAME = Comparison(EMPTY, EMPTY, EMPTY)

_Parts = tuple[Fields | None, Fields | None, Fields | None] | None
"""The removed, modified and added fields, each None if empty. The whole tuple is None if nothing differs."""

_CHANGED: _Parts = (None, LEAF, None)


def compare(old: Any, new: Any, type_: Type) -> Comparison:
    """Compare two objects. Raise TypeMismatchError if a differing value does not match its type."""
    parts = _compare(old, new, type_)
    return SAME if parts is None else Comparison(*(part or EMPTY for part in parts))


def _compare(old: Any, new: Any, type_: Type) -> _Parts:
    if old is new:
        return None
    if type(old) is dict and type(new) is dict:
        fields = type_.map
        if fields is None:
            raise TypeMismatchError
        if fields.atomic or not (old or new):
            return None if json_equal(old, new) else _CHANGED
        return _compare_maps(old, new, fields)
    if type(old) is list and type(new) is list:
        items = type_.list
        if items is None:
            raise TypeMismatchError
        if items.atomic or not (old or new):
            return None if json_equal(old, new) else _CHANGED
        return _compare_lists(old, new, items)
    scalars = type_.scalars
    if type(old) in scalars and type(new) in scalars and old is not None and new is not None:
        return None if json_equal(old, new) else _CHANGED
    return _compare_mixed(old, new, type_)


def _compare_maps(old: dict[str, Any], new: dict[str, Any], fields: MapType) -> _Parts:
    removed: Fields | None = None
    modified: Fields | None = None
    added: Fields | None = None
    named, element = fields.fields, fields.element
    removed_count = len(old)
    for name, item in new.items():
        before = old.get(name, MISSING)
        if before is not MISSING:
            removed_count -= 1
            if before is item:
                continue
            python_type = type(item)
            if python_type is not dict and python_type is not list and before == item and python_type is type(before):
                continue
        field = named.get(name)
        if field is not None:
            key, type_, _ = field
        elif element is not None:
            key, type_ = f"f:{name}", element
        else:
            raise TypeMismatchError
        if before is MISSING:
            if added is None:
                added = {}
            added[key] = all_fields(item, type_)
            continue
        parts = _compare(before, item, type_)
        if parts is None:
            continue
        removed_below, modified_below, added_below = parts
        if removed_below is not None:
            if removed is None:
                removed = {}
            removed[key] = removed_below
        if modified_below is not None:
            if modified is None:
                modified = {}
            modified[key] = modified_below
        if added_below is not None:
            if added is None:
                added = {}
            added[key] = added_below
    if removed_count:
        removed = {} if removed is None else removed
        for name, item in old.items():
            if name not in new:
                field = named.get(name)
                old_type = element if field is None else field.type
                if old_type is None:
                    raise TypeMismatchError
                removed[f"f:{name}"] = all_fields(item, old_type)
    return None if removed is None and modified is None and added is None else (removed, modified, added)


def _compare_lists(old: list[Any], new: list[Any], items: ListType) -> _Parts:
    before, after = _by_key(old, items), _by_key(new, items)
    removed: Fields = {}
    modified: Fields = {}
    added: Fields = {}
    for key in before | after:
        old_items, new_items = before.get(key, []), after.get(key, [])
        if len(old_items) == 1 and len(new_items) == 1:
            if (parts := _compare(old_items[0], new_items[0], items.element)) is not None:
                for part, out in zip(parts, (removed, modified, added), strict=True):
                    if part is not None:
                        out[key] = part
        elif not old_items:
            added[key] = all_fields(new_items[0], items.element) if len(new_items) == 1 else LEAF
        elif not new_items:
            removed[key] = all_fields(old_items[0], items.element) if len(old_items) == 1 else LEAF
        elif len(old_items) > 1 and len(new_items) > 1:
            if not json_equal(old_items, new_items):
                modified[key] = LEAF
        elif len(old_items) > 1:
            # An item that occurs several times is owned as a whole. An item that occurs once is owned field by field.
            added[key], removed[key] = all_fields(new_items[0], items.element), LEAF
        else:
            removed[key], added[key] = all_fields(old_items[0], items.element), LEAF
    return (removed or None, modified or None, added or None) if removed or modified or added else None


def _by_key(values: list[Any], items: ListType) -> dict[str, list[Any]]:
    out: dict[str, list[Any]] = {}
    for value in values:
        out.setdefault(items.item_key(value), []).append(value)
    return out


def _compare_mixed(old: Any, new: Any, type_: Type) -> _Parts:
    """Compare two values of which at least one is a scalar or null, or one is a map and the other a list."""
    if json_equal(old, new):
        return None
    out: tuple[Fields | None, ...] = (None, None, None)
    for shape in {_shape(old, type_), _shape(new, type_)}:
        parts = _compare_as(shape, old, new, type_)
        if parts is not None:
            out = tuple(map(_union, out, parts))
    return out  # type: ignore[return-value]


def _compare_as(shape: str, old: Any, new: Any, type_: Type) -> _Parts:
    """Compare two values as maps, as lists or as scalars.

    A value of another shape is treated as empty. If both values are then empty, the value has changed as a whole.
    """
    if shape == "map" and type_.map is not None and not type_.map.atomic:
        before, after = (value if type(value) is dict else {} for value in (old, new))
        return _compare_maps(before, after, type_.map) if before or after else _CHANGED
    if shape == "list" and type_.list is not None and not type_.list.atomic:
        old_list, new_list = (value if type(value) is list else [] for value in (old, new))
        return _compare_lists(old_list, new_list, type_.list) if old_list or new_list else _CHANGED
    if shape == "scalar" and not {type(old), type(new)} & type_.scalars:
        raise TypeMismatchError
    return _CHANGED


def _shape(value: Any, type_: Type) -> str:
    if type(value) is dict and type_.map is not None:
        return "map"
    if type(value) is list and type_.list is not None:
        return "list"
    if value is not None and type(value) not in (dict, list) and type_.scalar:
        return "scalar"
    return "map" if type_.map is not None else "scalar" if type_.scalar else "list"


def _union(left: Fields | None, right: Fields | None) -> Fields | None:
    if left is None or right is None:
        return right if left is None else left
    return left if left == right else union({"": left}, {"": right})[""]


def json_equal(left: Any, right: Any) -> bool:
    """True if two JSON values are equal. Unlike in Python, true is not equal to 1."""
    return left is right or (bool(left == right) and _bools_match(left, right))


def _bools_match(left: Any, right: Any) -> bool:
    """True if two values that are equal in Python have booleans in the same places."""
    pending = [(left, right)]
    while pending:
        one, other = pending.pop()
        type_ = type(one)
        if type_ is dict:
            pending += [(value, other[key]) for key, value in one.items() if type(value) is not str]
        elif type_ is list:
            pending += [(value, other[index]) for index, value in enumerate(one) if type(value) is not str]
        elif (type_ is bool) != (type(other) is bool):
            return False
    return True
