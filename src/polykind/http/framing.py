"""Framing of streams: the events of a watch as HTTP chunks or as WebSocket messages."""

from __future__ import annotations

from typing import Protocol

from polykind.http.messages import encode_chunk
from polykind.http.websocket_frames import BINARY, TEXT, encode_frame


class Framing(Protocol):
    """The way in which a stream separates its events. Equal framings are the same object."""

    def frame(self, events: list[bytes]) -> bytes:
        """Return encoded events as they are sent."""

    def from_chunk(self, chunk: bytes) -> bytes:
        """Return an event as it is sent, given the HTTP chunk that contains it."""


class _ChunkFraming:
    """Sends events in HTTP chunks. Their own encoding separates the events of a chunk."""

    def frame(self, events: list[bytes]) -> bytes:
        return encode_chunk(b"".join(events))

    def from_chunk(self, chunk: bytes) -> bytes:
        return chunk


class _WebSocketFraming:
    """Sends each event in a WebSocket message of its own."""

    def __init__(self, opcode: int, length_prefix: int) -> None:
        self._opcode = opcode
        self._length_prefix = length_prefix
        """The size of the length before each event. A WebSocket message does without it."""

    def frame(self, events: list[bytes]) -> bytes:
        return b"".join([encode_frame(self._opcode, event[self._length_prefix :]) for event in events])

    def from_chunk(self, chunk: bytes) -> bytes:
        start = chunk.index(b"\r\n") + 2
        return encode_frame(self._opcode, chunk[start + self._length_prefix : -2])


HTTP_CHUNKS: Framing = _ChunkFraming()
TEXT_MESSAGES: Framing = _WebSocketFraming(TEXT, length_prefix=0)
BINARY_MESSAGES: Framing = _WebSocketFraming(BINARY, length_prefix=4)
"""Messages with protobuf, which has a length of four bytes before each event of an HTTP stream."""
