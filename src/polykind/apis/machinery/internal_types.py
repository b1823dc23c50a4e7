"""The JSON of kube-apiserver's internal Go types, which some error messages show.

This JSON has the Go names of the fields, and it contains all fields, even those that are not set.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, NamedTuple

import orjson

from polykind.apis.meta.types import OBJECT_META
from polykind.contract import JsonObject
from polykind.golang.json import escape_html, go_json

METADATA = "@metadata"
"""A field name that stands for an embedded ObjectMeta. Its fields have their JSON names and are omitted if unset."""

_METADATA_ORDER = tuple(field.name for field in OBJECT_META.fields)
_SELECTOR_ORDER = ("matchLabels", "matchExpressions")
_ZERO_VALUES = {"": "", "int": 0, "bool": False, "quantity": "0", "*": None}
_leading_capitals = re.compile(r"^(?:[A-Z]+(?=[A-Z][a-z])|[A-Z]+$|[A-Z])")


class _Field(NamedTuple):
    """A field of an internal Go struct. `json_name` is its name in the API. `prefix` is `*`, `[]` or empty."""

    name: str
    json_name: str
    prefix: str
    type: str


class InternalTypes:
    """Declarations of internal Go structs. Each line of `text` has the name of a struct and its fields, in Go's order.

    A field is written as `Name`, `Name:type` or `Name:type=jsonName`. The type is empty for a string, `int`, `bool`,
    `quantity`, `*` for any other value that is null if unset, or a struct: `Struct`, `*Struct` or `[]Struct`.
    """

    def __init__(self, text: str, *included: InternalTypes) -> None:
        self._text = text
        self._included = included

    @cached_property
    def structs(self) -> Mapping[str, tuple[_Field, ...]]:
        """The fields of each struct, by the name of the struct."""
        structs: dict[str, tuple[_Field, ...]] = {}
        for types in self._included:
            structs.update(types.structs)
        # In `text`, a line that starts with a space continues the previous line.
        for line in self._text.strip().replace("\n ", " ").splitlines():
            name, *fields = line.split()
            structs[name] = tuple(map(_parse_field, fields))
        return structs

    def show(self, struct: str, value: JsonObject | None) -> orjson.Fragment | None:
        """Return the JSON of an object as the internal type `struct`, for an error message.

        Return None, which the message shows as null, if the object is None.
        """
        return None if value is None else orjson.Fragment(escape_html(self._struct(struct, value).encode()))

    def _struct(self, struct: str, value: JsonObject) -> str:
        return f"{{{','.join(self._members(struct, value))}}}"

    def _members(self, struct: str, value: JsonObject) -> Iterator[str]:
        for field in self.structs[struct]:
            if field.name == METADATA:
                metadata = value.get("metadata") or {}
                yield from (
                    f'"{name}":{go_json(metadata[name])}' for name in _METADATA_ORDER if metadata.get(name) is not None
                )
            else:
                yield f'"{field.name}":{self._value(field, value.get(field.json_name))}'

    def _value(self, field: _Field, value: Any) -> str:
        if field.type in _ZERO_VALUES:
            return _plain(_ZERO_VALUES[field.type] if value is None else value)
        if field.prefix == "[]":
            return "null" if value is None else f"[{','.join(self._struct(field.type, item) for item in value)}]"
        if value is None and field.prefix == "*":
            return "null"
        return self._struct(field.type, value or {})


def _parse_field(text: str) -> _Field:
    declared, _, json_name = text.partition("=")
    name, _, type_ = declared.partition(":")
    prefix = "[]" if type_.startswith("[]") else "*" if type_.startswith("*") and type_ != "*" else ""
    return _Field(name, json_name or _default_json_name(name), prefix, type_.removeprefix(prefix))


def _default_json_name(go_name: str) -> str:
    return _leading_capitals.sub(lambda match: match[0].lower(), go_name, count=1)


def _plain(value: Any) -> str:
    if isinstance(value, dict) and value.keys() <= set(_SELECTOR_ORDER):
        return _selector_text(value)
    return go_json(value)


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
