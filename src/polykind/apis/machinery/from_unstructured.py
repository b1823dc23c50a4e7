"""Go's FromUnstructured, which converts the results of strategic merge patches and of apply to a built-in type."""

from __future__ import annotations

from collections.abc import Iterable
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
        if value_type.kind and (error := _first_error([value.get("kind"), value.get("apiVersion")], types.STRING)):
            return error
        for field in value_type.fields:
            item = value.get(field.name)
            # Most fields are absent or plain, so check this without a call.
            if (
                item is not None
                and type(item) is not field.type.plain
                and (error := conversion_error(item, field.type))
            ):
                return error
        return ""
    if isinstance(value_type, MapOf):
        if go_kind != "map":
            return f"cannot restore map from {go_kind}"
        return _first_error([value[key] for key in sorted_strings(value)], value_type.item)
    if isinstance(value_type, ListOf | types.Wrapped) or (isinstance(value_type, types.Bytes) and go_kind != "string"):
        if go_kind != "slice":
            return f"cannot restore slice from {go_kind}"
        if isinstance(value_type, types.Wrapped):
            return ""
        return _first_error(value, value_type.item if isinstance(value_type, ListOf) else _BYTE)
    if isinstance(value_type, String | types.Bool | types.Int | types.Float):
        return _scalar_error(value, value_type, go_kind)
    try:
        types.decode_separately(value_type, value, None)
    except DecodeError as error:
        return f"error decoding from json: {error}" if isinstance(value_type, types.Bytes) else str(error)
    return ""


def _first_error(values: list[Any], value_type: ValueType) -> str:
    plain = value_type.plain
    for value in values:
        if type(value) is not plain and (error := conversion_error(value, value_type)):
            return error
    return ""


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


def wrap_integers(value: Any, value_type: ValueType) -> bool:
    """Wrap integers that are out of range, in place, as Go's FromUnstructured does. Return True if there was one."""
    if isinstance(value, dict) and isinstance(value_type, Struct):
        pairs: Iterable[tuple[Any, ValueType]] = ((field.name, field.type) for field in value_type.fields)
        return _wrap_members(value, ((key, item_type) for key, item_type in pairs if key in value))
    if isinstance(value, dict) and isinstance(value_type, MapOf):
        return _wrap_members(value, ((key, value_type.item) for key in value))
    if isinstance(value, list) and isinstance(value_type, ListOf):
        return _wrap_members(value, ((index, value_type.item) for index in range(len(value))))
    return False


def _wrap_members(container: Any, members: Iterable[tuple[Any, ValueType]]) -> bool:
    wrapped = False
    for key, member_type in members:
        value = container[key]
        if isinstance(member_type, types.Int) and type(value) is int:
            if not member_type.holds(value):
                container[key] = (value + member_type.bound) % (2 * member_type.bound) - member_type.bound
                wrapped = True
        elif wrap_integers(value, member_type):
            wrapped = True
    return wrapped
