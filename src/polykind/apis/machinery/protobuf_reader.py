"""Messages of built-in types, read into JSON values."""

from __future__ import annotations

import struct
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import msgspec

from polykind.apis.apiextensions.json_schema_props import SchemaOrArray, SchemaOrBool, SchemaOrStrings
from polykind.apis.machinery.decoding import DEEPEST
from polykind.apis.machinery.fields import (
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
    Wrapped,
)
from polykind.apis.meta.types import LIST_META
from polykind.codec.protobuf_wire import BYTES, VARINT, ProtobufError, iter_fields
from polykind.contract import JsonObject
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
"""Fields that Go spells otherwise than by a capital letter."""
_INT_OR_STRING = Struct(
    "intstr.IntOrString", (Field("type", INT64, 1), Field("intVal", INT32, 2), Field("strVal", STRING, 3))
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


Reader = Callable[[int | bytes, int], Any]
"""Reads what stands in a field, at a depth."""


def decode_message(data: bytes, type_: Struct, depth: int = 0) -> JsonObject:
    """The fields of a message as JSON values, not yet canonical. Raises ProtobufError."""
    if depth > DEEPEST:
        raise ProtobufError("exceeded max depth")
    known = _known(type_)
    out: JsonObject = {}
    for number, raw in iter_fields(data):
        found = known.get(number)
        if found is None:
            continue
        name, kind, read = found
        if kind is ListOf:
            out.setdefault(name, []).append(read(raw, depth))
        elif kind is MapOf:
            key, item = read(raw, depth)
            out.setdefault(name, {})[key] = item
        elif name:
            out[name] = read(raw, depth)
        else:
            out.update(read(raw, depth))
    return out


@cache
def _known(type_: Struct) -> dict[int, tuple[str, type[Kind], Reader]]:
    """By number the fields of a type: their names, what they are, and what reads one of them."""
    out: dict[int, tuple[str, type[Kind], Reader]] = {}
    for field in type_.numbered:
        kind = field.kind
        if isinstance(kind, ListOf):
            read = _reader(kind.item, field)
        elif isinstance(kind, MapOf):
            read = _entry_reader(kind.item, field)
        else:
            read = _reader(kind, field)
        out[field.number] = (field.name, type(kind), read)
    return out


def _entry_reader(kind: Kind, field: Field) -> Reader:
    read = _reader(kind, field)

    def read_entry(raw: int | bytes, depth: int) -> tuple[str, Any]:
        key, item = "", kind.zero()
        for number, value in iter_fields(_bytes(raw, field)):
            if number == 1:
                key = _text(_bytes(value, field))
            elif number == 2:
                item = read(value, depth)
        return key, item

    return read_entry


def _reader(kind: Kind, field: Field) -> Reader:
    if isinstance(kind, Bool | Int):
        boolean = isinstance(kind, Bool)

        def read_number(raw: int | bytes, _: int) -> Any:
            if not isinstance(raw, int):
                raise _wrong_wire(BYTES, field)
            return bool(raw) if boolean else _signed(raw)

        return read_number
    if isinstance(kind, Struct):
        return lambda raw, depth: decode_message(_bytes(raw, field), kind, depth + 1)
    if isinstance(kind, SchemaOrBool | SchemaOrArray | SchemaOrStrings):
        return lambda raw, depth: _either(_bytes(raw, field), kind, field, depth)
    for of, payload in (
        (Float, _float),
        (String, _text),
        (Bytes, encode_base64),
        (Time, _moment),
        (IntOrString, _int_or_string),
        (Raw, _json),
        (Verbatim, _json),
        (Wrapped, _texts),
    ):
        if isinstance(kind, of):
            return _delimited_reader(payload, field)
    raise TypeError(f"{kind.go} has no message")


def _delimited_reader(payload: Callable[[bytes], Any], field: Field) -> Reader:
    return lambda raw, _: payload(_bytes(raw, field))


def _either(data: bytes, kind: SchemaOrBool | SchemaOrArray | SchemaOrStrings, field: Field, depth: int) -> Any:
    """A schema, or what else may stand in its place."""
    several: list[Any] = []
    allowed = False
    found: JsonObject | None = None
    for number, raw in iter_fields(data):
        if isinstance(kind, SchemaOrBool):
            if number == 1:
                allowed = bool(raw)
            elif number == 2:
                found = decode_message(_bytes(raw, field), kind.schema, depth + 1)
        elif number == 1:
            found = decode_message(_bytes(raw, field), kind.schema, depth + 1)
        elif number == 2 and isinstance(kind, SchemaOrArray):
            several.append(decode_message(_bytes(raw, field), kind.schema, depth + 1))
        elif number == 2:
            several.append(_text(_bytes(raw, field)))
    if found is not None:
        return found
    return allowed if isinstance(kind, SchemaOrBool) else several


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
    found = decode_message(data, _INT_OR_STRING)
    return found.get("strVal", "") if found.get("type") == 1 else found.get("intVal", 0)


def _bytes(raw: int | bytes, field: Field) -> bytes:
    if isinstance(raw, bytes):
        return raw
    raise _wrong_wire(VARINT, field)


def _wrong_wire(wire: int, field: Field) -> ProtobufError:
    name = _GO_NAMES.get(field.name) or field.name[:1].upper() + field.name[1:] or field.kind.go.rpartition(".")[2]
    if field.name == "metadata":
        name = "ListMeta" if field.kind is LIST_META else "ObjectMeta"
    return ProtobufError(f"proto: wrong wireType = {wire} for field {name}")


def _moment(data: bytes) -> str | None:
    seconds = 0
    for number, raw in iter_fields(data):
        if number == 1 and isinstance(raw, int):
            seconds = _signed(raw)
    if not data:
        return None
    try:
        return f"{_EPOCH + timedelta(seconds=seconds):%Y-%m-%dT%H:%M:%SZ}".rjust(20, "0")
    except OverflowError:
        raise ProtobufError("time out of range") from None


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
