"""Encoding of built-in objects as protobuf messages, by a plan that is computed once for each type.

Go writes fields that are not pointers even if they are zero. A plan therefore holds the bytes of a message in which all
fields are zero. The encoder replaces the bytes of the fields that are set.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import accumulate
from typing import Any, NamedTuple

from polykind.apis.apiextensions.json_schema_props import SchemaOrArray, SchemaOrBool, SchemaOrStrings
from polykind.apis.machinery import value_types as types
from polykind.apis.machinery.structs import Field, Struct
from polykind.apis.machinery.value_types import ListOf, MapOf, ValueType
from polykind.codec.protobuf_wire import BYTES, FIXED64, bytes_field, encode_utf8, varint_field
from polykind.contract import JsonObject
from polykind.golang.base64 import decode_base64
from polykind.golang.json import encode_json, go_json
from polykind.golang.sorting import sorted_strings
from polykind.golang.varint import encode_varint

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND = timedelta(seconds=1)

Writer = Callable[[Any], bytes]


class _Plan(NamedTuple):
    """The encoding of one type. `names` and `writers` have the fields in the order of their protobuf numbers."""

    places: dict[str, int]
    names: tuple[str, ...]
    writers: tuple[Writer, ...]
    zeros: bytes
    """The message in which all fields are zero. The bytes of field i are zeros[offsets[i]:offsets[i + 1]]."""
    offsets: tuple[int, ...]


def encode_message(value: JsonObject, struct_type: Struct) -> bytes:
    """Encode an object as a protobuf message, without Kubernetes' envelope. `value` must be the result of decoding."""
    places, names, writers, zeros, offsets = _plan(struct_type)
    out, at = [], 0
    for position in sorted({places[key] for key, item in value.items() if item is not None and key in places}):
        out.append(zeros[offsets[at] : offsets[position]])
        # A field without a name is an embedded struct. In JSON, its fields are members of the enclosing object.
        out.append(writers[position](value[names[position]] if names[position] else value))
        at = position + 1
    out.append(zeros[offsets[at] :])
    return b"".join(out)


@cache
def _plan(struct_type: Struct) -> _Plan:
    fields = struct_type.numbered
    names = tuple(field.name for field in fields)
    writers = tuple(_writer(field.number, field.type) for field in fields)
    zeros = [_zero(field, writer) for field, writer in zip(fields, writers, strict=True)]
    offsets = tuple(accumulate(map(len, zeros), initial=0))
    places = {
        own.name: position
        for position, field in enumerate(fields)
        for own in (field.type.fields if not field.name and isinstance(field.type, Struct) else (field,))
    }
    return _Plan(places, names, writers, b"".join(zeros), offsets)


def _zero(field: Field, write: Writer) -> bytes:
    """Return the bytes that Go writes for a field that is not set."""
    if field.pointer or isinstance(field.type, ListOf | MapOf | types.Bytes):
        return b""
    return write(field.type.zero())


def _writer(number: int, value_type: ValueType) -> Writer:
    """Return a function that encodes a value as the field with this protobuf number."""
    if isinstance(value_type, ListOf):
        one = _writer(number, value_type.item)
        return lambda items: b"".join([one(item) for item in items])
    if isinstance(value_type, MapOf):
        named = _writer(2, value_type.item)
        return lambda items: b"".join(
            [bytes_field(number, bytes_field(1, encode_utf8(key)) + named(items[key])) for key in sorted_strings(items)]
        )
    if isinstance(value_type, types.Bool):
        no, yes = varint_field(number, 0), varint_field(number, 1)
        return lambda value: yes if value else no
    if isinstance(value_type, types.Int):
        return lambda value: varint_field(number, value)
    if isinstance(value_type, types.Float):
        tag = encode_varint(number << 3 | FIXED64)
        return lambda value: tag + struct.pack("<d", value)
    payload, head = _payload(value_type), encode_varint(number << 3 | BYTES)

    def write(value: Any) -> bytes:
        data = payload(value)
        return head + encode_varint(len(data)) + data

    return write


def _payload(value_type: ValueType) -> Writer:
    """Return a function that encodes a value as the content of a length-delimited field."""
    if isinstance(value_type, Struct):
        return lambda value: encode_message(value, value_type)
    for value_class, payload in (
        (types.String, encode_utf8),
        (types.Bytes, _bytes),
        (types.Time, _time),
        (types.Quantity, _quantity),
        (types.IntOrString, _int_or_string),
        (types.Raw, _json),
        (types.Verbatim, _verbatim_json),
        (types.Wrapped, _texts),
    ):
        if isinstance(value_type, value_class):
            return payload
    if isinstance(value_type, SchemaOrBool | SchemaOrArray | SchemaOrStrings):
        return lambda value: _schema_or(value, value_type)
    raise TypeError(f"{value_type.go} has no message")


def _schema_or(value: Any, value_type: SchemaOrBool | SchemaOrArray | SchemaOrStrings) -> bytes:
    """Encode a schema, or the bool, list or strings that the value contains instead of a schema."""
    if isinstance(value_type, SchemaOrBool):
        allowed = varint_field(1, int(value is not False))
        return allowed + (bytes_field(2, encode_message(value, value_type.schema)) if isinstance(value, dict) else b"")
    if isinstance(value, dict):
        return bytes_field(1, encode_message(value, value_type.schema))
    if isinstance(value_type, SchemaOrArray):
        return b"".join([bytes_field(2, encode_message(item, value_type.schema)) for item in value or ()])
    return b"".join([bytes_field(2, encode_utf8(item)) for item in value or ()])


def _bytes(value: str | None) -> bytes:
    return decode_base64(value) if value else b""


def _json(value: Any) -> bytes:
    return b"" if value is None else bytes_field(1, go_json(value).encode())


def _verbatim_json(value: Any) -> bytes:
    return b"" if value is None else bytes_field(1, encode_json(value, sort_keys=False))


def _texts(items: list[str] | None) -> bytes:
    return b"".join([bytes_field(1, encode_utf8(item)) for item in items or ()])


def _int_or_string(value: Any) -> bytes:
    text, counted = (value, 0) if isinstance(value, str) else ("", value)
    return varint_field(1, int(isinstance(value, str))) + varint_field(2, counted) + bytes_field(3, encode_utf8(text))


def _time(value: str | None) -> bytes:
    if value is None:
        return b""
    seconds, fraction = divmod(datetime.fromisoformat(value) - _EPOCH, _SECOND)
    return varint_field(1, seconds) + varint_field(2, fraction.microseconds * 1000)


def _quantity(value: str) -> bytes:
    return bytes_field(1, encode_utf8(value))
