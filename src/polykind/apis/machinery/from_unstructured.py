"""The errors of Go's FromUnstructured, which converts the result of a strategic merge patch to a built-in type."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Any

from polykind.apis.machinery import value_types as types
from polykind.apis.machinery.decoding import DecodeError
from polykind.apis.machinery.structs import Struct
from polykind.apis.machinery.value_types import ListOf, MapOf, String, ValueType
from polykind.golang.sorting import sorted_strings

_BYTE = types.Int("uint8", 8)
_GO_KINDS = {dict: "map", list: "slice", str: "string", bool: "bool", int: "int64", float: "float64"}


def conversion_error(value: Any, value_type: ValueType) -> str:
    """Return the error of Go's FromUnstructured for a value and a type. Fields are checked in their declared order.

    Return "" if the value is valid.
    """
    if value is None:
        return ""
    go_kind = _GO_KINDS[type(value)]
    if isinstance(value_type, Struct):
        if go_kind != "map":
            return f"cannot restore struct from: {go_kind}"
        type_meta = ((value.get(name), types.STRING) for name in ("kind", "apiVersion") if value_type.kind)
        return _first_error(chain(type_meta, ((value.get(field.name), field.type) for field in value_type.fields)))
    if isinstance(value_type, MapOf):
        if go_kind != "map":
            return f"cannot restore map from {go_kind}"
        return _first_error((value[key], value_type.item) for key in sorted_strings(value))
    if isinstance(value_type, ListOf | types.Wrapped) or (isinstance(value_type, types.Bytes) and go_kind != "string"):
        if go_kind != "slice":
            return f"cannot restore slice from {go_kind}"
        if isinstance(value_type, types.Wrapped):
            return ""
        item_type = value_type.item if isinstance(value_type, ListOf) else _BYTE
        return _first_error((item, item_type) for item in value)
    if isinstance(value_type, String | types.Bool | types.Int | types.Float):
        return _scalar_error(value, value_type, go_kind)
    try:
        types.decode_separately(value_type, value, None)
    except DecodeError as error:
        return f"error decoding from json: {error}" if isinstance(value_type, types.Bytes) else str(error)
    return ""


def _first_error(parts: Iterable[tuple[Any, ValueType]]) -> str:
    return next(filter(None, (conversion_error(value, value_type) for value, value_type in parts)), "")


def _scalar_error(value: Any, value_type: ValueType, go_kind: str) -> str:
    if isinstance(value_type, String):
        if go_kind == "int64":
            return f"cannot convert {go_kind} to {value_type.go}"
        return "" if go_kind == "string" else "unrecognized type: string"
    if isinstance(value_type, types.Bool):
        return "" if go_kind == "bool" else "unrecognized type: bool"
    if go_kind not in ("int64", "float64"):
        return f"unrecognized type: {value_type.go}"
    if isinstance(value_type, types.Int) and go_kind == "float64" and not value.is_integer():
        return f"cannot convert {go_kind} to {value_type.go}"
    return ""
