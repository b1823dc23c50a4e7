"""The JSON of kube-apiserver's internal Go types, which some error messages show.

This JSON has the Go names of the fields, and it contains all fields, even those that are not set. The internal types
follow from the declared types. Where their fields have another order, the table has a line that starts with `internal`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from polykind.apis.machinery.structs import Field, Struct
from polykind.apis.machinery.value_types import ListOf
from polykind.apis.meta.types import LABEL_SELECTOR, OBJECT_META
from polykind.contract import JsonObject
from polykind.golang.json import escape_html, go_json

_SELECTOR_ORDER = ("matchLabels", "matchExpressions")


def show_internal(struct: Struct, value: JsonObject | None) -> orjson.Fragment | None:
    """Return the JSON of an object as the internal type of `struct`, for an error message.

    Return None, which the message shows as null, if the object is None.
    """
    return None if value is None else orjson.Fragment(escape_html(_struct(struct, value).encode()))


def _struct(struct: Struct, value: JsonObject) -> str:
    return f"{{{','.join(_members(struct, value))}}}"


def _members(struct: Struct, value: JsonObject) -> Iterator[str]:
    for field in struct.internal:
        item = value.get(field.name)
        if field.type is OBJECT_META:
            # The metadata is embedded, and its type is the same as in the API.
            yield from _metadata(item or {})
        else:
            yield f'"{field.go}":{_value(field, item)}'


def _metadata(metadata: JsonObject) -> Iterator[str]:
    names = (field.name for field in OBJECT_META.fields)
    return (f'"{name}":{go_json(metadata[name])}' for name in names if metadata.get(name) is not None)


def _value(field: Field, value: Any) -> str:
    value_type, pointer = field.type, field.pointer and not field.internal_value
    if value is None and (pointer or isinstance(value_type, ListOf)):
        return "null"
    if value_type is LABEL_SELECTOR:
        return _selector_text(value or {})
    if isinstance(value_type, Struct):
        return _struct(value_type, value or {})
    if isinstance(value_type, ListOf) and isinstance(value_type.item, Struct):
        return f"[{','.join(_struct(value_type.item, item) for item in value)}]"
    return go_json(value_type.zero() if value is None else value)


def _selector_text(selector: JsonObject) -> str:
    # Go writes fields in the order of their declaration: first matchLabels, then matchExpressions.
    members = (f'"{name}":{go_json(selector[name])}' for name in _SELECTOR_ORDER if selector.get(name))
    return f"{{{','.join(members)}}}"


def show_json(value: Any) -> orjson.Fragment:
    """Return a value as JSON for an error message. Go shows a string in this way if its type is not plain `string`."""
    return orjson.Fragment(go_json(value))


def show_label_selector(selector: JsonObject | None) -> orjson.Fragment | None:
    """Return a LabelSelector as JSON for an error message. Return None, which the message shows as null, for None."""
    return None if selector is None else orjson.Fragment(escape_html(_selector_text(selector).encode()))
