"""Removal of fields from values, and adaptation of field sets to types."""

from __future__ import annotations

from typing import Any

from polykind.apply.fieldset import LEAF, Fields, is_member
from polykind.apply.model import DEDUCED, Type


def remove_items(value: Any, fields: Fields, type_: Type) -> Any:
    """Return the value without the fields and items of the set, None if nothing is left."""
    if type(value) is dict:
        if type_.map is None or type_.map.atomic or not value:
            return None
        out = {}
        is_named, element = type_.map.fields, type_.map.element or DEDUCED
        for name, item in value.items():
            below = fields.get(f"f:{name}")
            if below is not None:
                if is_member(below):
                    continue
                field = is_named.get(name)
                item = remove_items(item, below, element if field is None else field.type)
            out[name] = item
        return out or None
    if type(value) is list:
        if type_.list is None or type_.list.atomic or not value:
            return None
        items = []
        for item in value:
            below = fields.get(type_.list.item_key(item))
            if below is not None:
                if is_member(below):
                    continue
                item = remove_items(item, below, type_.list.element)
            items.append(item)
        return items or None
    return value


def with_named_fields(fields: Fields, type_: Type | None) -> Fields:
    """Add to the set all named fields on the path to its members. They are removed when they become empty."""
    out: Fields = {}
    for key, below in fields.items():
        if not below:
            out[key] = below
            continue
        element_type: Type | None = None
        is_named = False
        if type_ is not None and type_.map is not None and key[:2] == "f:":
            field = type_.map.fields.get(key[2:])
            is_named = field is not None
            element_type = type_.map.element if field is None else field.type
        elif type_ is not None and type_.list is not None and key[:2] == "k:":
            element_type = type_.list.element
        below = with_named_fields(below, element_type)
        out[key] = {".": LEAF, **below} if is_named and "." not in below else below
    return out


def reconcile_atomics(fields: Fields, type_: Type) -> Fields:
    """Adapt the set to a changed schema: members inside a value that has become atomic become the value itself."""
    if type_.map is None:
        if type_.scalar or type_.list is None:
            return fields
    elif type_.map.deduced:
        return fields
    out = None
    for key, below in fields.items():
        if not below or key == ".":
            continue
        if type_.map is not None:
            field = type_.map.fields.get(key[2:]) if key[:2] == "f:" else None
            element_type = type_.map.element if field is None else field.type
        else:
            element_type = type_.list.element if type_.list is not None else None
        if element_type is None:
            continue
        new = LEAF if _atomic(element_type) else reconcile_atomics(below, element_type)
        if new is not below:
            if out is None:
                out = fields.copy()
            out[key] = new
    return fields if out is None else out


def _atomic(type_: Type) -> bool:
    if type_.map is not None:
        return type_.map.atomic and not type_.map.deduced
    return not type_.scalar and type_.list is not None and type_.list.atomic
