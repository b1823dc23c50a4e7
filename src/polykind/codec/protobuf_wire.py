"""The wire of protobuf: numbered fields, each a varint, eight or four bytes, or a length and so many bytes."""

from __future__ import annotations

from collections.abc import Iterator

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5

_EOF = "unexpected EOF"
_MASK = 0xFFFFFFFFFFFFFFFF
_SHORT = [bytes([value]) for value in range(0x80)]


class ProtobufError(ValueError):
    """The bytes are no message of the type."""


def varint_field(number: int, value: int) -> bytes:
    """A field that is a varint; negative numbers take ten bytes."""
    return encode_varint(number << 3 | VARINT) + encode_varint(value & _MASK)


def encode_utf8(text: str) -> bytes:
    """Text as Go holds it."""
    return text.encode("utf-8", "replace")


def bytes_field(number: int, payload: bytes) -> bytes:
    """A field that is bytes: a string, a message, a map's entry."""
    return encode_varint(number << 3 | BYTES) + encode_varint(len(payload)) + payload


def encode_varint(value: int) -> bytes:
    """A number, seven bits to a byte."""
    if value <= 0x7F:
        return _SHORT[value]
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def iter_fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """The fields of a message: a number and its raw value, varints as integers and all else as bytes."""
    position = 0
    end = len(data)
    while position < end:
        tag = data[position]
        if tag < 0x80:
            position += 1
        else:
            tag, position = _read(data, position)
        number, wire = tag >> 3, tag & 7
        # Most numbers and lengths take one byte.
        short = position < end and data[position] < 0x80
        if wire == VARINT:
            value, position = (data[position], position + 1) if short else _read(data, position)
            yield number, value
            continue
        size = 8 if wire == FIXED64 else 4
        if wire == BYTES:
            size, position = (data[position], position + 1) if short else _read(data, position)
        elif wire not in (FIXED64, FIXED32):
            raise ProtobufError(f"proto: illegal wireType {wire}")
        if number == 0:
            raise ProtobufError(f"proto: illegal tag {number} (wire type {tag})")
        if position + size > end:
            raise ProtobufError(_EOF)
        yield number, data[position : position + size]
        position += size


def _read(data: bytes, position: int) -> tuple[int, int]:
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
