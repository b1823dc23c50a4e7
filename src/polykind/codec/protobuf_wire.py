"""The protobuf wire format: varint, fixed-size and length-delimited fields."""

from __future__ import annotations

from collections.abc import Iterator

from polykind.golang.varint import encode_varint

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5

_EOF = "unexpected EOF"
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
    position = 0
    end = len(data)
    while position < end:
        tag = data[position]
        if tag < 0x80:
            position += 1
        else:
            tag, position = _decode_varint(data, position)
        number, wire_type = tag >> 3, tag & 7
        # Fast path: most varints take one byte.
        short = position < end and data[position] < 0x80
        if wire_type == VARINT:
            value, position = (data[position], position + 1) if short else _decode_varint(data, position)
            yield number, value
            continue
        size = 8 if wire_type == FIXED64 else 4
        if wire_type == BYTES:
            size, position = (data[position], position + 1) if short else _decode_varint(data, position)
        elif wire_type not in (FIXED64, FIXED32):
            raise ProtobufError(f"proto: illegal wireType {wire_type}")
        if number == 0:
            raise ProtobufError(f"proto: illegal tag {number} (wire_type type {tag})")
        if position + size > end:
            raise ProtobufError(_EOF)
        yield number, data[position : position + size]
        position += size


def _decode_varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if position >= len(data):
            raise ProtobufError(_EOF)
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & _MASK, position
        shift += 7
        if shift >= 64:
            raise ProtobufError("proto: integer overflow")
