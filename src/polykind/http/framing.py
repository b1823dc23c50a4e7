"""Framing of streams: the events of a watch as HTTP chunks or as WebSocket messages."""

from __future__ import annotations

from typing import Protocol

from polykind.http.messages import encode_chunk
from polykind.http.websocket_frames import BINARY, TEXT, encode_frame


class Framing(Protocol):
    """The format in which a stream separates its events. Equal framings are the same object."""

    def frame(self, events: list[bytes]) -> bytes:
        """Return the bytes to send for encoded events."""

    def from_chunk(self, chunk: bytes) -> bytes:
        """Return the bytes to send for the event that an HTTP chunk contains."""


class _ChunkFraming:
    """Sends events in HTTP chunks. A chunk may contain several events, which their encoding separates."""

    def frame(self, events: list[bytes]) -> bytes:
        return encode_chunk(b"".join(events))

    def from_chunk(self, chunk: bytes) -> bytes:
        return chunk


class _WebSocketFraming:
    """Sends each event in a separate WebSocket message."""

    def __init__(self, opcode: int, length_prefix: int) -> None:
        self._opcode = opcode
        self._length_prefix = length_prefix
        """The number of bytes of the length before each encoded event. WebSocket messages omit the length."""

    def frame(self, events: list[bytes]) -> bytes:
        return b"".join([encode_frame(self._opcode, event[self._length_prefix :]) for event in events])

    def from_chunk(self, chunk: bytes) -> bytes:
        start = chunk.index(b"\r\n") + 2
        return encode_frame(self._opcode, chunk[start + self._length_prefix : -2])


HTTP_CHUNKS: Framing = _ChunkFraming()
TEXT_MESSAGES: Framing = _WebSocketFraming(TEXT, length_prefix=0)
BINARY_MESSAGES: Framing = _WebSocketFraming(BINARY, length_prefix=4)
"""Binary messages with protobuf events, without the length of four bytes that precedes an event in an HTTP stream."""
