"""Framing of streams: the events of a watch as HTTP chunks or as WebSocket messages.

The frames of HTTP/2 belong to one stream each, so the connection adds them, and the events have no other framing.
"""

from __future__ import annotations

import zlib
from typing import Protocol

from polykind.http.messages import HTTP2, Request, encode_chunk
from polykind.http.websocket_frames import BINARY, TEXT, encode_frame

_MAX_COMPRESSED = 256 * 1024
"""The size above which a single event is stored in its gzip file without compression."""


class Framing(Protocol):
    """The format in which a stream separates its events. Equal formats are the same object."""

    compresses: bool
    """True if `frame` compresses, so that long lists of events belong in a worker thread."""

    def frame(self, events: list[bytes]) -> bytes:
        """Return the bytes to send for encoded events."""

    def from_chunk(self, chunk: bytes) -> bytes:
        """Return the bytes to send for an event that is already encoded as an HTTP chunk."""


class _ChunkFraming:
    """Sends events in HTTP chunks. A chunk may contain several events. Clients separate them by their encoding."""

    compresses = False

    def frame(self, events: list[bytes]) -> bytes:
        return encode_chunk(b"".join(events))

    def from_chunk(self, chunk: bytes) -> bytes:
        return chunk


class _PlainFraming:
    """Sends events one after the other. Clients separate them by their encoding."""

    compresses = False

    def frame(self, events: list[bytes]) -> bytes:
        return b"".join(events)

    def from_chunk(self, chunk: bytes) -> bytes:
        return _chunk_data(chunk)


class _GzipFraming:
    """Sends events as complete gzip files, as kube-apiserver 1.37 does. In HTTP/1.1, each file is a chunk.

    A file does not depend on earlier files. So all watchers share it, and an idle watch needs no memory for gzip.
    """

    compresses = True

    def __init__(self, outer: Framing) -> None:
        self._outer = outer

    def frame(self, events: list[bytes]) -> bytes:
        return self._outer.frame([_gzip(b"".join(events), level=1)])

    def from_chunk(self, chunk: bytes) -> bytes:
        data = _chunk_data(chunk)
        # This runs on the event loop, which must not wait until a very long event is compressed.
        return self._outer.frame([_gzip(data, level=1 if len(data) <= _MAX_COMPRESSED else 0)])


class _WebSocketFraming:
    """Sends each event in a separate WebSocket message."""

    compresses = False

    def __init__(self, opcode: int, length_prefix: int) -> None:
        self._opcode = opcode
        self._length_prefix = length_prefix
        """The number of bytes before each event that hold its length. WebSocket messages omit these bytes."""

    def frame(self, events: list[bytes]) -> bytes:
        return b"".join([encode_frame(self._opcode, event[self._length_prefix :]) for event in events])

    def from_chunk(self, chunk: bytes) -> bytes:
        return encode_frame(self._opcode, _chunk_data(chunk)[self._length_prefix :])


def _chunk_data(chunk: bytes) -> bytes:
    return chunk[chunk.index(b"\r\n") + 2 : -2]


def _gzip(data: bytes, level: int) -> bytes:
    compressor = zlib.compressobj(level, wbits=31)
    return compressor.compress(data) + compressor.flush()


HTTP_CHUNKS: Framing = _ChunkFraming()
PLAIN: Framing = _PlainFraming()
GZIP_CHUNKS: Framing = _GzipFraming(HTTP_CHUNKS)
GZIP_FILES: Framing = _GzipFraming(PLAIN)
TEXT_MESSAGES: Framing = _WebSocketFraming(TEXT, length_prefix=0)
BINARY_MESSAGES: Framing = _WebSocketFraming(BINARY, length_prefix=4)
"""Binary messages with protobuf events, without the length of four bytes that precedes an event in an HTTP stream."""


def stream_framing(request: Request, *, compressed: bool) -> Framing:
    """Return the framing of a stream that is not a WebSocket."""
    if request.protocol == HTTP2:
        return GZIP_FILES if compressed else PLAIN
    return GZIP_CHUNKS if compressed else HTTP_CHUNKS
