"""An HTTP/2 connection: frames to requests, and responses to frames (RFC 9113).

The requests of a connection run concurrently, as many as MAX_CONCURRENT_STREAMS. docs/reference/limits.md
has the limits.
"""

from __future__ import annotations

import asyncio
from time import perf_counter
from typing import TYPE_CHECKING

from polykind.http.connection import Connection
from polykind.http.http2.body_credit import INITIAL_CREDIT, BodyCredit
from polykind.http.http2.frame_allowance import FrameAllowance
from polykind.http.http2.header_blocks import HeaderBlocks
from polykind.http.http2.http2_output import Http2Output
from polykind.http.http2.http2_request import RequestHead
from polykind.http.http2.http2_stream import Http2Stream
from polykind.http.http2.received_frames import handle_frame
from polykind.http2 import frames
from polykind.http2.frames import (
    DEFAULT_FRAME_BYTES,
    HEADER_BYTES,
    MAX_STREAM_ID,
    PREFACE,
    PROTOCOL_ERROR,
    ConnectionFailure,
    unpack_header,
)
from polykind.http2.huffman import MalformedHeadersError

if TYPE_CHECKING:
    from polykind.http.listener import HttpServer, Limits

_FRAMES_PER_TURN = 512
"""The number of frames that are handled in one iteration of the event loop."""
_TURN_SECONDS = 0.005
"""A request that ends later than this after the start of a turn ends the turn."""
_MAX_UNREAD_FACTOR = 2
"""The unread bytes of all streams of a connection, as a multiple of the limit for one stream."""


class Http2Connection(Connection):
    """An HTTP/2 connection."""

    __slots__ = (
        "_buffer",
        "_has_preface",
        "_is_partial",
        "_reading_paused",
        "_turn_due",
        "blocks",
        "control_frames",
        "credit",
        "draining",
        "has_settings",
        "last_stream_id",
        "limits",
        "loop",
        "output",
        "resets",
        "server",
        "streams",
        "was_used",
    )

    output: Http2Output
    credit: BodyCredit

    def __init__(self, server: HttpServer) -> None:
        super().__init__(server)
        self.server = server
        self.limits: Limits = server.limits
        self.loop = server.loop
        self._buffer = b""
        """Received bytes that have not been handled."""
        self._has_preface = False
        self.has_settings = False
        """True if the client has sent its settings, which must be its first frame."""
        self._reading_paused = False
        self._turn_due = False
        """True if the event loop will handle the next frames of the buffer."""
        self._is_partial = False
        """True if a part of a frame, or of a header block, has arrived."""
        self.was_used = False
        """True if a request has arrived since the deadline of the idle connection was set."""
        self.blocks = HeaderBlocks(server.limits.max_head_bytes)
        self.streams: dict[int, Http2Stream] = {}
        self.last_stream_id = 0
        self.draining = False
        """True if a GOAWAY frame was sent: the open streams end normally, and no further requests are handled."""
        self.control_frames = FrameAllowance("control frames", 10_000, 1_000, self.loop.time)
        self.resets = FrameAllowance("reset streams", 1_000, 33, self.loop.time)

    # ------------------------------------------------------------------ asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.output = Http2Output(transport, self.loop)  # type: ignore[arg-type]
        super().connection_made(transport)
        settings = {
            frames.MAX_CONCURRENT_STREAMS: self.server.http2.max_streams,
            frames.INITIAL_WINDOW_SIZE: INITIAL_CREDIT,
            frames.MAX_HEADER_LIST_SIZE: self.limits.max_head_bytes,
        }
        self.output.write(frames.encode_settings(settings))
        self.credit = BodyCredit(self.output, self.limits.max_body_bytes)
        self.output.flush()

    def connection_lost(self, exc: Exception | None) -> None:
        self.server.remove(self)
        self.closing = True
        for stream in list(self.streams.values()):
            stream.end()
        # Until garbage is collected, the connection stays in memory.
        self._buffer = b""
        self.blocks.clear()

    def pause_writing(self) -> None:
        self._writing_paused = self.output.paused = True

    def resume_writing(self) -> None:
        self._writing_paused = self.output.paused = False
        self.output.pump_blocked()
        if not self._writing_paused and self._reading_paused:
            self._take_turn_soon()

    def data_received(self, data: bytes) -> None:
        if self.closing:
            return
        if self._buffer:
            data = self._buffer + data
        if self._reading_paused:
            self._buffer = data
        else:
            self._handle(data)

    def _take_turn_soon(self) -> None:
        if not self._turn_due:
            self._turn_due = True
            self.loop.call_soon(self._take_turn)

    def _take_turn(self) -> None:
        """Handle further frames of the buffer, after other connections have had their turn."""
        self._turn_due = False
        if self.closing or self._writing_paused:
            return
        data, self._buffer = self._buffer, b""
        self._handle(data)

    # ------------------------------------------------------------------ frames

    def _handle(self, data: bytes) -> None:
        """Handle received frames. Stop after some of them, or if the client does not read what the server writes."""
        output = self.output
        output.holding = True
        at, end, budget = 0, len(data), _FRAMES_PER_TURN
        turn_end = perf_counter() + _TURN_SECONDS
        is_complete = False
        try:
            if not self._has_preface:
                at = self._read_preface(data)
            while end - at >= HEADER_BYTES and self._has_preface:
                head, flags, stream_id = unpack_header(data, at)
                start = at + HEADER_BYTES
                stop = start + (head >> 8)
                if head >> 8 > DEFAULT_FRAME_BYTES:
                    raise ConnectionFailure(frames.FRAME_SIZE_ERROR, "a frame is too long")
                if stop > end:
                    break
                if budget <= 0 or self._writing_paused:
                    is_complete = True
                    break
                cost = handle_frame(self, head & 0xFF, flags, stream_id & MAX_STREAM_ID, data[start:stop])
                budget -= cost
                at = stop
                if cost > 1 and perf_counter() > turn_end:
                    budget = 0
                if self.closing:
                    break
        except ConnectionFailure as failure:
            self._fail(failure)
        except MalformedHeadersError as error:
            self._fail(ConnectionFailure(frames.COMPRESSION_ERROR, str(error)))
        output.holding = False
        output.flush()
        if self.closing:
            return
        self._buffer = data[at:] if at < end else b""
        self._read_on(is_complete=is_complete)

    def _read_preface(self, data: bytes) -> int:
        """Return the length of the preface, or 0 if it has not arrived completely."""
        if not PREFACE.startswith(data[: len(PREFACE)]):
            raise ConnectionFailure(PROTOCOL_ERROR, "the connection does not start with the preface of HTTP/2")
        self._has_preface = len(data) >= len(PREFACE)
        return len(PREFACE) if self._has_preface else 0

    def _read_on(self, *, is_complete: bool) -> None:
        """Handle the rest of the buffer later, or wait for more data."""
        if is_complete or self._writing_paused:
            if not self._reading_paused:
                self._reading_paused = True
                self.transport.pause_reading()
            if not self._writing_paused:
                self._take_turn_soon()
            return
        if self._reading_paused:
            self._reading_paused = False
            self.transport.resume_reading()
        if self.streams:
            return
        if self._buffer or self.blocks.stream_id:
            if not self._is_partial:
                self._is_partial = True
                self.deadline = self.loop.time() + self.limits.receive_seconds
        elif self.was_used or self._is_partial:
            self._is_partial = self.was_used = False
            self.deadline = self.loop.time() + self.limits.idle_seconds

    # ------------------------------------------------------------------ streams

    def add_stream(self, stream_id: int, head: RequestHead | None = None) -> Http2Stream:
        """Add a stream. `head` is the head of a request whose body has not arrived yet."""
        stream = self.streams[stream_id] = Http2Stream(self, stream_id, head)
        return stream

    def owns(self, stream: Http2Stream) -> bool:
        """True if the stream has not ended."""
        return self.streams.get(stream.stream_id) is stream

    def reset(self, stream_id: int, code: int) -> None:
        self.output.write(frames.encode_reset(stream_id, code))

    def remove(self, stream: Http2Stream) -> None:
        """Forget a stream that has ended."""
        if self.streams.pop(stream.stream_id, None) is None:
            return
        self.output.discard(stream)
        self.credit.release(stream)
        if not self.streams and not self.closing:
            self.deadline = self.loop.time() + self.limits.idle_seconds
            if self.draining:
                self._close_later()

    def has_too_much_unread(self) -> bool:
        """True if the streams of this connection together hold too many bytes that the client does not read."""
        return self.output.unsent_size > self.limits.max_unread_bytes * _MAX_UNREAD_FACTOR

    def expire_stream_in(self, seconds: float) -> float:
        """Return the deadline of a stream, and check it in time."""
        deadline = self.loop.time() + seconds
        self.deadline = min(self.deadline, deadline)
        return deadline

    # ------------------------------------------------------------------ closing

    def expire(self) -> None:
        now = self.loop.time()
        if self.closing:
            if not (self.server.stopping and self.transport.get_write_buffer_size()):
                self.abort()
            return
        if not self.streams:
            self._drain()
            return
        for stream in [stream for stream in self.streams.values() if now > stream.deadline]:
            stream.expire()
        if self.streams:
            self.deadline = min(stream.deadline for stream in self.streams.values())

    def shut_down(self) -> None:
        if self.closing:
            return
        idle = self.loop.time() - (self.deadline - self.limits.idle_seconds)
        was_idle = not self.streams and idle > self.limits.linger_seconds * 2
        for stream in list(self.streams.values()):
            if stream.has_response_stream:
                stream.finish()
        self._drain()
        if was_idle:
            # The client read its last response long ago. Do not wait until the client closes its side.
            self.deadline = self.loop.time()

    def drain_later(self) -> None:
        """Close the connection soon, after the response that is being written."""
        if not self.draining:
            self.loop.call_soon(self._drain)

    def _drain(self) -> None:
        """Tell the client to use another connection. Close this one when the open streams have ended."""
        if self.closing or self.draining:
            return
        self.draining = True
        self.output.write(frames.encode_goaway(self.last_stream_id, frames.NO_ERROR))
        if not self.streams:
            self._close_later()

    def _close_later(self) -> None:
        """Close the connection after the client had time to read the last frames."""
        self.output.flush()
        if self.server.stopping:
            self._close()
            return
        self.closing = True
        linger = self.limits.linger_seconds
        self.deadline = self.loop.time() + linger * 4
        # The client may still be sending. Closing at once would reset the connection and lose the last frames.
        self.loop.call_later(linger, self.transport.close)

    def _fail(self, failure: ConnectionFailure) -> None:
        """Tell the client about its error and close the connection."""
        self.output.write(frames.encode_goaway(self.last_stream_id, failure.code, str(failure)))
        self._close_later()
        for stream in list(self.streams.values()):
            stream.end()
