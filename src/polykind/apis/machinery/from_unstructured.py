"""Built-in types made of objects in memory, as strategic merge patches make them: what does not fit has other words."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Any

from polykind.apis.machinery.decoding import DecodeError
from polykind.apis.machinery.fields import (
    STRING,
    Bool,
    Bytes,
    Float,
    Int,
    Kind,
    ListOf,
    MapOf,
    String,
    Struct,
    Wrapped,
    nested,
)

_BYTE = Int("uint8", 8)
_FORMS = {dict: "map", list: "slice", str: "string", bool: "bool", int: "int64", float: "float64"}


def complaint(value: Any, kind: Kind) -> str:
    """Why no value of a kind can be made of this one, the first reason in the order of fields; nothing if it can."""
    if value is None:
        return ""
    form = _FORMS[type(value)]
    if isinstance(kind, Struct):
        if form != "map":
            return f"cannot restore struct from: {form}"
        stated = ((value.get(name), STRING) for name in ("kind", "apiVersion") if kind.kind)
        return _first(chain(stated, ((value.get(field.name), field.kind) for field in kind.fields)))
    if isinstance(kind, MapOf):
        if form != "map":
            return f"cannot restore map from {form}"
        return _first((value[key], kind.item) for key in sorted(value))
    if isinstance(kind, ListOf | Wrapped) or (isinstance(kind, Bytes) and form != "string"):
        if form != "slice":
            return f"cannot restore slice from {form}"
        if isinstance(kind, Wrapped):
            return ""
        item_kind = kind.item if isinstance(kind, ListOf) else _BYTE
        return _first((item, item_kind) for item in value)
    if isinstance(kind, String | Bool | Int | Float):
        return _scalar_complaint(value, kind, form)
    try:
        nested(kind, value, None)
    except DecodeError as error:
        return f"error decoding from json: {error}" if isinstance(kind, Bytes) else str(error)
    return ""


def _first(parts: Iterable[tuple[Any, Kind]]) -> str:
    return next(filter(None, (complaint(value, kind) for value, kind in parts)), "")


def _scalar_complaint(value: Any, kind: Kind, form: str) -> str:
    if isinstance(kind, String):
        if form == "int64":
            return f"cannot convert {form} to {kind.go}"
        return "" if form == "string" else "unrecognized type: string"
    if isinstance(kind, Bool):
        return "" if form == "bool" else "unrecognized type: bool"
    if form not in ("int64", "float64"):
        return f"unrecognized type: {kind.go}"
    if isinstance(kind, Int) and form == "float64" and not value.is_integer():
        return f"cannot convert {form} to {kind.go}"
    return ""
