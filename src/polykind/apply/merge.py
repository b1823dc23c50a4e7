"""An applied configuration laid over an object, by the types of its fields."""

from __future__ import annotations

from typing import Any

from polykind.apply.model import MISSING, ListType, MapType, Type


def merge(live: Any, applied: Any, kind: Type) -> Any:
    """The live value with what is applied in it; nothing is taken away. Parts that do not change are shared."""
    if type(applied) is dict:
        fields = kind.map
        if fields is None or fields.atomic or type(live) is not dict or not live:
            return applied
        return _merge_maps(live, applied, fields) if applied else live
    if type(applied) is list:
        items = kind.list
        if items is None or items.atomic or type(live) is not list or not live:
            return applied
        return _merge_lists(live, applied, items) if applied else live
    if applied is None:
        return _merge_null(live, kind)
    return applied


def _merge_null(live: Any, kind: Type) -> Any:
    """A null is an empty map or list where there can be one: laid over what has items, it takes none away."""
    if kind.map is not None:
        keep = not kind.map.atomic and type(live) is dict
    elif kind.scalar:
        keep = False
    else:
        keep = kind.list is not None and not kind.list.atomic and type(live) is list
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
            kind = element if field is None else field.type
            if kind is not None:
                item = merge(before, item, kind)
                if item is before:
                    continue
                if type(item) is type(before) and type(item) is not dict and type(item) is not list and item == before:
                    continue
        if out is None:
            out = live.copy()
        out[name] = item
    return live if out is None else out


def _merge_lists(live: list[Any], applied: list[Any], items: ListType) -> list[Any]:
    """Items of both: shared ones in the order of the applied list, the others where they stood before."""
    ours = [items.item_key(item) for item in live]
    theirs = [items.item_key(item) for item in applied]
    if ours == theirs and len(set(ours)) == len(ours):
        merged = [merge(before, item, items.element) for before, item in zip(live, applied, strict=True)]
        return live if all(new is old for new, old in zip(merged, live, strict=True)) else merged
    old: dict[str, Any] = {}
    for key, item in zip(ours, live, strict=True):
        # Items that stand there more than once are not merged with what is applied.
        old[key] = None if key in old else item
    new = dict(zip(theirs, applied, strict=True))
    out: list[Any] = []
    shared = iter([key for key in theirs if key in old])
    next_shared = next(shared, None)
    done: set[str] = set()
    left = right = 0
    while left < len(ours) or right < len(theirs):
        if left < len(ours) and right < len(theirs):
            key = ours[left]
            if key == theirs[right]:
                done.add(key)
                out.append(merge(old[key], new[key], items.element))
                left, right, next_shared = left + 1, right + 1, next(shared, None)
                continue
            if key in new and next_shared is not None and next_shared != key:
                left += 1
                continue
        if left < len(ours):
            key = ours[left]
            if key not in new:
                out.append(live[left])
                left += 1
                continue
            if key in done:
                left += 1
        if right < len(theirs):
            key = theirs[right]
            done.add(key)
            out.append(merge(old[key], new[key], items.element) if key in old else new[key])
            right += 1
            if next_shared == key:
                next_shared = next(shared, None)
    return out
