"""Protobuf's well-known messages: expressions may make them, and have at once what they stand for."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

from polykind.cel import types
from polykind.cel.arithmetic import LEAST, MOST
from polykind.cel.failures import EvalError
from polykind.cel.native import UnconvertibleError, json_value, named
from polykind.cel.tree import UInt
from polykind.cel.types import DYN, Nullable, Type, list_of, map_of
from polykind.cel.values import (
    BuiltList,
    BuiltMap,
    Duration,
    Made,
    MapList,
    Obj,
    Optional,
    SetList,
    Timestamp,
    kind_of,
    type_value,
)

EMPTY = types.struct("google.protobuf.Empty")
CONSTANTS = {"google.protobuf.NullValue.NULL_VALUE": 0}
_BITS = {"int32": 31, "int64": 63, "uint32": 32, "uint64": 64}
_FITTING = {
    "bool": "bool",
    "float32": "double",
    "float64": "double",
    "string": "string",
    "[]uint8": "bytes",
    "*structpb.Struct": "map",
    "*structpb.ListValue": "list",
} | {native: native.rstrip("0123456789") for native in _BITS}
"""By Go's types of fields: the kind of value that they take."""
_QUOTED = {
    "double": "Double",
    "null": "'null_type'",
    "bool": "bool",
    "list": "list",
    "map": "map",
    "bytes": "Bytes",
    "timestamp": "'Timestamp'",
    "duration": "'Duration'",
}
_FIELD_TYPES = {
    "bool": types.BOOL,
    "[]uint8": types.BYTES,
    "float64": types.DOUBLE,
    "float32": types.DOUBLE,
    "int64": types.INT,
    "int32": types.INT,
    "uint64": types.UINT,
    "uint32": types.UINT,
    "string": types.STRING,
    "*structpb.Struct": map_of(types.STRING, DYN),
    "*structpb.ListValue": list_of(DYN),
}


_DESCRIBED = (Obj, SetList, MapList)
"""What a schema describes, which no message takes in."""


class Message(NamedTuple):
    """A message: the type that its values have in expressions, its fields by Go's types, and what is made of them."""

    type: Type
    fields: Mapping[str, str]
    make: Callable[[dict[str, Any]], Any]

    def field(self, name: str) -> Type | None:
        native = self.fields.get(name)
        return _FIELD_TYPES[native] if native is not None else None


def maker(name: str) -> Callable[[dict[str, Any]], Any]:
    """Makes a value of a type of its fields; of types that expressions only get values of, it fails."""
    message = MESSAGES.get(name)
    return partial(_unknown, name) if message is None or name in _ALIASES else partial(_made, name, message)


def _unknown(name: str, fields: dict[str, Any]) -> Any:
    raise EvalError(f"unknown type '{name}'")


def _made(name: str, message: Message, fields: dict[str, Any]) -> Any:
    given: dict[str, Any] = {}
    for field, value in fields.items():
        native = message.fields[field]
        if name in (_STRUCT, _LIST):
            if kind_of(value) != _FITTING[native]:
                raise EvalError(f"unsupported field type for {name}.{field}: {type_value(value)}")
            value = _opened(value)
        try:
            given[field] = _converted(value, native)
        except UnconvertibleError as wrong:
            raise EvalError(f"field type conversion error for {name}.{field} value type: {wrong}") from None
    return message.make(given)


def _opened(value: Any) -> Any:
    """A map or a list whose items are taken one by one, whatever describes it as a whole."""
    if isinstance(value, Obj):
        return {name: value.get(name) for name in value.names() if value.has(name)}
    return list(value) if isinstance(value, list) else value


def _converted(value: Any, native: str) -> Any:
    kind = kind_of(value)
    if kind == _FITTING[native] and not isinstance(value, _DESCRIBED):
        if kind in ("map", "list"):
            return _as_made(json_value(value))
        if native == "float32":
            return _single(value)
        if native in _BITS and not -(2 ** _BITS[native]) <= value < 2 ** _BITS[native]:
            raise UnconvertibleError("integer overflow" if kind == "int" else "unsigned integer overflow")
        return value
    if isinstance(value, Optional):
        if not value.present:
            raise UnconvertibleError("optional.none() dereference")
        return _converted(value.value, native)
    if kind == "string":
        raise UnconvertibleError(f"unsupported native conversion from string to '{native}'")
    if kind in ("int", "uint"):
        raise UnconvertibleError(f"unsupported type conversion from '{kind}' to {native}")
    if kind == "type":
        raise UnconvertibleError("type conversion not supported for 'type'")
    told = _QUOTED.get(kind) if not isinstance(value, _DESCRIBED) else None
    raise UnconvertibleError(f"type conversion error from {told or repr(named(value))} to '{native}'")


def _single(value: float) -> float:
    """The nearest number of single precision."""
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _as_made(value: Any) -> Any:
    """JSON as expressions see it that comes out of messages: all its numbers are doubles."""
    if isinstance(value, dict):
        return BuiltMap({key: _as_made(item) for key, item in value.items()})
    if isinstance(value, list):
        return BuiltList([_as_made(item) for item in value])
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _moment(fields: dict[str, Any]) -> int:
    return int(fields.get("seconds", 0)) * 10**9 + int(fields.get("nanos", 0))


def _value(fields: dict[str, Any]) -> Any:
    """Whichever was given; a null is a null, whatever its number."""
    name, value = next(reversed(fields.items()), ("null_value", 0))
    return None if name == "null_value" else value


def _wrapper(native: str, empty: Any) -> Message:
    return Message(Nullable(_FIELD_TYPES[native]), {"value": native}, lambda fields: fields.get("value", empty))


_STRUCT, _LIST = "google.protobuf.Struct", "google.protobuf.ListValue"
_TIME = {"seconds": "int64", "nanos": "int32"}
_VALUES = {
    "null_value": "int32",
    "number_value": "float64",
    "string_value": "string",
    "bool_value": "bool",
    "struct_value": "*structpb.Struct",
    "list_value": "*structpb.ListValue",
}
MESSAGES: dict[str, Message] = {
    "google.protobuf.BoolValue": _wrapper("bool", False),
    "google.protobuf.BytesValue": _wrapper("[]uint8", b""),
    "google.protobuf.DoubleValue": _wrapper("float64", 0.0),
    "google.protobuf.FloatValue": _wrapper("float32", 0.0),
    "google.protobuf.Int64Value": _wrapper("int64", 0),
    "google.protobuf.Int32Value": _wrapper("int32", 0),
    "google.protobuf.UInt64Value": _wrapper("uint64", UInt(0)),
    "google.protobuf.UInt32Value": _wrapper("uint32", UInt(0)),
    "google.protobuf.StringValue": _wrapper("string", ""),
    "google.protobuf.Timestamp": Message(types.TIMESTAMP, _TIME, lambda fields: Timestamp(_moment(fields))),
    "google.protobuf.Duration": Message(
        types.DURATION, _TIME, lambda fields: Duration(max(LEAST, min(_moment(fields), MOST)))
    ),
    "google.protobuf.Value": Message(DYN, _VALUES, _value),
    _STRUCT: Message(
        map_of(types.STRING, DYN), {"fields": "*structpb.Struct"}, lambda fields: fields.get("fields", BuiltMap())
    ),
    _LIST: Message(list_of(DYN), {"values": "*structpb.ListValue"}, lambda fields: fields.get("values", BuiltList())),
    EMPTY.name: Message(EMPTY, {}, partial(Made, EMPTY)),
}
"""By name. Not among them is Any, which would need all messages there are."""
_ALIASES = {"timestamp": "google.protobuf.Timestamp", "duration": "google.protobuf.Duration"}
"""Names that pass for those of messages until a value is to be made."""
MESSAGES |= {alias: MESSAGES[name] for alias, name in _ALIASES.items()}
REGISTERED = frozenset({"google.protobuf.Timestamp", "google.protobuf.Duration", EMPTY.name})
"""Those whose names are types as well."""
