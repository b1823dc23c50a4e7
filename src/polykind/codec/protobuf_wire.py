"""The protobuf wire format: varint, fixed-size and length-delimited fields."""

from __future__ import annotations

from collections.abc import Iterator

from polykind.golang.varint import encode_varint

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5

UNEXPECTED_EOF = "unexpected EOF"
"""Go's text for a message that ends too early."""
_MASK = 0xFFFFFFFFFFFFFFFF


class ProtobufError(ValueError):
    """Bytes that are not a valid message of the expected type."""


def varint_field(number: int, value: int) -> bytes:
    """Encode a varint field. Negative numbers take ten bytes."""
    return encode_varint(number << 3 | VARINT) + encode_varint(value & _MASK)


def encode_utf8(text: str) -> bytes:
    """Encode text as UTF-8, replacing lone surrogates."""
    return text.encode("utf-8", "replace")


def bytes_field(number: int, payload: bytes) -> bytes:
    """Encode a length-delimited field: a string, a message or a map entry."""
    return bytes_field_head(number, len(payload)) + payload


def bytes_field_head(number: int, size: int) -> bytes:
    """Encode the start of a length-delimited field, whose payload has `size` bytes."""
    return encode_varint(number << 3 | BYTES) + encode_varint(size)


def iter_fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield the number and the raw value of each field of a message: an int for a varint, otherwise bytes."""
    position, end = 0, len(data)
    while position < end:
        tag, position = decode_varint(data, position, end)
        if tag & 7 == VARINT:
            value, position = decode_varint(data, position, end)
            yield tag >> 3, value
        else:
            start, position = delimited_field(data, position, end, tag)
            yield tag >> 3, data[start:position]


def delimited_field(data: bytes, position: int, end: int, tag: int) -> tuple[int, int]:
    """Return the start and the end of the value of a field that is not a varint, whose tag ends at `position`."""
    wire_type = tag & 7
    if wire_type == BYTES:
        if position < end and data[position] < 0x80:
            size, position = data[position], position + 1
        else:
            size, position = decode_varint(data, position, end)
    elif wire_type == FIXED64:
        size = 8
    elif wire_type == FIXED32:
        size = 4
    else:
        raise ProtobufError(f"proto: illegal wireType {wire_type}")
    if tag < 8:
        raise ProtobufError(f"proto: illegal tag 0 (wire_type type {tag})")
    if position + size > end:
        raise ProtobufError(UNEXPECTED_EOF)
    return position, position + size


def decode_varint(data: bytes, position: int, end: int) -> tuple[int, int]:
    """Return the varint at `position` of a message that ends at `end`, and the place after it."""
    value = shift = 0
    while True:
        if position >= end:
            raise ProtobufError(UNEXPECTED_EOF)
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & _MASK, position
        shift += 7
        if shift >= 64:
            raise ProtobufError("proto: integer overflow")
