"""Replacement of empty lists and maps by null, as in objects that kube-apiserver has stored.

kube-apiserver stores built-in objects as protobuf messages, which cannot tell an empty list from an absent one. If a
client sends `"ports": []` for a field that Go always writes, the stored object has `"ports": null`.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any, NamedTuple

from polykind.apis.machinery.structs import Struct
from polykind.apis.machinery.value_types import ListOf, MapOf, ValueType
from polykind.contract import JsonObject


class _Step(NamedTuple):
    """A field to visit: a required list or map, or a field that contains structs (`struct`) with such fields."""

    name: str
    is_required: bool
    type: ValueType
    struct: Struct | None


def null_empty_lists(obj: JsonObject, struct: Struct) -> None:
    """Replace, in place, the empty lists and maps of required fields by null."""
    for name, is_required, value_type, inner in _steps(struct):
        value = obj.get(name)
        if value:
            if inner is not None:
                for item in _structs(value, value_type):
                    null_empty_lists(item, inner)
        elif is_required and value is not None:
            obj[name] = None


def _structs(value: Any, value_type: ValueType) -> Iterable[JsonObject]:
    if isinstance(value_type, ListOf):
        return (item for item in value if item)
    return (item for item in value.values() if item) if isinstance(value_type, MapOf) else (value,)


@cache
def _steps(struct: Struct) -> tuple[_Step, ...]:
    return tuple(_find_steps(struct, frozenset()))


def _find_steps(struct: Struct, outer: frozenset[Struct]) -> list[_Step]:
    found = []
    for field in struct.fields:
        collection = field.type if isinstance(field.type, ListOf | MapOf) else None
        item = collection.item if collection is not None else field.type
        is_required = collection is not None and field.always and not field.pointer
        inner = item if isinstance(item, Struct) and item not in outer else None
        if inner is not None and not _find_steps(inner, outer | {struct}):
            inner = None
        if is_required or inner is not None:
            found.append(_Step(field.name, is_required, field.type, inner))
    return found
