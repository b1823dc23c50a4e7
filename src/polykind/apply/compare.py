"""What differs between two values of one type, field by field."""

from __future__ import annotations

from typing import Any, NamedTuple

from polykind.apply.fieldset import EMPTY, LEAF, Fields, recursive_difference, union
from polykind.apply.model import MISSING, ListType, MapType, MisfitError, Type
from polykind.apply.typed_value import all_fields


class Comparison(NamedTuple):
    """Three sets without a common field; all empty when nothing differs."""

    removed: Fields
    modified: Fields
    added: Fields

    def __bool__(self) -> bool:
        return bool(self.removed or self.modified or self.added)

    def excluding(self, fields: Fields | None) -> Comparison:
        """Less the given fields and whatever is below them."""
        if not fields or not self:
            return self
        return Comparison(*(recursive_difference(part, fields) for part in self))


SAME = Comparison(EMPTY, EMPTY, EMPTY)

_Parts = tuple[Fields | None, Fields | None, Fields | None] | None
"""What was removed, modified and added; None for no difference, and in its places for nothing of that sort."""

_CHANGED: _Parts = (None, LEAF, None)


def compare(old: Any, new: Any, kind: Type) -> Comparison:
    """The differences of two objects; MisfitError if what differs does not fit its type."""
    parts = _compare(old, new, kind)
    return SAME if parts is None else Comparison(*(part or EMPTY for part in parts))


def _compare(old: Any, new: Any, kind: Type) -> _Parts:
    if old is new:
        return None
    if type(old) is dict and type(new) is dict:
        fields = kind.map
        if fields is None:
            raise MisfitError
        if fields.atomic or not (old or new):
            return None if json_equal(old, new) else _CHANGED
        return _compare_maps(old, new, fields)
    if type(old) is list and type(new) is list:
        items = kind.list
        if items is None:
            raise MisfitError
        if items.atomic or not (old or new):
            return None if json_equal(old, new) else _CHANGED
        return _compare_lists(old, new, items)
    return _compare_forms(old, new, kind)


def _compare_maps(old: dict[str, Any], new: dict[str, Any], fields: MapType) -> _Parts:
    removed: Fields | None = None
    modified: Fields | None = None
    added: Fields | None = None
    named, element = fields.fields, fields.element
    gone = len(old)
    for name, item in new.items():
        before = old.get(name, MISSING)
        if before is not MISSING:
            gone -= 1
            if before is item:
                continue
            kind_of = type(item)
            if kind_of is not dict and kind_of is not list and before == item and kind_of is type(before):
                continue
        field = named.get(name)
        if field is not None:
            key, kind, _ = field
        elif element is not None:
            key, kind = f"f:{name}", element
        else:
            raise MisfitError
        if before is MISSING:
            if added is None:
                added = {}
            added[key] = all_fields(item, kind)
            continue
        parts = _compare(before, item, kind)
        if parts is None:
            continue
        less, other, more = parts
        if less is not None:
            if removed is None:
                removed = {}
            removed[key] = less
        if other is not None:
            if modified is None:
                modified = {}
            modified[key] = other
        if more is not None:
            if added is None:
                added = {}
            added[key] = more
    if gone:
        removed = {} if removed is None else removed
        for name, item in old.items():
            if name not in new:
                field = named.get(name)
                kind_of_old = element if field is None else field.type
                if kind_of_old is None:
                    raise MisfitError
                removed[f"f:{name}"] = all_fields(item, kind_of_old)
    return None if removed is None and modified is None and added is None else (removed, modified, added)


def _compare_lists(old: list[Any], new: list[Any], items: ListType) -> _Parts:
    before, after = _by_key(old, items), _by_key(new, items)
    removed: Fields = {}
    modified: Fields = {}
    added: Fields = {}
    for key in before | after:
        ours, theirs = before.get(key, []), after.get(key, [])
        if len(ours) == 1 and len(theirs) == 1:
            if (parts := _compare(ours[0], theirs[0], items.element)) is not None:
                for part, out in zip(parts, (removed, modified, added), strict=True):
                    if part is not None:
                        out[key] = part
        elif not ours:
            added[key] = all_fields(theirs[0], items.element) if len(theirs) == 1 else LEAF
        elif not theirs:
            removed[key] = all_fields(ours[0], items.element) if len(ours) == 1 else LEAF
        elif len(ours) > 1 and len(theirs) > 1:
            if not json_equal(ours, theirs):
                modified[key] = LEAF
        elif len(ours) > 1:
            # What stood there twice is owned apart from what stands there once.
            added[key], removed[key] = all_fields(theirs[0], items.element), LEAF
        else:
            removed[key], added[key] = all_fields(ours[0], items.element), LEAF
    return (removed or None, modified or None, added or None) if removed or modified or added else None


def _by_key(values: list[Any], items: ListType) -> dict[str, list[Any]]:
    out: dict[str, list[Any]] = {}
    for value in values:
        out.setdefault(items.item_key(value), []).append(value)
    return out


def _compare_forms(old: Any, new: Any, kind: Type) -> _Parts:
    """Two values of which not both are maps and not both are lists: each is looked at in its own form."""
    if json_equal(old, new):
        return None
    out: tuple[Fields | None, ...] = (None, None, None)
    for form in {_form(old, kind), _form(new, kind)}:
        if form == "map" and kind.map is not None and not kind.map.atomic:
            parts = _within(old if type(old) is dict else {}, new if type(new) is dict else {}, _compare_maps, kind.map)
        elif form == "list" and kind.list is not None and not kind.list.atomic:
            parts = _within(
                old if type(old) is list else [], new if type(new) is list else [], _compare_lists, kind.list
            )
        elif form == "scalar" and not {type(old), type(new)} & kind.scalars:
            raise MisfitError
        else:
            parts = _CHANGED
        if parts is not None:
            out = tuple(_union(ours, theirs) for ours, theirs in zip(out, parts, strict=True))
    return out  # type: ignore[return-value]


def _within(old: Any, new: Any, walk: Any, kind: Any) -> _Parts:
    if not old and not new:
        return _CHANGED
    parts: _Parts = walk(old, new, kind)
    return parts


def _form(value: Any, kind: Type) -> str:
    if type(value) is dict and kind.map is not None:
        return "map"
    if type(value) is list and kind.list is not None:
        return "list"
    if value is not None and type(value) not in (dict, list) and kind.scalar:
        return "scalar"
    return "map" if kind.map is not None else "scalar" if kind.scalar else "list"


def _union(left: Fields | None, right: Fields | None) -> Fields | None:
    if left is None or right is None:
        return right if left is None else left
    return left if left == right else union({"": left}, {"": right})[""]


def json_equal(left: Any, right: Any) -> bool:
    """Whether two values are equal: unlike in Python, true is not 1."""
    return left is right or (bool(left == right) and _alike(left, right))


def _alike(left: Any, right: Any) -> bool:
    """Whether nothing in two values that Python finds equal is true in one and 1 in the other."""
    pending = [(left, right)]
    while pending:
        one, other = pending.pop()
        kind = type(one)
        if kind is dict:
            pending += [(value, other[key]) for key, value in one.items() if type(value) is not str]
        elif kind is list:
            pending += [(value, other[index]) for index, value in enumerate(one) if type(value) is not str]
        elif (kind is bool) != (type(other) is bool):
            return False
    return True
