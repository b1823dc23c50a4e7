"""Encoding and decoding of protobuf fields, for the few messages of etcd's API that are used here."""

from __future__ import annotations

from collections.abc import Iterator

from polykind.golang.varint import encode_varint


def decode_varint(raw: bytes) -> int:
    """Decode bytes that consist of exactly one varint."""
    value = 0
    for byte in reversed(raw):
        value = value << 7 | byte & 0x7F
    return value


def varint_field(field: int, value: int) -> bytes:
    """Encode an integer field. Zero is the default and encodes to nothing."""
    return encode_varint(field << 3) + encode_varint(value) if value else b""


def bytes_field(field: int, value: bytes) -> bytes:
    """Encode a bytes field. An empty value encodes to nothing."""
    return encode_varint(field << 3 | 2) + encode_varint(len(value)) + value if value else b""


def message_field(field: int, value: bytes) -> bytes:
    """Encode an embedded message, even if it is empty, because its presence matters."""
    return encode_varint(field << 3 | 2) + encode_varint(len(value)) + value


class MalformedMessageError(ValueError):
    """A malformed protobuf message."""


def iter_fields(raw: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield the fields of a message in order: an int for a varint, bytes for a length-delimited field."""
    at, end = 0, len(raw)
    try:
        while at < end:
            key = raw[at]
            at += 1
            if key >= 0x80:
                key, at = _decode_long_varint(raw, key, at)
            wire_type = key & 7
            if wire_type == 0 or wire_type == 2:
                value = raw[at]
                at += 1
                if value >= 0x80:
                    value, at = _decode_long_varint(raw, value, at)
                if wire_type == 0:
                    yield key >> 3, value
                else:
                    field_end = at + value
                    if field_end > end:
                        raise MalformedMessageError("a field is longer than its message")
                    yield key >> 3, raw[at:field_end]
                    at = field_end
            elif wire_type == 1:
                at += 8
            elif wire_type == 5:
                at += 4
            else:
                raise MalformedMessageError(f"wire type {wire_type}")
    except IndexError:
        raise MalformedMessageError("a message ends within a varint") from None


def _decode_long_varint(raw: bytes, first: int, at: int) -> tuple[int, int]:
    value, shift = first & 0x7F, 7
    while True:
        byte = raw[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        if shift > 63:
            raise MalformedMessageError("a varint is too long")
