"""The output of an HTTP/2 connection: frames that are written together, and flow control of what is sent.

A stream whose window is exhausted keeps its data and does not delay other streams. If the window of the connection is
exhausted, or the client reads nothing, the waiting streams take turns afterwards.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Final

from polykind.http2.frames import (
    CONTINUATION,
    DEFAULT_FRAME_BYTES,
    DEFAULT_WINDOW,
    END_HEADERS,
    END_STREAM,
    FLOW_CONTROL_ERROR,
    HEADERS,
    INITIAL_WINDOW_SIZE,
    MAX_FRAME_SIZE,
    MAX_WINDOW,
    ConnectionFailure,
    pack_header,
)

if TYPE_CHECKING:
    from polykind.http.http2.http2_stream import Http2Stream

_FLUSH_BYTES: Final = 64 * 1024
"""Frames are written at the end of the event loop's iteration, or when there are more than this many bytes."""
_TURN_BYTES: Final = 64 * 1024
"""The bytes that a waiting stream sends before the next waiting stream has its turn."""
_MAX_SENT_FRAME: Final = 64 * 1024


class Http2Output:
    """Writes the frames of one connection."""

    __slots__ = (
        "_blocked",
        "_flush_due",
        "_frames",
        "_loop",
        "_size",
        "_transport",
        "holding",
        "initial_window",
        "max_frame",
        "paused",
        "unsent_size",
        "window",
    )

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._frames: list[bytes | memoryview] = []
        self._size = 0
        self._flush_due = False
        self.holding = False
        """True while received frames are handled. `flush` is called afterwards."""
        self.paused = False
        """True if the client has left so much unread that no more DATA frames should be written."""
        self.window = DEFAULT_WINDOW
        """The bytes of DATA frames that the client accepts now on all streams together."""
        self.initial_window = DEFAULT_WINDOW
        """The window of a new stream."""
        self.max_frame = DEFAULT_FRAME_BYTES
        self.unsent_size = 0
        """The bytes that wait in all streams together."""
        self._blocked: dict[Http2Stream, None] = {}
        """The streams that wait for the window of the connection, or until the client reads."""

    def write(self, *frames: bytes | memoryview) -> None:
        """Queue frames, or parts of frames. Those of one iteration of the event loop are written together."""
        self._frames += frames
        for frame in frames:
            self._size += len(frame)
        if self._size > _FLUSH_BYTES:
            self.flush()
        elif not self.holding and not self._flush_due:
            self._flush_due = True
            self._loop.call_soon(self._flush_later)

    def _flush_later(self) -> None:
        self._flush_due = False
        self.flush()

    def flush(self) -> None:
        """Write all queued frames now."""
        frames, self._frames, self._size = self._frames, [], 0
        if frames and not self._transport.is_closing():
            self._transport.write(b"".join(frames))

    def write_headers(self, stream_id: int, block: bytes, flags: int = 0) -> None:
        """Write a header block in as many frames as it needs. `flags` is END_STREAM or 0."""
        if len(block) <= DEFAULT_FRAME_BYTES:
            self.write(pack_header(len(block) << 8 | HEADERS, flags | END_HEADERS, stream_id), block)
            return
        kind = HEADERS
        for start in range(0, len(block), DEFAULT_FRAME_BYTES):
            part = block[start : start + DEFAULT_FRAME_BYTES]
            if start + DEFAULT_FRAME_BYTES >= len(block):
                flags |= END_HEADERS
            self.write(pack_header(len(part) << 8 | kind, flags, stream_id), part)
            kind, flags = CONTINUATION, 0

    # ------------------------------------------------------------------ flow control

    def is_blocked(self) -> bool:
        """True if no stream can send: the window of the connection is exhausted, or the client reads nothing."""
        return self.paused or self.window <= 0

    def await_turn(self, stream: Http2Stream) -> None:
        """Call the stream's `on_sent` when the streams that wait for the connection take turns."""
        if stream.window > 0:
            self._blocked[stream] = None

    def pump(self, stream: Http2Stream, limit: int = MAX_WINDOW) -> None:
        """Send the queued data of a stream as far as the windows allow, but not many more bytes than `limit`."""
        queue = stream.unsent
        while queue and limit > 0:
            allowed = min(stream.window, self.window, self.max_frame)
            if self.paused or allowed <= 0:
                if self.paused or stream.window > 0:
                    self._blocked[stream] = None
                _release_sent(queue)
                return
            data = queue.popleft()
            if len(data) > allowed:
                # A view does not copy the rest of a long piece for each of its frames.
                view = memoryview(data)
                queue.appendleft(view[allowed:])
                data = view[:allowed]
            size = len(data)
            stream.window -= size
            self.window -= size
            stream.unsent_size -= size
            self.unsent_size -= size
            limit -= size
            ends = stream.finished and not queue
            self.write(pack_header(size << 8, END_STREAM if ends else 0, stream.stream_id), data)
            if ends:
                stream.on_sent()
                return
        if queue:
            self._blocked[stream] = None
            _release_sent(queue)
        elif stream.finished:
            self.write(pack_header(0, END_STREAM, stream.stream_id))
            stream.on_sent()
        else:
            stream.on_sent()

    def pump_blocked(self) -> None:
        """Let the waiting streams take turns until the window is exhausted again."""
        blocked = self._blocked
        while blocked and self.window > 0 and not self.paused:
            stream = next(iter(blocked))
            del blocked[stream]
            self.pump(stream, _TURN_BYTES)

    def discard(self, stream: Http2Stream) -> None:
        """Forget the queued data of a stream that has ended."""
        self._blocked.pop(stream, None)
        self.unsent_size -= stream.unsent_size
        stream.unsent_size = 0
        stream.unsent.clear()

    def apply_settings(self, settings: dict[int, int], streams: list[Http2Stream]) -> None:
        """Apply the client's settings to the output. A new initial window also changes the windows of open streams."""
        self.max_frame = min(settings.get(MAX_FRAME_SIZE, self.max_frame), _MAX_SENT_FRAME)
        more = settings.get(INITIAL_WINDOW_SIZE, self.initial_window) - self.initial_window
        if not more:
            return
        self.initial_window += more
        for stream in streams:
            stream.window += more
            if stream.window > MAX_WINDOW:
                raise ConnectionFailure(FLOW_CONTROL_ERROR, "a setting makes the window of a stream too large")
        for stream in streams:
            stream.on_window()

    def add_window(self, increment: int) -> None:
        """Handle a WINDOW_UPDATE of the connection."""
        self.window += increment
        if self.window > MAX_WINDOW:
            raise ConnectionFailure(FLOW_CONTROL_ERROR, "the window of the connection is too large")
        if self._blocked:
            self.pump_blocked()


def _release_sent(queue: deque[bytes | memoryview]) -> None:
    """Copy the rest of a piece of which the larger part was sent, so that a waiting stream does not keep the piece."""
    rest = queue[0]
    if isinstance(rest, memoryview) and len(rest) * 2 < len(rest.obj):  # type: ignore[arg-type]
        queue[0] = bytes(rest)
