"""Built-in types as protobuf, from the same tables, in the reference's envelope.

Fields that are not pointers are written even if they are zero, so the bytes are the reference's own.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from polykind.contract import JsonObject
from polykind.gotext import go_json
from polykind.typed.base64 import decode_base64, encode_base64
from polykind.typed.decoding import DEEPEST
from polykind.typed.jsonschema import SchemaOrArray, SchemaOrBool, SchemaOrStrings
from polykind.typed.kinds import (
    BOOL,
    INT32,
    INT64,
    STRING,
    Bool,
    Bytes,
    Field,
    Float,
    Int,
    IntOrString,
    Kind,
    ListOf,
    MapOf,
    Raw,
    String,
    Struct,
    Time,
    Verbatim,
)
from polykind.typed.meta import LIST_META
from polykind.typed.protowire import BYTES, FIXED64, VARINT, ProtobufError, delimited, integer, parts, utf8, varint

MAGIC = b"k8s\x00"
MEDIA_TYPE = "application/vnd.kubernetes.protobuf"

_GO_NAMES = {
    "$ref": "Ref",
    "$schema": "Schema",
    "apiVersion": "APIVersion",
    "caBundle": "CABundle",
    "id": "ID",
    "jsonPath": "JSONPath",
    "uid": "UID",
    "url": "URL",
    "x-kubernetes-embedded-resource": "XEmbeddedResource",
    "x-kubernetes-int-or-string": "XIntOrString",
    "x-kubernetes-list-map-keys": "XListMapKeys",
    "x-kubernetes-list-type": "XListType",
    "x-kubernetes-map-type": "XMapType",
    "x-kubernetes-preserve-unknown-fields": "XPreserveUnknownFields",
    "x-kubernetes-validations": "XValidations",
}
"""Fields that Go spells otherwise than by a capital letter."""
_INT_OR_STRING = Struct(
    "intstr.IntOrString", (Field("type", INT64, 1), Field("intVal", INT32, 2), Field("strVal", STRING, 3))
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def encode_object(value: JsonObject, type_: Struct) -> bytes:
    """An object of a built-in type in its envelope."""
    return envelope(value.get("apiVersion", ""), value.get("kind", ""), encode_message(value, type_))


def encode_list(
    api_version: str, kind: str, metadata: JsonObject, items: Iterable[bytes], *, numbers: tuple[int, int] = (1, 2)
) -> bytes:
    """A list in its envelope, of items that are messages already; `numbers` are those of metadata and items."""
    first = delimited(numbers[0], encode_message(metadata, LIST_META))
    rest = b"".join([delimited(numbers[1], item) for item in items])
    return envelope(api_version, kind, first + rest if numbers[0] < numbers[1] else rest + first)


def envelope(api_version: str, kind: str, message: bytes) -> bytes:
    """A message with what it is a message of."""
    meta = delimited(1, utf8(api_version)) + delimited(2, utf8(kind))
    return MAGIC + delimited(1, meta) + delimited(2, message) + delimited(3, b"") + delimited(4, b"")


def open_envelope(data: bytes) -> tuple[str, str, bytes]:
    """The apiVersion, the kind and the message. Raises ProtobufError."""
    if not data:
        raise ProtobufError("empty data")
    if data == MAGIC:
        raise ProtobufError("empty body")
    if not data.startswith(MAGIC):
        raise ProtobufError("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]")
    api_version = kind = ""
    message = b""
    for number, value in parts(data[len(MAGIC) :]):
        if number == 1 and isinstance(value, bytes):
            for inner, text in parts(value):
                if inner == 1 and isinstance(text, bytes):
                    api_version = text.decode("utf-8", "replace")
                elif inner == 2 and isinstance(text, bytes):
                    kind = text.decode("utf-8", "replace")
        elif number == 2 and isinstance(value, bytes):
            message = value
    return api_version, kind, message


def watch_frame(event: str, encoded: bytes) -> bytes:
    """An event of a watch: its length, its type, and the object in an envelope of its own."""
    frame = delimited(1, utf8(event)) + delimited(2, delimited(1, encoded))
    return struct.pack(">I", len(frame)) + frame


def encode_message(value: JsonObject, type_: Struct) -> bytes:
    """The message of a canonical value, without an envelope."""
    out = bytearray()
    for field in type_.numbered:
        item, kind = value.get(field.name), field.kind
        if isinstance(kind, ListOf):
            for element in item or ():
                out += _field(field.number, element, kind.item)
        elif isinstance(kind, MapOf):
            for key, element in sorted((item or {}).items()):
                out += delimited(field.number, delimited(1, utf8(key)) + _field(2, element, kind.item))
        elif item is not None:
            out += _field(field.number, item, kind)
        elif not field.pointer and not isinstance(kind, Bytes):
            out += _field(field.number, kind.zero(), kind)
    return bytes(out)


def _field(number: int, value: Any, kind: Kind) -> bytes:
    if isinstance(kind, Bool | Int):
        return integer(number, int(value))
    if isinstance(kind, Float):
        return varint(number << 3 | FIXED64) + struct.pack("<d", float(value))
    return delimited(number, _payload(value, kind))


def _payload(value: Any, kind: Kind) -> bytes:
    if isinstance(kind, String):
        return utf8(value)
    if isinstance(kind, Bytes):
        return decode_base64(value)
    if isinstance(kind, Time):
        return _time(value)
    if isinstance(kind, IntOrString):
        text, counted = (value, 0) if isinstance(value, str) else ("", value)
        return integer(1, int(isinstance(value, str))) + integer(2, counted) + delimited(3, utf8(text))
    if isinstance(kind, Raw | Verbatim):
        return b"" if value is None else delimited(1, go_json(value).encode())
    if isinstance(kind, SchemaOrBool):
        allowed = _field(1, value is not False, BOOL)
        return allowed + (delimited(2, encode_message(value, kind.schema)) if isinstance(value, dict) else b"")
    if isinstance(value, dict):
        message = encode_message(value, kind if isinstance(kind, Struct) else _schema_of(kind))
        return message if isinstance(kind, Struct) else delimited(1, message)
    several = value or ()
    if isinstance(kind, SchemaOrArray):
        return b"".join(delimited(2, encode_message(item, kind.schema)) for item in several)
    return b"".join(delimited(2, utf8(item)) for item in several)


def _schema_of(kind: Kind) -> Struct:
    if isinstance(kind, SchemaOrArray | SchemaOrStrings | SchemaOrBool):
        return kind.schema
    raise TypeError(f"{kind.go} is not a kind of schema")


def _time(value: str | None) -> bytes:
    if value is None:
        return b""
    seconds = (datetime.fromisoformat(value) - _EPOCH) // timedelta(seconds=1)
    return integer(1, seconds) + integer(2, 0)


def decode_message(data: bytes, type_: Struct, depth: int = 0) -> JsonObject:
    """The fields of a message as JSON values, not yet canonical. Raises ProtobufError."""
    if depth > DEEPEST:
        raise ProtobufError("exceeded max depth")
    known = {field.number: field for field in type_.numbered}
    out: JsonObject = {}
    for number, raw in parts(data):
        field = known.get(number)
        if field is None:
            continue
        kind = field.kind
        if isinstance(kind, ListOf):
            out.setdefault(field.name, []).append(_value(raw, kind.item, field, depth))
        elif isinstance(kind, MapOf):
            key, item = _entry(raw, kind.item, field, depth)
            out.setdefault(field.name, {})[key] = item
        else:
            out[field.name] = _value(raw, kind, field, depth)
    return out


def _entry(raw: int | bytes, kind: Kind, field: Field, depth: int) -> tuple[str, Any]:
    key, item = "", kind.zero()
    for number, value in parts(_bytes(raw, field)):
        if number == 1:
            key = _bytes(value, field).decode("utf-8", "replace")
        elif number == 2:
            item = _value(value, kind, field, depth)
    return key, item


def _value(raw: int | bytes, kind: Kind, field: Field, depth: int) -> Any:
    if isinstance(kind, Bool | Int):
        if not isinstance(raw, int):
            raise _wrong_wire(BYTES, field)
        signed = raw - (1 << 64) if raw >= 1 << 63 else raw
        return bool(raw) if isinstance(kind, Bool) else signed
    data = _bytes(raw, field)
    if isinstance(kind, Float):
        number: float = struct.unpack("<d", data)[0] if len(data) == 8 else 0.0
        return number
    if isinstance(kind, String):
        return data.decode("utf-8", "replace")
    if isinstance(kind, Bytes):
        return encode_base64(data)
    if isinstance(kind, Time):
        return _moment(data)
    if isinstance(kind, IntOrString):
        found = decode_message(data, _INT_OR_STRING, depth)
        return found.get("strVal", "") if found.get("type") == 1 else found.get("intVal", 0)
    if isinstance(kind, Raw | Verbatim):
        return _json(data)
    if isinstance(kind, Struct):
        return decode_message(data, kind, depth + 1)
    return _either(data, kind, field, depth)


def _either(data: bytes, kind: Kind, field: Field, depth: int) -> Any:
    """A schema, or what else may stand in its place."""
    schema = _schema_of(kind)
    several: list[Any] = []
    allowed = False
    found: JsonObject | None = None
    for number, raw in parts(data):
        if isinstance(kind, SchemaOrBool):
            if number == 1:
                allowed = bool(raw)
            elif number == 2:
                found = decode_message(_bytes(raw, field), schema, depth + 1)
        elif number == 1:
            found = decode_message(_bytes(raw, field), schema, depth + 1)
        elif number == 2 and isinstance(kind, SchemaOrArray):
            several.append(decode_message(_bytes(raw, field), schema, depth + 1))
        elif number == 2:
            several.append(_bytes(raw, field).decode("utf-8", "replace"))
    if found is not None:
        return found
    return allowed if isinstance(kind, SchemaOrBool) else several


def _bytes(raw: int | bytes, field: Field) -> bytes:
    if isinstance(raw, bytes):
        return raw
    raise _wrong_wire(VARINT, field)


def _wrong_wire(wire: int, field: Field) -> ProtobufError:
    name = _GO_NAMES.get(field.name) or field.name[0].upper() + field.name[1:]
    if field.name == "metadata":
        name = "ListMeta" if field.kind is LIST_META else "ObjectMeta"
    return ProtobufError(f"proto: wrong wireType = {wire} for field {name}")


def _moment(data: bytes) -> str | None:
    seconds = 0
    for number, raw in parts(data):
        if number == 1 and isinstance(raw, int):
            seconds = raw - (1 << 64) if raw >= 1 << 63 else raw
    if not data:
        return None
    try:
        return f"{_EPOCH + timedelta(seconds=seconds):%Y-%m-%dT%H:%M:%SZ}".rjust(20, "0")
    except OverflowError:
        raise ProtobufError("time out of range") from None


def _json(data: bytes) -> Any:
    raw = b""
    for number, value in parts(data):
        if number == 1 and isinstance(value, bytes):
            raw = value
    if not raw:
        return None
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ProtobufError(str(error)) from None
