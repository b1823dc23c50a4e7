"""Values of expressions as the reference hands them out: as plain JSON, or as what Go's types make of them."""

from __future__ import annotations

import base64
import math
from datetime import UTC, datetime, timedelta
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
from polykind.golang.fmt import GoValue, go_float, go_quote

_MOST_EXACT = 2**53 - 1
_GO_TYPES = {"null": "structpb.NullValue", "int": "int64", "double": "float64", "list": "[]ref.Val"}
_KEY_TYPES = {"int": "types.Int", "uint": "types.Uint", "bool": "types.Bool", "double": "types.Double"}
_NO_TEXT = {
    "int": "unsupported type conversion from 'int' to string",
    "uint": "unsupported type conversion from 'uint' to string",
    "bool": "type conversion error from bool to 'string'",
    "double": "type conversion error from Double to 'string'",
}


class UnconvertibleError(Exception):
    """A value that cannot be handed out; says why."""


def type_name_errors(value: Any, path: str) -> list[str]:
    """Objects in a value whose types are not named by the path to them."""
    found: list[str] = []
    if isinstance(value, ConstructedObject):
        if value.type.name != path:
            found.append(
                f"unexpected type name {go_quote(value.type.name)}, expected {go_quote(path)}, which matches field "
                "name path from root Object type"
            )
        for name, item in value.fields.items():
            found += type_name_errors(item, f"{path}.{name}")
    elif isinstance(value, ConstructedList | ConstructedMap):
        for item in value if isinstance(value, ConstructedList) else value.values():
            found += type_name_errors(item, path)
    return found


def object_to_native(made: ConstructedObject) -> JsonObject:
    """An object with its fields as plain JSON, but for what is Foreign to it. Raises Unconvertible."""
    return {name: _field(name, value) for name, value in made.fields.items()}


def _field(name: str, value: Any) -> Any:
    if isinstance(value, ConstructedList):
        return [_value(item) for item in value]
    if not isinstance(value, ConstructedMap):
        return _value(value)
    for key in value:
        if not isinstance(key, str):
            kind = _KEY_TYPES.get(kind_of(key), "types.Val")
            why = f"map key {_quoted_key(key)} is of type {kind}, not string"
            raise UnconvertibleError(f"fail to convert field {go_quote(name)}: {why}")
    return {key: _value(item) for key, item in value.items()}


def _quoted_key(key: Any) -> str:
    """A key as Go's %q writes it: a number is taken for a character."""
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
        except UnconvertibleError as wrong:
            return GoValue(str(wrong), str(wrong), "*types.Err")
    if isinstance(value, OpaqueValue):
        return GoValue(NO_OVERLOAD, NO_OVERLOAD, "*types.Err")
    if isinstance(value, Type):
        return "type" if value.kind == "struct" else value.name
    if type(value) in (bool, int, float, str, list, dict):
        return value
    return GoValue(_plain(value), _literal(value), go_type(value))


def go_type(value: Any) -> str:
    """What Go calls the type of a value."""
    if isinstance(value, GoValue):
        return value.type
    if isinstance(value, UInt):
        return "uint64"
    conversion_type_name = {Timestamp: "time.Time", Duration: "time.Duration", bytes: "[]uint8", StringList: "[]string"}
    kind = kind_of(value)
    if kind == "map":
        return "map[ref.Val]ref.Val" if isinstance(value, ConstructedMap) else "map[string]interface {}"
    return conversion_type_name.get(type(value)) or _GO_TYPES.get(kind) or kind


def _plain(value: Any) -> str:
    """As Go's %v writes it."""
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
        zone = "UTC" if not value.offset else _zone(value.offset)
        fraction = f".{value.ns % 10**9:09d}".rstrip("0").rstrip(".")
        return f"{_moment(value):%Y-%m-%d %H:%M:%S}{fraction} {_zone(value.offset)} {zone}"
    if isinstance(value, Duration):
        return _clock(value.ns)
    if isinstance(value, Optional):
        return f"optional({value_string(value.value)})" if value.present else "optional.none()"
    return str(value) if isinstance(value, str | int) else kind_of(value)


def value_string(value: Any) -> str:
    """As a value of an expression writes itself."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{value_string(key)}: {value_string(item)}' for key, item in value.items())}}}"
    return f"[{', '.join(map(value_string, value))}]" if isinstance(value, list) else _plain(value)


def _clock(ns: int) -> str:
    """A duration as Go writes it."""
    for unit, name in ((1, "ns"), (10**3, "µs"), (10**6, "ms")):
        if abs(ns) < unit * 1000:
            return "0s" if not ns else f"{go_float(ns / unit)}{name}"
    minutes, rest = divmod(abs(ns), 60 * 10**9)
    seconds = f"{rest // 10**9}.{rest % 10**9:09d}".rstrip("0").rstrip(".")
    hours, minutes = divmod(minutes, 60)
    value_string = f"{hours}h{minutes}m" if hours else f"{minutes}m" if minutes else ""
    return f"{'-' if ns < 0 else ''}{value_string}{seconds}s"


def _literal(value: Any) -> str:
    """As Go's %#v writes it."""
    if value is None:
        return "0"
    if isinstance(value, UInt):
        return hex(value)
    if isinstance(value, str):
        return go_quote(value)
    if isinstance(value, bytes):
        return f"[]uint8{{{', '.join(f'0x{byte:x}' for byte in value)}}}"
    if isinstance(value, list):
        return f"{go_type(value)}{{{', '.join(map(_literal, value))}}}"
    if isinstance(value, dict):
        inner = ", ".join(sorted(f"{_literal(key)}:{_literal(item)}" for key, item in value.items()))
        return f"{go_type(value)}{{{inner}}}"
    if isinstance(value, Timestamp):
        zone = 'time.Location("")' if value.offset else "time.UTC"
        at = _moment(value)
        clock = f"{at.hour}, {at.minute}, {at.second}, {value.ns % 10**9}"
        return f"time.Date({at.year}, time.{at:%B}, {at.day}, {clock}, {zone})"
    return str(value.ns) if isinstance(value, Duration) else _plain(value)


def _moment(value: Timestamp) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=value.ns // 10**9 + value.offset)


def _zone(offset: int) -> str:
    return f"{'-' if offset < 0 else '+'}{abs(offset) // 3600:02d}{abs(offset) % 3600 // 60:02d}"


def to_json(value: Any) -> Any:
    """A value as JSON, by way of protobuf's. Raises Unconvertible."""
    if isinstance(value, ConstructedObject):
        return _proto(object_to_native(value))
    if isinstance(value, Optional):
        if not value.present:
            raise UnconvertibleError("optional.none() dereference")
        return to_json(value.value)
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return int(value) if abs(value) <= _MOST_EXACT else str(int(value))
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, Timestamp):
        return timestamps.format_timestamp(value)
    if isinstance(value, Duration):
        return timestamps.format_duration(value)
    if isinstance(value, list) and not isinstance(value, SetList | MapList):
        return [to_json(item) for item in value]
    if isinstance(value, dict):
        return {_key(key): to_json(item) for key, item in value.items()}
    if isinstance(value, Type):
        raise UnconvertibleError("type conversion not supported for 'type'")
    if kind_of(value) == "JSONPatch":
        raise UnconvertibleError("cannot convert to native type: *structpb.Value")
    raise UnconvertibleError(f"type conversion error from '{conversion_type_name(value)}' to '*structpb.Value'")


def conversion_type_name(value: Any) -> str:
    """What refusals to convert a value call its type: what a schema describes is but a map or a list to them."""
    if isinstance(value, SchemaObject):
        return "map(dyn, dyn)"
    if isinstance(value, SetList | MapList):
        return "list(dyn)"
    return kind_of(value) if isinstance(value, OpaqueValue) else type(value).__name__


def _key(key: Any) -> str:
    if isinstance(key, str):
        return key
    raise UnconvertibleError(_NO_TEXT.get(kind_of(key), "unsupported map key"))


def _number(value: float) -> int | float:
    if not math.isfinite(value):
        value_string = "NaN" if value != value else "+Inf" if value > 0 else "-Inf"
        raise UnconvertibleError(
            "json: error calling MarshalJSON for type *structpb.Value: proto: google.protobuf.Value.number_value: "
            f"invalid {value_string} value"
        )
    return int(value) if value.is_integer() and abs(value) < 2**63 else value


def _proto(value: Any) -> Any:
    """Plain JSON by way of protobuf, whose numbers are all doubles."""
    if isinstance(value, dict):
        return {key: _proto(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_proto(item) for item in value]
    if isinstance(value, GoValue):
        if value.type == "uint64":
            return _number(float(int(value.plain)))
        if value.type == "[]uint8":
            return base64.b64encode(bytes(map(int, value.plain[1:-1].split()))).decode()
        raise UnconvertibleError(f"proto: invalid type: {value.type}")
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _number(float(value))
    return value
