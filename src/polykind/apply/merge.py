"""Merge of an applied configuration into an object, by the types of its fields."""

from __future__ import annotations

import operator
from typing import Any

from polykind.apply.model import MISSING, ListType, MapType, Type


def merge(live: Any, applied: Any, type_: Type) -> Any:
    """Return the live value with the applied value merged in. No field is removed. Unchanged parts are shared."""
    if type(applied) is dict:
        fields = type_.map
        if fields is None or fields.atomic or type(live) is not dict or not live:
            return applied
        return _merge_maps(live, applied, fields) if applied else live
    if type(applied) is list:
        items = type_.list
        if items is None or items.atomic or type(live) is not list or not live:
            return applied
        return _merge_lists(live, applied, items) if applied else live
    if applied is None:
        return _merge_null(live, type_)
    return applied


def _merge_null(live: Any, type_: Type) -> Any:
    """Return the result of applying null. Null is treated as an empty map or list, so a live map or list stays."""
    if type_.map is not None:
        keep = not type_.map.atomic and type(live) is dict
    elif type_.scalar:
        keep = False
    else:
        keep = type_.list is not None and not type_.list.atomic and type(live) is list
    return live if keep and live else None


def _merge_maps(live: dict[str, Any], applied: dict[str, Any], fields: MapType) -> dict[str, Any]:
    out = None
    named, element = fields.fields, fields.element
    for name, item in applied.items():
        before = live.get(name, MISSING)
        if before is not MISSING:
            if before is item:
                continue
            field = named.get(name)
            type_ = element if field is None else field.type
            if type_ is not None:
                item = merge(before, item, type_)
                if item is before:
                    continue
                if type(item) is type(before) and type(item) is not dict and type(item) is not list and item == before:
                    continue
        if out is None:
            out = live.copy()
        out[name] = item
    return live if out is None else out


def _merge_lists(live: list[Any], applied: list[Any], items: ListType) -> list[Any]:
    """Merge two lists. Applied items are in the order of the applied list. Other live items keep their position."""
    live_keys = [items.item_key(item) for item in live]
    applied_keys = [items.item_key(item) for item in applied]
    if live_keys == applied_keys and len(set(live_keys)) == len(live_keys):
        merged = [merge(before, item, items.element) for before, item in zip(live, applied, strict=True)]
        return live if all(map(operator.is_, merged, live)) else merged
    live_items: dict[str, Any] = {}
    for key, item in zip(live_keys, live, strict=True):
        # Duplicate live items are not merged with applied ones.
        live_items[key] = None if key in live_items else item
    applied_items = dict(zip(applied_keys, applied, strict=True))
    out: list[Any] = []
    shared_keys = iter([key for key in applied_keys if key in live_items])
    next_shared = next(shared_keys, None)
    merged_keys: set[str] = set()
    live_index = applied_index = 0
    while live_index < len(live_keys) or applied_index < len(applied_keys):
        if live_index < len(live_keys) and applied_index < len(applied_keys):
            key = live_keys[live_index]
            if key == applied_keys[applied_index]:
                merged_keys.add(key)
                out.append(merge(live_items[key], applied_items[key], items.element))
                live_index, applied_index, next_shared = live_index + 1, applied_index + 1, next(shared_keys, None)
                continue
            if key in applied_items and next_shared is not None and next_shared != key:
                live_index += 1
                continue
        if live_index < len(live_keys):
            key = live_keys[live_index]
            if key not in applied_items:
                out.append(live[live_index])
                live_index += 1
                continue
            if key in merged_keys:
                live_index += 1
        if applied_index < len(applied_keys):
            key = applied_keys[applied_index]
            merged_keys.add(key)
            out.append(
                merge(live_items[key], applied_items[key], items.element) if key in live_items else applied_items[key]
            )
            applied_index += 1
            if next_shared == key:
                next_shared = next(shared_keys, None)
    return out
