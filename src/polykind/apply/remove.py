"""Fields taken out of a value by a set of paths."""

from __future__ import annotations

from typing import Any

from polykind.apply.fieldset import LEAF, Fields, is_member
from polykind.apply.model import DEDUCED, Type


def remove_items(value: Any, fields: Fields, kind: Type) -> Any:
    """The value without the fields and list items of the set; null where nothing stays."""
    if type(value) is dict:
        if kind.map is None or kind.map.atomic or not value:
            return None
        out = {}
        named, element = kind.map.fields, kind.map.element or DEDUCED
        for name, item in value.items():
            below = fields.get(f"f:{name}")
            if below is not None:
                if is_member(below):
                    continue
                field = named.get(name)
                item = remove_items(item, below, element if field is None else field.type)
            out[name] = item
        return out or None
    if type(value) is list:
        if kind.list is None or kind.list.atomic or not value:
            return None
        items = []
        for item in value:
            below = fields.get(kind.list.item_key(item))
            if below is not None:
                if is_member(below):
                    continue
                item = remove_items(item, below, kind.list.element)
            items.append(item)
        return items or None
    return value


def with_named_fields(fields: Fields, kind: Type | None) -> Fields:
    """The set, and with it every named field on the way to what it holds: these go when all in them does."""
    out: Fields = {}
    for key, below in fields.items():
        if not below:
            out[key] = below
            continue
        inner: Type | None = None
        named = False
        if kind is not None and kind.map is not None and key[:2] == "f:":
            field = kind.map.fields.get(key[2:])
            named = field is not None
            inner = kind.map.element if field is None else field.type
        elif kind is not None and kind.list is not None and key[:2] == "k:":
            inner = kind.list.element
        below = with_named_fields(below, inner)
        out[key] = {".": LEAF, **below} if named and "." not in below else below
    return out


def reconcile_atomics(fields: Fields, kind: Type) -> Fields:
    """The set after a change of the schema: fields in what has become atomic give way to the whole."""
    if kind.map is None:
        if kind.scalar or kind.list is None:
            return fields
    elif kind.map.deduced:
        return fields
    out = None
    for key, below in fields.items():
        if not below or key == ".":
            continue
        if kind.map is not None:
            field = kind.map.fields.get(key[2:]) if key[:2] == "f:" else None
            inner = kind.map.element if field is None else field.type
        else:
            inner = kind.list.element if kind.list is not None else None
        if inner is None:
            continue
        new = LEAF if _atomic(inner) else reconcile_atomics(below, inner)
        if new is not below:
            if out is None:
                out = fields.copy()
            out[key] = new
    return fields if out is None else out


def _atomic(kind: Type) -> bool:
    if kind.map is not None:
        return kind.map.atomic and not kind.map.deduced
    return not kind.scalar and kind.list is not None and kind.list.atomic
