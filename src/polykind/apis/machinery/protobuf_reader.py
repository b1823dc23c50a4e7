"""Decoding of the protobuf messages of built-in types to JSON values."""

from __future__ import annotations

import struct
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache, partial
from typing import Any, Final, NamedTuple

import msgspec

from polykind.apis.machinery import value_types as types
from polykind.apis.machinery.decoding import MAX_DEPTH
from polykind.apis.machinery.json_schema_types import SchemaOrArray, SchemaOrBool, SchemaOrStrings
from polykind.apis.machinery.structs import Field, Struct
from polykind.apis.machinery.value_types import INT32, INT64, STRING, ListOf, MapOf, ValueType
from polykind.codec.protobuf_wire import (
    BYTES,
    UNEXPECTED_EOF,
    VARINT,
    ProtobufError,
    decode_varint,
    delimited_field,
    iter_fields,
)
from polykind.contract import JsonObject
from polykind.errors import RequestTooLargeError
from polykind.golang.base64 import encode_base64

_INT_OR_STRING = Struct(
    "intstr.IntOrString", (Field("type", 1, INT64), Field("intVal", 2, INT32), Field("strVal", 3, STRING))
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


_MAX_MESSAGES = 200_000


class _Run:
    """One decoding: how deep the current message is nested, and how many more messages are allowed.

    An empty message takes only two bytes, so the length of a body is no bound for the memory.
    """

    __slots__ = ("depth", "messages")

    def __init__(self) -> None:
        self.depth = 0
        self.messages = _MAX_MESSAGES


Number = Callable[[JsonObject, int], None]
"""A function that stores the value of a varint field in an object."""
Delimited = Callable[[JsonObject, bytes, int, int, _Run], None]
"""A function that stores the value of a field of another wire type, which is between two places, in an object."""
Reader = Callable[[bytes, int, int, _Run], Any]
"""A function that decodes the bytes between two places."""


class _Table(NamedTuple):
    """Functions that store the fields of a message, by number. A field is in both, and raises an error in one."""

    numbers: dict[int, Number]
    delimited: dict[int, Delimited]


def decode_message(data: bytes, struct_type: Struct) -> JsonObject:
    """Return the fields of a message as JSON values, which the caller must still decode by their types.

    Raise ProtobufError if `data` is malformed.
    """
    return _read_message(data, 0, len(data), _Run(), struct_type)


def _read_message(data: bytes, at: int, end: int, run: _Run, struct_type: Struct) -> JsonObject:
    if run.depth > MAX_DEPTH:
        raise ProtobufError("exceeded max depth")
    run.depth += 1
    run.messages -= 1
    if run.messages < 0:
        raise RequestTooLargeError(f"Request entity too large: limit is {_MAX_MESSAGES} messages")
    numbers, delimited = _table(struct_type)
    out: JsonObject = {}
    while at < end:
        tag = data[at]
        if tag < 0x80:
            at += 1
        else:
            tag, at = decode_varint(data, at, end)
        if tag & 7 == VARINT:
            value, at = decode_varint(data, at, end)
            if store_number := numbers.get(tag >> 3):
                store_number(out, value)
            continue
        if tag & 7 == BYTES and tag > 7 and at < end and data[at] < 0x80:
            # This is what `delimited_field` does for a short payload.
            start = at + 1
            at = start + data[at]
            if at > end:
                raise ProtobufError(UNEXPECTED_EOF)
        else:
            start, at = delimited_field(data, at, end, tag)
        if store := delimited.get(tag >> 3):
            store(out, data, start, at, run)
    run.depth -= 1
    return out


@cache
def _table(struct_type: Struct) -> _Table:
    table = _Table({}, {})
    for field in struct_type.numbered:
        value_type = field.type.item if isinstance(field.type, ListOf | MapOf) else field.type
        if isinstance(value_type, types.Bool | types.Int) and not isinstance(field.type, MapOf):
            table.numbers[field.number] = _number_field(field, value_type)
            table.delimited[field.number] = _no_delimited(field)
        else:
            table.numbers[field.number] = _no_number(field)
            table.delimited[field.number] = _delimited_field(field)
    return table


def _number_field(field: Field, value_type: ValueType) -> Number:
    name, convert = field.name, bool if isinstance(value_type, types.Bool) else _signed

    def store(out: JsonObject, value: int) -> None:
        out[name] = convert(value)

    def append(out: JsonObject, value: int) -> None:
        out.setdefault(name, []).append(convert(value))

    return append if isinstance(field.type, ListOf) else store


def _no_number(field: Field) -> Number:
    def store(out: JsonObject, value: int) -> None:
        raise _wrong_wire(VARINT, field)

    return store


def _no_delimited(field: Field) -> Delimited:
    def store(out: JsonObject, data: bytes, start: int, end: int, run: _Run) -> None:
        raise _wrong_wire(BYTES, field)

    return store


def _delimited_field(field: Field) -> Delimited:
    name, value_type = field.name, field.type
    if isinstance(value_type, ListOf):
        read_item = _reader(value_type.item, field)

        def append(out: JsonObject, data: bytes, start: int, end: int, run: _Run) -> None:
            item = read_item(data, start, end, run)
            if name in out:
                out[name].append(item)
            else:
                out[name] = [item]

        return append
    if isinstance(value_type, MapOf):
        read_entry = _entry_reader(value_type.item, field)

        def add(out: JsonObject, data: bytes, start: int, end: int, run: _Run) -> None:
            key, item = read_entry(data, start, end, run)
            out.setdefault(name, {})[key] = item

        return add
    if isinstance(value_type, types.String):

        def store_text(out: JsonObject, data: bytes, start: int, end: int, run: _Run) -> None:
            try:
                out[name] = data[start:end].decode()
            except UnicodeDecodeError:
                out[name] = data[start:end].decode("utf-8", "replace")

        return store_text
    read = _reader(value_type, field)
    if not name:
        return lambda out, data, start, end, run: out.update(read(data, start, end, run))

    def store(out: JsonObject, data: bytes, start: int, end: int, run: _Run) -> None:
        out[name] = read(data, start, end, run)

    return store


def _entry_reader(value_type: ValueType, field: Field) -> Reader:
    """Return a function that decodes an entry of a map: a message with the key and the value."""
    if isinstance(value_type, types.Bool | types.Int):
        raise TypeError(f"{field.name} is a map of numbers, which no built-in type has")
    read = _reader(value_type, field)

    def read_entry(data: bytes, at: int, end: int, run: _Run) -> tuple[str, Any]:
        key, item = "", value_type.zero()
        while at < end:
            tag, at = decode_varint(data, at, end)
            if tag & 7 == VARINT:
                if tag >> 3 in (1, 2):
                    raise _wrong_wire(VARINT, field)
                _, at = decode_varint(data, at, end)
                continue
            start, at = delimited_field(data, at, end, tag)
            if tag >> 3 == 1:
                key = _text(data[start:at])
            elif tag >> 3 == 2:
                item = read(data, start, at, run)
        return key, item

    return read_entry


def _reader(value_type: ValueType, field: Field) -> Reader:
    if isinstance(value_type, Struct):
        return lambda data, start, end, run: _read_message(data, start, end, run, value_type)
    if isinstance(value_type, types.IntOrString):
        return _int_or_string
    if isinstance(value_type, SchemaOrBool | SchemaOrArray | SchemaOrStrings):
        return partial(_schema_or, value_type, field)
    for value_class, payload in (
        (types.Float, _float),
        (types.String, _text),
        (types.Bytes, encode_base64),
        (types.MicroTime, _micro_time),
        (types.Time, _time),
        (types.Quantity, _quantity),
        (types.Raw, _json),
        (types.Verbatim, _json),
        (types.Wrapped, _texts),
    ):
        if isinstance(value_type, value_class):
            return _payload_reader(payload)
    raise TypeError(f"{value_type.go} has no message")


def _payload_reader(payload: Callable[[bytes], Any]) -> Reader:
    return lambda data, start, end, run: payload(data[start:end])


def _int_or_string(data: bytes, start: int, end: int, run: _Run) -> Any:
    found = _read_message(data, start, end, run, _INT_OR_STRING)
    return found.get("strVal", "") if found.get("type") == 1 else found.get("intVal", 0)


def _schema_or(
    value_type: SchemaOrBool | SchemaOrArray | SchemaOrStrings,
    field: Field,
    data: bytes,
    start: int,
    end: int,
    run: _Run,
) -> Any:
    """Return a schema, or the bool, list or strings that the message contains instead of a schema."""
    several: list[Any] = []
    allowed = False
    schema: JsonObject | None = None
    for number, raw in iter_fields(data[start:end]):
        if isinstance(value_type, SchemaOrBool) and number == 1:
            allowed = bool(raw)
        elif number not in (1, 2):
            continue
        elif not isinstance(raw, bytes):
            raise _wrong_wire(VARINT, field)
        elif number == 1 or isinstance(value_type, SchemaOrBool):
            schema = _read_message(raw, 0, len(raw), run, value_type.schema)
        elif isinstance(value_type, SchemaOrArray):
            several.append(_read_message(raw, 0, len(raw), run, value_type.schema))
        else:
            several.append(_text(raw))
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


def _wrong_wire(wire: int, field: Field) -> ProtobufError:
    return ProtobufError(f"proto: wrong wireType = {wire} for field {field.go}")


def _time(data: bytes) -> str | None:
    # Most times of an object are the same, and `strftime` takes longer than the rest of a message.
    return _short_time(data) if len(data) <= _TIME_BYTES else _format_time(data)


def _format_time(data: bytes) -> str | None:
    found = _timestamp(data)
    return found.isoformat()[:19] + "Z" if found is not None else None


_TIME_BYTES: Final = 22
"""The longest Timestamp message without repeated fields: two tags and two numbers of ten bytes."""
_short_time = lru_cache(maxsize=256)(_format_time)


def _micro_time(data: bytes) -> str | None:
    found = _timestamp(data)
    return found.isoformat(timespec="microseconds")[:26] + "Z" if found is not None else None


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
