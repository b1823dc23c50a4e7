"""Encoding of built-in objects as protobuf messages, by a Python function that is generated once for each type.

Go writes fields that are not pointers even if they are zero. The generated function of a type looks at its fields in
the order of their numbers, and appends the bytes of the value or those of zero:

    def F1(value):
        get = value.get
        out = bytearray()
        v = get(C2)  # C2 = "name"
        if v is None:
            out += C3  # C3 = b"\\n\\x00", an empty string in field 1
        else:
            data = v.encode()
            out += (C4[len(data)] if len(data) < 128 else head(10, len(data))) + data
        return out

Names and bytes are values in the namespace of the functions, as in docs/decisions/0013: no text becomes source code.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache, lru_cache, partial
from typing import Any, Final

from polykind.apis.machinery import value_types as types
from polykind.apis.machinery.json_schema_types import SchemaOrArray, SchemaOrBool, SchemaOrStrings
from polykind.apis.machinery.structs import Field, Struct
from polykind.apis.machinery.value_types import ListOf, MapOf, ValueType
from polykind.codec.protobuf_wire import BYTES, FIXED64, VARINT, bytes_field, encode_utf8, varint_field
from polykind.contract import JsonObject
from polykind.golang.base64 import decode_base64
from polykind.golang.json import encode_json, go_json
from polykind.golang.sorting import sorted_strings
from polykind.golang.varint import encode_varint
from polykind.schema.codegen import FunctionBody, Program

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Writer = Callable[[Any], bytes]


def encode_message(value: JsonObject, struct_type: Struct) -> bytes:
    """Encode an object as a protobuf message, without Kubernetes' envelope. `value` must be the result of decoding."""
    write = _message_writer(struct_type)
    try:
        return bytes(write(value))
    except UnicodeEncodeError:
        return bytes(write(_without_lone_surrogates(value)))


def _without_lone_surrogates(value: Any) -> Any:
    """Return a JSON value whose lone surrogates, which UTF-8 does not have, are replaced with question marks."""
    if isinstance(value, str):
        return encode_utf8(value).decode()
    if isinstance(value, dict):
        return {_without_lone_surrogates(key): _without_lone_surrogates(item) for key, item in value.items()}
    return [_without_lone_surrogates(item) for item in value] if isinstance(value, list) else value


@cache
def _message_writer(struct_type: Struct) -> Writer:
    return _program.compiled(_function(struct_type))


def _function(struct_type: Struct) -> str:
    """Return the name of the generated function that encodes values of a struct."""
    return _program.function(struct_type, "value", lambda body: _write_struct(body, struct_type))


def _write_struct(body: FunctionBody, struct_type: Struct) -> None:
    body.add("get = value.get", "out = bytearray()")
    for field in struct_type.numbered:
        if not field.name and isinstance(field.type, Struct):
            _write_embedded(body, field, field.type)
            continue
        body.add(f"v = get({_program.constant(field.name)})")
        body.block("if v is not None:", partial(_write_value, body, field.number, field.type, "v"))
        if zero := _zero(field):
            body.add(f"else: out += {_program.constant(zero)}")
    body.add("return out")


def _write_embedded(body: FunctionBody, field: Field, struct_type: Struct) -> None:
    """Add code for an embedded struct. In JSON, its fields are members of the enclosing object."""

    def write() -> None:
        _write_message(body, field.number, f"{_function(struct_type)}(value)")

    if field.pointer:
        names = _program.constant(tuple(own.name for own in struct_type.fields))
        body.block(f"if any([get(name) is not None for name in {names}]):", write)
    else:
        write()


def _write_value(body: FunctionBody, number: int, value_type: ValueType, value: str) -> None:
    """Add code that appends the field with the value of a variable, which is not None."""
    if isinstance(value_type, ListOf):
        item = body.variable()
        body.block(f"for {item} in {value}:", lambda: _write_value(body, number, value_type.item, item))
    elif isinstance(value_type, MapOf):
        _write_map(body, number, value_type.item, value)
    elif isinstance(value_type, types.Bool):
        no, yes = _program.constant(varint_field(number, 0)), _program.constant(varint_field(number, 1))
        body.add(f"out += {yes} if {value} else {no}")
    elif isinstance(value_type, types.Int):
        tag = _program.constant(encode_varint(number << 3 | VARINT))
        body.add(f"out += {tag} + encode_varint({value} if {value} >= 0 else {value} + {_program.constant(1 << 64)})")
    elif isinstance(value_type, types.Float):
        body.add(f"out += {_program.constant(encode_varint(number << 3 | FIXED64))} + pack({value})")
    elif isinstance(value_type, Struct):
        _write_message(body, number, f"{_function(value_type)}({value})")
    elif isinstance(value_type, types.String):
        _write_message(body, number, f"{value}.encode()")
    else:
        _write_message(body, number, f"{_program.constant(_payload(value_type))}({value})")


def _write_map(body: FunctionBody, number: int, value_type: ValueType, value: str) -> None:
    """Add code that appends a map: one message for each entry, with the key and the value, in the order of the keys."""
    key, outer = body.variable(), body.variable()
    body.add(f"{outer} = out")

    def write_entry() -> None:
        body.add("out = bytearray()")
        _write_message(body, 1, f"{key}.encode()")
        item = body.variable()
        body.add(f"{item} = {value}[{key}]")
        _write_value(body, 2, value_type, item)
        body.add(f"data = out; out = {outer}")
        _write_data(body, number)

    body.block(f"for {key} in sorted_strings({value}):", write_entry)


def _write_message(body: FunctionBody, number: int, payload: str) -> None:
    body.add(f"data = {payload}")
    _write_data(body, number)


def _write_data(body: FunctionBody, number: int) -> None:
    """Add code that appends the variable `data` as a length-delimited field."""
    heads, tag = _program.constant(_heads(number)), _program.constant(encode_varint(number << 3 | BYTES))
    body.add(
        "size = len(data)",
        f"out += {heads}[size] if size < {_program.constant(_SHORT)} else {tag} + encode_varint(size)",
        "out += data",
    )


_SHORT: Final = 128


@cache
def _heads(number: int) -> tuple[bytes, ...]:
    """Return the starts of length-delimited fields with this number, by the length of their payload."""
    tag = encode_varint(number << 3 | BYTES)
    return tuple(tag + encode_varint(size) for size in range(_SHORT))


def _zero(field: Field) -> bytes:
    """Return the bytes that Go writes for a field that is not set."""
    value_type = field.type
    if field.pointer or isinstance(value_type, ListOf | MapOf | types.Bytes | types.Wrapped):
        return b""
    if isinstance(value_type, types.Bool | types.Int):
        return varint_field(field.number, 0)
    if isinstance(value_type, types.Float):
        return encode_varint(field.number << 3 | FIXED64) + struct.pack("<d", 0)
    if isinstance(value_type, Struct):
        return bytes_field(field.number, encode_message({}, value_type))
    payload = encode_utf8 if isinstance(value_type, types.String) else _payload(value_type)
    return bytes_field(field.number, payload(value_type.zero()))


def _payload(value_type: ValueType) -> Writer:
    """Return a function that encodes a value as the content of a length-delimited field."""
    for value_class, payload in (
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


@lru_cache(maxsize=256)
def _time(value: str | None) -> bytes:
    """Encode a time, which decoding has brought into its canonical form. Most times of an object are the same."""
    if value is None:
        return b""
    since = datetime.fromisoformat(value) - _EPOCH
    return varint_field(1, since.days * 86400 + since.seconds) + varint_field(2, since.microseconds * 1000)


def _quantity(value: str) -> bytes:
    return bytes_field(1, encode_utf8(value))


_program: Final = Program(
    {
        "any": any,
        "bytearray": bytearray,
        "encode_varint": encode_varint,
        "len": len,
        "pack": struct.Struct("<d").pack,
        "sorted_strings": sorted_strings,
    }
)
