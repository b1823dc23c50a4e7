"""The frames of HTTP/2 (RFC 9113, sections 4 and 6): their types, flags, error codes and encoding."""

from __future__ import annotations

import struct
from typing import Final

PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
"""The bytes with which a client starts a connection."""

DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(10)
END_STREAM, ACK, END_HEADERS, PADDED, WITH_PRIORITY = 0x1, 0x1, 0x4, 0x8, 0x20

NO_ERROR, PROTOCOL_ERROR, INTERNAL_ERROR, FLOW_CONTROL_ERROR = 0, 1, 2, 3
STREAM_CLOSED, FRAME_SIZE_ERROR, REFUSED_STREAM, CANCEL = 5, 6, 7, 8
COMPRESSION_ERROR, ENHANCE_YOUR_CALM = 9, 11

HEADER_TABLE_SIZE, ENABLE_PUSH, MAX_CONCURRENT_STREAMS, INITIAL_WINDOW_SIZE = 1, 2, 3, 4
MAX_FRAME_SIZE, MAX_HEADER_LIST_SIZE = 5, 6

MAX_WINDOW: Final = 2**31 - 1
MAX_STREAM_ID: Final = 2**31 - 1
DEFAULT_WINDOW: Final = 65_535
DEFAULT_FRAME_BYTES: Final = 16_384
"""The longest payload unless a SETTINGS frame allows more. The server receives no longer frames."""

HEADER_BYTES: Final = 9
_HEADER: Final = struct.Struct(">IBI")
pack_header = _HEADER.pack
"""Encode the header of a frame: the length shifted by 8 bits plus the type, the flags, and the stream."""
unpack_header = _HEADER.unpack_from
_pack_int = struct.Struct(">I").pack


class ConnectionFailure(Exception):
    """An error of the peer that ends the connection with a GOAWAY frame (RFC 9113, section 5.4.1)."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


def encode_frame(kind: int, flags: int, stream_id: int, payload: bytes) -> bytes:
    return pack_header(len(payload) << 8 | kind, flags, stream_id) + payload


def encode_reset(stream_id: int, code: int) -> bytes:
    return encode_frame(RST_STREAM, 0, stream_id, _pack_int(code))


def encode_window_update(stream_id: int, increment: int) -> bytes:
    return encode_frame(WINDOW_UPDATE, 0, stream_id, _pack_int(increment))


def encode_goaway(last_stream_id: int, code: int, message: str = "") -> bytes:
    return encode_frame(GOAWAY, 0, 0, _pack_int(last_stream_id) + _pack_int(code) + message.encode())


def encode_settings(settings: dict[int, int]) -> bytes:
    return encode_frame(SETTINGS, 0, 0, b"".join(struct.pack(">HI", name, value) for name, value in settings.items()))


def decode_settings(payload: bytes) -> dict[int, int]:
    """Return the settings of a SETTINGS frame. Raise ConnectionFailure if a value is invalid."""
    if len(payload) % 6:
        raise ConnectionFailure(FRAME_SIZE_ERROR, "a SETTINGS frame has an incomplete setting")
    settings = dict(struct.iter_unpack(">HI", payload))
    if settings.get(ENABLE_PUSH, 0) > 1:
        raise ConnectionFailure(PROTOCOL_ERROR, "SETTINGS_ENABLE_PUSH is neither 0 nor 1")
    if settings.get(INITIAL_WINDOW_SIZE, 0) > MAX_WINDOW:
        raise ConnectionFailure(FLOW_CONTROL_ERROR, "SETTINGS_INITIAL_WINDOW_SIZE is too large")
    if not DEFAULT_FRAME_BYTES <= settings.get(MAX_FRAME_SIZE, DEFAULT_FRAME_BYTES) < 2**24:
        raise ConnectionFailure(PROTOCOL_ERROR, "SETTINGS_MAX_FRAME_SIZE is out of range")
    return settings


def decode_increment(payload: bytes) -> int:
    """Return the increment of a WINDOW_UPDATE frame, which may be 0."""
    if len(payload) != 4:
        raise ConnectionFailure(FRAME_SIZE_ERROR, "a WINDOW_UPDATE frame has no 4 bytes")
    return int.from_bytes(payload, "big") & MAX_WINDOW


def remove_padding(flags: int, payload: bytes) -> bytes:
    """Return the payload of a DATA or HEADERS frame without its padding. Raise ConnectionFailure if it is too long."""
    if not flags & PADDED:
        return payload
    if not payload or payload[0] >= len(payload):
        raise ConnectionFailure(PROTOCOL_ERROR, "the padding of a frame is longer than the frame")
    return payload[1 : len(payload) - payload[0]]


def remove_priority(flags: int, stream_id: int, payload: bytes) -> bytes:
    """Return the header block of a HEADERS frame without the priority, which is ignored."""
    if not flags & WITH_PRIORITY:
        return payload
    if len(payload) < 5:
        raise ConnectionFailure(FRAME_SIZE_ERROR, "a HEADERS frame has an incomplete priority")
    if int.from_bytes(payload[:4], "big") & MAX_STREAM_ID == stream_id:
        raise ConnectionFailure(PROTOCOL_ERROR, "a stream depends on itself")
    return payload[5:]
