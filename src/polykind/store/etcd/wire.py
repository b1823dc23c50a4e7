"""Protocol Buffers as bytes: fields written and read one by one, for the few messages that are spoken here."""

from __future__ import annotations

from collections.abc import Iterator

_SINGLE = [bytes([n]) for n in range(0x80)]


def varint(number: int) -> bytes:
    """A non-negative number below 2**64."""
    if number < 0x80:
        return _SINGLE[number]
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def long_number(raw: bytes) -> int:
    """The number that these bytes, all of them, are."""
    value = 0
    for byte in reversed(raw):
        value = value << 7 | byte & 0x7F
    return value


def number(field: int, value: int) -> bytes:
    """A numeric field; zero is the default and takes no bytes."""
    return varint(field << 3) + varint(value) if value else b""


def data(field: int, value: bytes) -> bytes:
    """A field of bytes; none at all if empty."""
    return varint(field << 3 | 2) + varint(len(value)) + value if value else b""


def message(field: int, value: bytes) -> bytes:
    """An embedded message, written even if empty: that it is there says something."""
    return varint(field << 3 | 2) + varint(len(value)) + value


class Malformed(ValueError):
    """Bytes that are no message."""


def fields(raw: bytes) -> Iterator[tuple[int, int | bytes]]:
    """The fields of a message in order: numbers for varints, bytes for what has a length."""
    at, end = 0, len(raw)
    try:
        while at < end:
            key = raw[at]
            at += 1
            if key >= 0x80:
                key, at = _long(raw, key, at)
            kind = key & 7
            if kind == 0 or kind == 2:
                value = raw[at]
                at += 1
                if value >= 0x80:
                    value, at = _long(raw, value, at)
                if kind == 0:
                    yield key >> 3, value
                else:
                    stop = at + value
                    if stop > end:
                        raise Malformed("a field is longer than its message")
                    yield key >> 3, raw[at:stop]
                    at = stop
            elif kind == 1:
                at += 8
            elif kind == 5:
                at += 4
            else:
                raise Malformed(f"wire type {kind}")
    except IndexError:
        raise Malformed("a message ends within a number") from None


def _long(raw: bytes, first: int, at: int) -> tuple[int, int]:
    value, shift = first & 0x7F, 7
    while True:
        byte = raw[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        if shift > 63:
            raise Malformed("a number is too long")
