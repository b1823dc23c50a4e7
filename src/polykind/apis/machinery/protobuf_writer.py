"""Messages of built-in types, written by a plan that is made once for each type.

Fields that are not pointers are written even if they are zero: a plan holds the bytes of a message without anything
in it, and a value only interrupts them where it has something to say.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import accumulate
from typing import Any, NamedTuple

from polykind.apis.apiextensions.json_schema_props import SchemaOrArray, SchemaOrBool, SchemaOrStrings
from polykind.apis.machinery.fields import (
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
from polykind.codec.protobuf_wire import (
    BYTES,
    FIXED64,
    bytes_field,
    encode_utf8,
    encode_varint,
    varint_field,
)
from polykind.contract import JsonObject
from polykind.golang.base64 import decode_base64
from polykind.golang.json import go_json

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND = timedelta(seconds=1)

Writer = Callable[[Any], bytes]


class _Plan(NamedTuple):
    """The fields of a type in the order of their numbers."""

    places: dict[str, int]
    names: tuple[str, ...]
    writers: tuple[Writer, ...]
    zeros: bytes
    """The message of nothing; that of the fields from one to another lies between their offsets."""
    offsets: tuple[int, ...]


def encode_message(value: JsonObject, type_: Struct) -> bytes:
    """The message of a canonical value, without an envelope."""
    places, names, writers, zeros, offsets = _plan(type_)
    out, at = [], 0
    for position in sorted({places[key] for key, item in value.items() if item is not None and key in places}):
        out.append(zeros[offsets[at] : offsets[position]])
        # What has no name is embedded: its fields are among those of the value.
        out.append(writers[position](value[names[position]] if names[position] else value))
        at = position + 1
    out.append(zeros[offsets[at] :])
    return b"".join(out)


@cache
def _plan(type_: Struct) -> _Plan:
    fields = type_.numbered
    names = tuple(field.name for field in fields)
    writers = tuple(_writer(field.number, field.kind) for field in fields)
    zeros = [_zero(field, writer) for field, writer in zip(fields, writers, strict=True)]
    offsets = tuple(accumulate(map(len, zeros), initial=0))
    places = {
        own.name: position
        for position, field in enumerate(fields)
        for own in (field.kind.fields if not field.name and isinstance(field.kind, Struct) else (field,))
    }
    return _Plan(places, names, writers, b"".join(zeros), offsets)


def _zero(field: Field, write: Writer) -> bytes:
    """What is written of a field that was never set."""
    if field.pointer or isinstance(field.kind, ListOf | MapOf | Bytes):
        return b""
    return write(field.kind.zero())


def _writer(number: int, kind: Kind) -> Writer:
    """Writes a field of a number."""
    if isinstance(kind, ListOf):
        one = _writer(number, kind.item)
        return lambda items: b"".join([one(item) for item in items])
    if isinstance(kind, MapOf):
        named = _writer(2, kind.item)
        return lambda items: b"".join(
            [bytes_field(number, bytes_field(1, encode_utf8(key)) + named(items[key])) for key in sorted(items)]
        )
    if isinstance(kind, Bool):
        no, yes = varint_field(number, 0), varint_field(number, 1)
        return lambda value: yes if value else no
    if isinstance(kind, Int):
        return lambda value: varint_field(number, value)
    if isinstance(kind, Float):
        tag = encode_varint(number << 3 | FIXED64)
        return lambda value: tag + struct.pack("<d", value)
    payload, head = _payload(kind), encode_varint(number << 3 | BYTES)

    def write(value: Any) -> bytes:
        data = payload(value)
        return head + encode_varint(len(data)) + data

    return write


def _payload(kind: Kind) -> Writer:
    """Writes what stands in a field behind its length."""
    if isinstance(kind, Struct):
        return lambda value: encode_message(value, kind)
    for of, payload in (
        (String, encode_utf8),
        (Bytes, decode_base64),
        (Time, _time),
        (IntOrString, _int_or_string),
        (Raw, _json),
        (Verbatim, _json),
        (Wrapped, _texts),
    ):
        if isinstance(kind, of):
            return payload
    if isinstance(kind, SchemaOrBool | SchemaOrArray | SchemaOrStrings):
        return lambda value: _either(value, kind)
    raise TypeError(f"{kind.go} has no message")


def _either(value: Any, kind: SchemaOrBool | SchemaOrArray | SchemaOrStrings) -> bytes:
    """A schema, or what else may stand in its place."""
    if isinstance(kind, SchemaOrBool):
        allowed = varint_field(1, int(value is not False))
        return allowed + (bytes_field(2, encode_message(value, kind.schema)) if isinstance(value, dict) else b"")
    if isinstance(value, dict):
        return bytes_field(1, encode_message(value, kind.schema))
    if isinstance(kind, SchemaOrArray):
        return b"".join([bytes_field(2, encode_message(item, kind.schema)) for item in value or ()])
    return b"".join([bytes_field(2, encode_utf8(item)) for item in value or ()])


def _json(value: Any) -> bytes:
    return b"" if value is None else bytes_field(1, go_json(value).encode())


def _texts(items: list[str] | None) -> bytes:
    return b"".join([bytes_field(1, encode_utf8(item)) for item in items or ()])


def _int_or_string(value: Any) -> bytes:
    text, counted = (value, 0) if isinstance(value, str) else ("", value)
    return varint_field(1, int(isinstance(value, str))) + varint_field(2, counted) + bytes_field(3, encode_utf8(text))


def _time(value: str | None) -> bytes:
    if value is None:
        return b""
    return varint_field(1, (datetime.fromisoformat(value) - _EPOCH) // _SECOND) + varint_field(2, 0)
