"""Variable-length integers of protobuf and of Go's encoding/binary: seven bits per byte, lowest bits first."""

from __future__ import annotations

_SINGLE_BYTES = [bytes([value]) for value in range(0x80)]


def encode_varint(value: int) -> bytes:
    """Encode a non-negative integer below 2**64 as a varint."""
    if value <= 0x7F:
        return _SINGLE_BYTES[value]
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
