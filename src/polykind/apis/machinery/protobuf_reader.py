"""Decoding of the protobuf messages of built-in types to JSON values."""

from __future__ import annotations

import struct
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import msgspec

from polykind.apis.apiextensions.json_schema_props import SchemaOrArray, SchemaOrBool, SchemaOrStrings
from polykind.apis.machinery import value_types as types
from polykind.apis.machinery.decoding import MAX_DEPTH
from polykind.apis.machinery.structs import Field, Struct
from polykind.apis.machinery.value_types import INT32, INT64, STRING, ListOf, MapOf, ValueType
from polykind.apis.meta.types import LIST_META
from polykind.codec.protobuf_wire import BYTES, VARINT, ProtobufError, iter_fields
from polykind.contract import JsonObject
from polykind.errors import RequestTooLargeError
from polykind.golang.base64 import encode_base64

_GO_NAMES = {
    "$ref": "Ref",
    "$schema": "Schema",
    "apiGroups": "APIGroups",
    "apiVersion": "APIVersion",
    "apiVersions": "APIVersions",
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
"""The Go names of fields, by JSON name, if the Go name is not just the JSON name with a capital first letter."""
_INT_OR_STRING = Struct(
    "intstr.IntOrString", (Field("type", 1, INT64), Field("intVal", 2, INT32), Field("strVal", 3, STRING))
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


_MAX_MESSAGES = 200_000


class _Budget(threading.local):
    """The number of messages that the current thread may still decode. An empty message takes only two bytes."""

    messages = _MAX_MESSAGES


_budget = _Budget()

Reader = Callable[[int | bytes, int], Any]
"""A function that decodes the raw value of a protobuf field. The second argument is the nesting depth."""


def decode_message(data: bytes, struct_type: Struct, depth: int = 0) -> JsonObject:
    """Return the fields of a message as JSON values, which the caller must still decode by their types.

    Raise ProtobufError if `data` is malformed.
    """
    if depth > MAX_DEPTH:
        raise ProtobufError("exceeded max depth")
    _budget.messages = _budget.messages - 1 if depth else _MAX_MESSAGES
    if _budget.messages < 0:
        raise RequestTooLargeError(f"Request entity too large: limit is {_MAX_MESSAGES} messages")
    readers = _field_readers(struct_type)
    out: JsonObject = {}
    for number, raw in iter_fields(data):
        reader = readers.get(number)
        if reader is None:
            continue
        name, field_class, read = reader
        if field_class is ListOf:
            out.setdefault(name, []).append(read(raw, depth))
        elif field_class is MapOf:
            key, item = read(raw, depth)
            out.setdefault(name, {})[key] = item
        elif name:
            out[name] = read(raw, depth)
        else:
            out.update(read(raw, depth))
    return out


@cache
def _field_readers(struct_type: Struct) -> dict[int, tuple[str, type[ValueType], Reader]]:
    """Return the JSON name, the class of the type and the reader of each field, by the field's protobuf number."""
    out: dict[int, tuple[str, type[ValueType], Reader]] = {}
    for field in struct_type.numbered:
        value_type = field.type
        if isinstance(value_type, ListOf):
            read = _reader(value_type.item, field)
        elif isinstance(value_type, MapOf):
            read = _entry_reader(value_type.item, field)
        else:
            read = _reader(value_type, field)
        out[field.number] = (field.name, type(value_type), read)
    return out


def _entry_reader(value_type: ValueType, field: Field) -> Reader:
    read = _reader(value_type, field)

    def read_entry(raw: int | bytes, depth: int) -> tuple[str, Any]:
        key, item = "", value_type.zero()
        for number, value in iter_fields(_bytes(raw, field)):
            if number == 1:
                key = _text(_bytes(value, field))
            elif number == 2:
                item = read(value, depth)
        return key, item

    return read_entry


def _reader(value_type: ValueType, field: Field) -> Reader:
    if isinstance(value_type, types.Bool | types.Int):
        boolean = isinstance(value_type, types.Bool)

        def read_number(raw: int | bytes, _: int) -> Any:
            if not isinstance(raw, int):
                raise _wrong_wire(BYTES, field)
            return bool(raw) if boolean else _signed(raw)

        return read_number
    if isinstance(value_type, Struct):
        return lambda raw, depth: decode_message(_bytes(raw, field), value_type, depth + 1)
    if isinstance(value_type, SchemaOrBool | SchemaOrArray | SchemaOrStrings):
        return lambda raw, depth: _schema_or(_bytes(raw, field), value_type, field, depth)
    for value_class, payload in (
        (types.Float, _float),
        (types.String, _text),
        (types.Bytes, encode_base64),
        (types.MicroTime, _micro_time),
        (types.Time, _time),
        (types.Quantity, _quantity),
        (types.IntOrString, _int_or_string),
        (types.Raw, _json),
        (types.Verbatim, _json),
        (types.Wrapped, _texts),
    ):
        if isinstance(value_type, value_class):
            return _delimited_reader(payload, field)
    raise TypeError(f"{value_type.go} has no message")


def _delimited_reader(payload: Callable[[bytes], Any], field: Field) -> Reader:
    return lambda raw, _: payload(_bytes(raw, field))


def _schema_or(
    data: bytes, value_type: SchemaOrBool | SchemaOrArray | SchemaOrStrings, field: Field, depth: int
) -> Any:
    """Return a schema, or the bool, list or strings that the message contains instead of a schema."""
    several: list[Any] = []
    allowed = False
    schema: JsonObject | None = None
    for number, raw in iter_fields(data):
        if isinstance(value_type, SchemaOrBool):
            if number == 1:
                allowed = bool(raw)
            elif number == 2:
                schema = decode_message(_bytes(raw, field), value_type.schema, depth + 1)
        elif number == 1:
            schema = decode_message(_bytes(raw, field), value_type.schema, depth + 1)
        elif number == 2 and isinstance(value_type, SchemaOrArray):
            several.append(decode_message(_bytes(raw, field), value_type.schema, depth + 1))
        elif number == 2:
            several.append(_text(_bytes(raw, field)))
    if schema is not None:
        return schema
    return allowed if isinstance(value_type, SchemaOrBool) else several


def _signed(raw: int) -> int:
    return raw - (1 << 64) if raw >= 1 << 63 else raw


def _float(data: bytes) -> float:
    number: float = struct.unpack("<d", data)[0] if len(data) == 8 else 0.0
    return number


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _texts(data: bytes) -> list[str]:
    return [_text(value) for number, value in iter_fields(data) if number == 1 and isinstance(value, bytes)]


def _int_or_string(data: bytes) -> Any:
    found = decode_message(data, _INT_OR_STRING, depth=1)
    return found.get("strVal", "") if found.get("type") == 1 else found.get("intVal", 0)


def _bytes(raw: int | bytes, field: Field) -> bytes:
    if isinstance(raw, bytes):
        return raw
    raise _wrong_wire(VARINT, field)


def _wrong_wire(wire: int, field: Field) -> ProtobufError:
    name = _GO_NAMES.get(field.name) or field.name[:1].upper() + field.name[1:] or field.type.go.rpartition(".")[2]
    if field.name == "metadata":
        name = "ListMeta" if field.type is LIST_META else "ObjectMeta"
    return ProtobufError(f"proto: wrong wireType = {wire} for field {name}")


def _time(data: bytes) -> str | None:
    found = _timestamp(data)
    return f"{found:%Y-%m-%dT%H:%M:%SZ}".rjust(20, "0") if found is not None else None


def _micro_time(data: bytes) -> str | None:
    found = _timestamp(data)
    return f"{found:%Y-%m-%dT%H:%M:%S.%fZ}".rjust(27, "0") if found is not None else None


def _timestamp(data: bytes) -> datetime | None:
    """Return the time of a Timestamp message. Return None if the message is empty."""
    if not data:
        return None
    seconds = nanoseconds = 0
    for number, raw in iter_fields(data):
        if number == 1 and isinstance(raw, int):
            seconds = _signed(raw)
        elif number == 2 and isinstance(raw, int):
            nanoseconds = _signed(raw)
    try:
        return _EPOCH + timedelta(seconds=seconds, microseconds=nanoseconds // 1000)
    except OverflowError:
        raise ProtobufError("time out of range") from None


def _quantity(data: bytes) -> str:
    return next((_text(raw) for number, raw in iter_fields(data) if number == 1 and isinstance(raw, bytes)), "0")


def _json(data: bytes) -> Any:
    raw = b""
    for number, value in iter_fields(data):
        if number == 1 and isinstance(value, bytes):
            raw = value
    if not raw:
        return None
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ProtobufError(str(error)) from None
