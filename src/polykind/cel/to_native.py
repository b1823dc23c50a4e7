"""Conversion of runtime values to JSON, or to the native Go values that kube-apiserver merges and prints."""

from __future__ import annotations

import base64
import math
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from types import NoneType
from typing import Any

from polykind.cel import timestamps
from polykind.cel.ast import UInt
from polykind.cel.cel_types import Type
from polykind.cel.evaluation_errors import NO_OVERLOAD
from polykind.cel.runtime_values import (
    ConcatList,
    ConstructedList,
    ConstructedMap,
    ConstructedObject,
    Duration,
    MapList,
    OpaqueValue,
    Optional,
    SchemaObject,
    SetList,
    StringList,
    Timestamp,
    kind_of,
)
from polykind.contract import JsonObject
from polykind.golang.duration import format_duration
from polykind.golang.fmt import GoValue, go_float, go_quote

_MAX_SAFE_INTEGER = 2**53 - 1
_GO_TYPES_BY_KIND = {"null": "structpb.NullValue", "int": "int64", "double": "float64", "list": "[]ref.Val"}
_GO_KEY_TYPES = {"int": "types.Int", "uint": "types.Uint", "bool": "types.Bool", "double": "types.Double"}
_KEY_ERRORS = {
    "int": "unsupported type conversion from 'int' to string",
    "uint": "unsupported type conversion from 'uint' to string",
    "bool": "type conversion error from bool to 'string'",
    "double": "type conversion error from Double to 'string'",
}


class UnconvertibleError(Exception):
    """A value has no native Go or JSON representation. The message is the same as cel-go's."""


def type_name_errors(value: Any, path: str) -> list[str]:
    """Return an error for every nested object whose type name does not match the object's field path."""
    errors: list[str] = []
    if isinstance(value, ConstructedObject):
        if value.type.name != path:
            errors.append(
                f"unexpected type name {go_quote(value.type.name)}, expected {go_quote(path)}, which matches field "
                "name path from root Object type"
            )
        for name, item in value.fields.items():
            errors += type_name_errors(item, f"{path}.{name}")
    elif isinstance(value, ConstructedList | ConstructedMap):
        for item in value if isinstance(value, ConstructedList) else value.values():
            errors += type_name_errors(item, path)
    return errors


def object_to_native(obj: ConstructedObject) -> JsonObject:
    """Return the fields as JSON, or as GoValue if JSON cannot represent them.

    Raise UnconvertibleError if a map key is not a string.
    """
    return {name: _field(name, value) for name, value in obj.fields.items()}


def _field(name: str, value: Any) -> Any:
    if isinstance(value, ConstructedList):
        return [_value(item) for item in value]
    if not isinstance(value, ConstructedMap):
        return _value(value)
    for key in value:
        if not isinstance(key, str):
            kind = _GO_KEY_TYPES.get(kind_of(key), "types.Val")
            reason = f"map key {_go_format_q(key)} is of type {kind}, not string"
            raise UnconvertibleError(f"fail to convert field {go_quote(name)}: {reason}")
    return {key: _value(item) for key, item in value.items()}


def _go_format_q(key: Any) -> str:
    """Format a map key as Go's %q does. For a number, %q prints the character with that code point."""
    if isinstance(key, bool):
        return f"%!q(types.Bool={'true' if key else 'false'})"
    if isinstance(key, int) and 0 <= key < 0x110000:
        quoted = go_quote(chr(key))[1:-1]
        return "'" + {'\\"': '"', "'": "\\'"}.get(quoted, quoted) + "'"
    return f"%!q(types.Double={go_float(key)})" if isinstance(key, float) else "'�'"


def _value(value: Any) -> Any:
    if isinstance(value, Optional):
        return _value(value.value) if value.present else None
    if isinstance(value, ConcatList):
        return [_value(item) for item in value]
    if isinstance(value, ConstructedObject):
        try:
            return object_to_native(value)
        except UnconvertibleError as error:
            return GoValue(str(error), str(error), "*types.Err")
    if isinstance(value, OpaqueValue):
        return GoValue(NO_OVERLOAD, NO_OVERLOAD, "*types.Err")
    if isinstance(value, Type):
        return "type" if value.kind == "struct" else value.name
    if type(value) in (bool, int, float, str, list, dict):
        return value
    return GoValue(_go_format_v(value), _go_format_sharp_v(value), go_type(value))


def go_type(value: Any) -> str:
    """Return the Go type of a value."""
    if isinstance(value, GoValue):
        return value.type
    if isinstance(value, UInt):
        return "uint64"
    by_class = {Timestamp: "time.Time", Duration: "time.Duration", bytes: "[]uint8", StringList: "[]string"}
    kind = kind_of(value)
    if kind == "map":
        return "map[ref.Val]ref.Val" if isinstance(value, ConstructedMap) else "map[string]interface {}"
    return by_class.get(type(value)) or _GO_TYPES_BY_KIND.get(kind) or kind


def _go_format_v(value: Any) -> str:
    """Format a native value as Go's %v does."""
    if value is None:
        return "NULL_VALUE"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return go_float(value)
    if isinstance(value, bytes):
        return f"[{' '.join(map(str, value))}]"
    if isinstance(value, list):
        return f"[{' '.join(map(value_string, value))}]"
    if isinstance(value, dict):
        return f"map[{' '.join(sorted(f'{value_string(key)}:{value_string(item)}' for key, item in value.items()))}]"
    if isinstance(value, Timestamp):
        zone = "UTC" if not value.offset else _zone_offset(value.offset)
        fraction = f".{value.ns % 10**9:09d}".rstrip("0").rstrip(".")
        return f"{_local_datetime(value):%Y-%m-%d %H:%M:%S}{fraction} {_zone_offset(value.offset)} {zone}"
    if isinstance(value, Duration):
        return format_duration(value.ns)
    if isinstance(value, Optional):
        return f"optional({value_string(value.value)})" if value.present else "optional.none()"
    return str(value) if isinstance(value, str | int) else kind_of(value)


def value_string(value: Any) -> str:
    """Format a CEL value as cel-go's String() method does."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{value_string(key)}: {value_string(item)}' for key, item in value.items())}}}"
    return f"[{', '.join(map(value_string, value))}]" if isinstance(value, list) else _go_format_v(value)


def _go_format_sharp_v(value: Any) -> str:
    """Format a native value as Go's %#v does."""
    if value is None:
        return "0"
    if isinstance(value, UInt):
        return hex(value)
    if isinstance(value, str):
        return go_quote(value)
    if isinstance(value, bytes):
        return f"[]uint8{{{', '.join(f'0x{byte:x}' for byte in value)}}}"
    if isinstance(value, list):
        return f"{go_type(value)}{{{', '.join(map(_go_format_sharp_v, value))}}}"
    if isinstance(value, dict):
        inner = ", ".join(
            sorted(f"{_go_format_sharp_v(key)}:{_go_format_sharp_v(item)}" for key, item in value.items())
        )
        return f"{go_type(value)}{{{inner}}}"
    if isinstance(value, Timestamp):
        zone = 'time.Location("")' if value.offset else "time.UTC"
        local = _local_datetime(value)
        clock = f"{local.hour}, {local.minute}, {local.second}, {value.ns % 10**9}"
        return f"time.Date({local.year}, time.{local:%B}, {local.day}, {clock}, {zone})"
    return str(value.ns) if isinstance(value, Duration) else _go_format_v(value)


def _local_datetime(value: Timestamp) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=value.ns // 10**9 + value.offset)


def _zone_offset(offset: int) -> str:
    return f"{'-' if offset < 0 else '+'}{abs(offset) // 3600:02d}{abs(offset) % 3600 // 60:02d}"


def to_json(value: Any) -> Any:
    """Convert a value to JSON as google.protobuf.Value does. Raise UnconvertibleError if that is impossible."""
    if isinstance(value, ConstructedObject):
        return _json_through_protobuf(object_to_native(value))
    if isinstance(value, Optional):
        if not value.present:
            raise UnconvertibleError("optional.none() dereference")
        return to_json(value.value)
    if isinstance(value, list) and not isinstance(value, SetList | MapList):
        return [to_json(item) for item in value]
    if isinstance(value, dict):
        return {_key(key): to_json(item) for key, item in value.items()}
    for kind, convert in _SCALARS:
        if isinstance(value, kind):
            return convert(value)
    if isinstance(value, Type):
        raise UnconvertibleError("type conversion not supported for 'type'")
    if kind_of(value) == "JSONPatch":
        raise UnconvertibleError("cannot convert to native type: *structpb.Value")
    raise UnconvertibleError(f"type conversion error from '{conversion_type_name(value)}' to '*structpb.Value'")


def _integer(value: int) -> int | str:
    return int(value) if abs(value) <= _MAX_SAFE_INTEGER else str(int(value))


_SCALARS: tuple[tuple[Any, Callable[[Any], Any]], ...] = (
    (NoneType | bool | str, lambda value: value),
    (int, _integer),
    (float, lambda value: _number(value)),
    (bytes, lambda value: base64.b64encode(value).decode()),
    (Timestamp, timestamps.format_timestamp),
    (Duration, timestamps.format_duration),
)
"""The conversions of values without an inside, by their type. A boolean is an integer, too, and comes first."""


def conversion_type_name(value: Any) -> str:
    """Return a value's type name for conversion errors. Objects and lists of a schema are named map and list."""
    if isinstance(value, SchemaObject):
        return "map(dyn, dyn)"
    if isinstance(value, SetList | MapList):
        return "list(dyn)"
    return kind_of(value) if isinstance(value, OpaqueValue) else type(value).__name__


def _key(key: Any) -> str:
    if isinstance(key, str):
        return key
    raise UnconvertibleError(_KEY_ERRORS.get(kind_of(key), "unsupported map key"))


def _number(value: float) -> int | float:
    if not math.isfinite(value):
        name = "NaN" if value != value else "+Inf" if value > 0 else "-Inf"
        raise UnconvertibleError(
            "json: error calling MarshalJSON for type *structpb.Value: proto: google.protobuf.Value.number_value: "
            f"invalid {name} value"
        )
    return int(value) if value.is_integer() and abs(value) < 2**63 else value


def _json_through_protobuf(value: Any) -> Any:
    """Convert JSON as google.protobuf.Value does. All numbers become doubles."""
    if isinstance(value, dict):
        return {key: _json_through_protobuf(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_json_through_protobuf(item) for item in value]
    if isinstance(value, GoValue):
        if value.type == "uint64":
            return _number(float(int(value.plain)))
        if value.type == "[]uint8":
            return base64.b64encode(bytes(map(int, value.plain[1:-1].split()))).decode()
        raise UnconvertibleError(f"proto: invalid type: {value.type}")
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _number(float(value))
    return value
