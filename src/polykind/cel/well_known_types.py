"""Protobuf's well-known types. Constructing one, such as Int64Value{value: 1}, returns the CEL value for it."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

from polykind.cel import cel_types
from polykind.cel.arithmetic import MAX_INT, MIN_INT
from polykind.cel.ast import UInt
from polykind.cel.cel_types import DYN, Type, WrapperType, list_of, map_of
from polykind.cel.evaluation_errors import EvalError
from polykind.cel.runtime_values import (
    ConstructedList,
    ConstructedMap,
    ConstructedObject,
    Duration,
    MapList,
    Optional,
    SchemaObject,
    SetList,
    Timestamp,
    kind_of,
    runtime_type,
)
from polykind.cel.to_native import UnconvertibleError, conversion_type_name, to_json

EMPTY_TYPE = cel_types.struct_type("google.protobuf.Empty")
ENUM_CONSTANTS = {"google.protobuf.NullValue.NULL_VALUE": 0}
_BITS = {"int32": 31, "int64": 63, "uint32": 32, "uint64": 64}
_VALUE_KINDS = {
    "bool": "bool",
    "float32": "double",
    "float64": "double",
    "string": "string",
    "[]uint8": "bytes",
    "*structpb.Struct": "map",
    "*structpb.ListValue": "list",
} | {native: native.rstrip("0123456789") for native in _BITS}
"""The kind of value that a message field accepts, by the Go type of the field."""
_ERROR_TYPE_NAMES = {
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
    "bool": cel_types.BOOL,
    "[]uint8": cel_types.BYTES,
    "float64": cel_types.DOUBLE,
    "float32": cel_types.DOUBLE,
    "int64": cel_types.INT,
    "int32": cel_types.INT,
    "uint64": cel_types.UINT,
    "uint32": cel_types.UINT,
    "string": cel_types.STRING,
    "*structpb.Struct": map_of(cel_types.STRING, DYN),
    "*structpb.ListValue": list_of(DYN),
}


_SCHEMA_VALUES = (SchemaObject, SetList, MapList)
"""Classes of values that are typed by a schema. No message field accepts such a value directly."""


class WellKnownType(NamedTuple):
    """A message type: the CEL type of its values, the Go types of its fields, and its constructor."""

    type: Type
    fields: Mapping[str, str]
    construct: Callable[[dict[str, Any]], Any]

    def field(self, name: str) -> Type | None:
        native = self.fields.get(name)
        return _FIELD_TYPES[native] if native is not None else None


def message_constructor(name: str) -> Callable[[dict[str, Any]], Any]:
    """Return a function that constructs a value from fields. It raises EvalError for an unsupported type."""
    message = WELL_KNOWN_TYPES.get(name)
    if message is None or name in _ALIASES:
        return partial(_raise_unknown_type, name)
    return partial(_construct, name, message)


def _raise_unknown_type(name: str, fields: dict[str, Any]) -> Any:
    raise EvalError(f"unknown type '{name}'")


def _construct(name: str, message: WellKnownType, fields: dict[str, Any]) -> Any:
    converted: dict[str, Any] = {}
    for field, value in fields.items():
        native = message.fields[field]
        if name in (_STRUCT, _LIST):
            if kind_of(value) != _VALUE_KINDS[native]:
                raise EvalError(f"unsupported field type for {name}.{field}: {runtime_type(value)}")
            value = _unwrap_schema_value(value)
        try:
            converted[field] = _to_field(value, native)
        except UnconvertibleError as error:
            raise EvalError(f"field type conversion error for {name}.{field} value type: {error}") from None
    return message.construct(converted)


def _unwrap_schema_value(value: Any) -> Any:
    """Return a plain map or list for an object or list of a schema. Nested values are left as they are."""
    if isinstance(value, SchemaObject):
        return {name: value.get(name) for name in value.names() if value.has(name)}
    return list(value) if isinstance(value, list) else value


def _to_field(value: Any, native: str) -> Any:
    kind = kind_of(value)
    if kind == _VALUE_KINDS[native] and not isinstance(value, _SCHEMA_VALUES):
        if kind in ("map", "list"):
            return _from_json_value(to_json(value))
        if native == "float32":
            return _to_float32(value)
        if native in _BITS and not -(2 ** _BITS[native]) <= value < 2 ** _BITS[native]:
            raise UnconvertibleError("integer overflow" if kind == "int" else "unsigned integer overflow")
        return value
    if isinstance(value, Optional):
        if not value.present:
            raise UnconvertibleError("optional.none() dereference")
        return _to_field(value.value, native)
    if kind == "string":
        raise UnconvertibleError(f"unsupported native conversion from string to '{native}'")
    if kind in ("int", "uint"):
        raise UnconvertibleError(f"unsupported type conversion from '{kind}' to {native}")
    if kind == "type":
        raise UnconvertibleError("type conversion not supported for 'type'")
    type_name = _ERROR_TYPE_NAMES.get(kind) if not isinstance(value, _SCHEMA_VALUES) else None
    raise UnconvertibleError(
        f"type conversion error from {type_name or repr(conversion_type_name(value))} to '{native}'"
    )


def _to_float32(value: float) -> float:
    """Round a number to the nearest float32."""
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _from_json_value(value: Any) -> Any:
    """Convert the JSON of a Struct or ListValue to CEL values. All numbers become doubles."""
    if isinstance(value, dict):
        return ConstructedMap({key: _from_json_value(item) for key, item in value.items()})
    if isinstance(value, list):
        return ConstructedList([_from_json_value(item) for item in value])
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _nanoseconds(fields: dict[str, Any]) -> int:
    return int(fields.get("seconds", 0)) * 10**9 + int(fields.get("nanos", 0))


def _value(fields: dict[str, Any]) -> Any:
    """Construct a google.protobuf.Value: return the value of the last field that the expression sets.

    If this field is null_value, return None. The field's number is ignored.
    """
    name, value = next(reversed(fields.items()), ("null_value", 0))
    return None if name == "null_value" else value


def _wrapper(native: str, empty: Any) -> WellKnownType:
    return WellKnownType(
        WrapperType(_FIELD_TYPES[native]), {"value": native}, lambda fields: fields.get("value", empty)
    )


_STRUCT, _LIST = "google.protobuf.Struct", "google.protobuf.ListValue"
_TIME_FIELDS = {"seconds": "int64", "nanos": "int32"}
_VALUE_FIELDS = {
    "null_value": "int32",
    "number_value": "float64",
    "string_value": "string",
    "bool_value": "bool",
    "struct_value": "*structpb.Struct",
    "list_value": "*structpb.ListValue",
}
WELL_KNOWN_TYPES: dict[str, WellKnownType] = {
    "google.protobuf.BoolValue": _wrapper("bool", False),
    "google.protobuf.BytesValue": _wrapper("[]uint8", b""),
    "google.protobuf.DoubleValue": _wrapper("float64", 0.0),
    "google.protobuf.FloatValue": _wrapper("float32", 0.0),
    "google.protobuf.Int64Value": _wrapper("int64", 0),
    "google.protobuf.Int32Value": _wrapper("int32", 0),
    "google.protobuf.UInt64Value": _wrapper("uint64", UInt(0)),
    "google.protobuf.UInt32Value": _wrapper("uint32", UInt(0)),
    "google.protobuf.StringValue": _wrapper("string", ""),
    "google.protobuf.Timestamp": WellKnownType(
        cel_types.TIMESTAMP, _TIME_FIELDS, lambda fields: Timestamp(_nanoseconds(fields))
    ),
    "google.protobuf.Duration": WellKnownType(
        cel_types.DURATION, _TIME_FIELDS, lambda fields: Duration(max(MIN_INT, min(_nanoseconds(fields), MAX_INT)))
    ),
    "google.protobuf.Value": WellKnownType(DYN, _VALUE_FIELDS, _value),
    _STRUCT: WellKnownType(
        map_of(cel_types.STRING, DYN),
        {"fields": "*structpb.Struct"},
        lambda fields: fields.get("fields", ConstructedMap()),
    ),
    _LIST: WellKnownType(
        list_of(DYN), {"values": "*structpb.ListValue"}, lambda fields: fields.get("values", ConstructedList())
    ),
    EMPTY_TYPE.name: WellKnownType(EMPTY_TYPE, {}, partial(ConstructedObject, EMPTY_TYPE)),
}
"""Well-known types by name. google.protobuf.Any is missing because it needs the descriptors of all messages."""
_ALIASES = {"timestamp": "google.protobuf.Timestamp", "duration": "google.protobuf.Duration"}
"""Names that the checker accepts as message types. Constructing a value with such a name fails at runtime."""
WELL_KNOWN_TYPES |= {alias: WELL_KNOWN_TYPES[name] for alias, name in _ALIASES.items()}
REGISTERED_TYPES = frozenset({"google.protobuf.Timestamp", "google.protobuf.Duration", EMPTY_TYPE.name})
"""Message types whose names can be used as values at runtime, for example in type(x) == google.protobuf.Duration."""
