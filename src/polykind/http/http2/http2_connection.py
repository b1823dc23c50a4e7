"""An HTTP/2 connection: frames to requests, and responses to frames (RFC 9113).

The requests of a connection run concurrently, as many as MAX_CONCURRENT_STREAMS. docs/reference/limits.md
has the limits.
"""

from __future__ import annotations

import asyncio
import random
from time import perf_counter
from typing import TYPE_CHECKING

from polykind import errors, taskless
from polykind.hpack.header_decoder import HeadersTooLargeError
from polykind.hpack.huffman import MalformedHeadersError
from polykind.http.connection import PIECE_BYTES, TIMEOUT_STATUS, Connection
from polykind.http.http2 import frames
from polykind.http.http2.body_credit import INITIAL_CREDIT, BodyCredit
from polykind.http.http2.frame_allowance import FrameAllowance
from polykind.http.http2.frames import (
    CONTINUATION,
    DEFAULT_FRAME_BYTES,
    END_HEADERS,
    END_STREAM,
    HEADER_BYTES,
    HEADERS,
    MAX_STREAM_ID,
    PADDED,
    PREFACE,
    PROTOCOL_ERROR,
    SETTINGS,
    WITH_PRIORITY,
    ConnectionFailure,
    pack_header,
    unpack_header,
)
from polykind.http.http2.http2_output import Http2Output
from polykind.http.http2.http2_request import MalformedRequestError, RequestHead, new_decoder, read_head
from polykind.http.http2.http2_response import CONTINUE_BLOCK, encode_response_head
from polykind.http.http2.http2_stream import Http2Stream
from polykind.http.messages import TEXT, Request, Response, Stream, body_size
from polykind.taskless import Continuation

if TYPE_CHECKING:
    from polykind.http.listener import HttpServer, Limits

_FRAMES_PER_TURN = 512
"""The number of frames that are handled in one iteration of the event loop."""
_FRAMES_PER_REQUEST = 32
"""The number of other frames that take as long as a request."""
_TURN_SECONDS = 0.005
"""A request that ends later than this after the start of a turn ends the turn."""
_MAX_CACHED_HEADS = 64
_MAX_UNREAD_FACTOR = 2
"""The unread bytes of all streams of a connection, as a multiple of the limit for one stream."""
_SHORT_DATA = 256
"""DATA frames below this size are counted, because a body in such frames costs much more than its size."""

_SHORT_INCREMENT = 1024
"""WINDOW_UPDATE frames below this increment are counted. Others follow the data that the server sends: a Go client
sends one for every 4 KiB that it reads.
"""


class Http2Connection(Connection):
    """An HTTP/2 connection."""

    __slots__ = (
        "_block",
        "_block_flags",
        "_block_stream",
        "_buffer",
        "_control",
        "_credit",
        "_decoder",
        "_draining",
        "_has_preface",
        "_has_settings",
        "_heads",
        "_heads_generation",
        "_is_partial",
        "_last_stream_id",
        "_reading_paused",
        "_resets",
        "_streams",
        "_turn_due",
        "_was_used",
        "limits",
        "loop",
        "output",
    )

    output: Http2Output
    _credit: BodyCredit

    def __init__(self, server: HttpServer) -> None:
        super().__init__(server)
        self.limits: Limits = server.limits
        self.loop = server.loop
        self._buffer = b""
        """Received bytes that have not been handled."""
        self._has_preface = False
        self._has_settings = False
        """True if the client has sent its settings, which must be its first frame."""
        self._reading_paused = False
        self._turn_due = False
        """True if the event loop will handle the next frames of the buffer."""
        self._is_partial = False
        """True if a part of a frame, or of a header block, has arrived."""
        self._was_used = False
        """True if a request has arrived since the deadline of the idle connection was set."""
        self._decoder = new_decoder()
        self._heads: dict[bytes, RequestHead] = {}
        """The heads of recent header blocks. Valid as long as the decoder's dynamic table is unchanged."""
        self._heads_generation = 0
        self._block: bytearray | None = None
        """The received part of a header block that CONTINUATION frames complete."""
        self._block_stream = self._block_flags = 0
        self._streams: dict[int, Http2Stream] = {}
        self._last_stream_id = 0
        self._draining = False
        """True if a GOAWAY frame was sent: the open streams end normally, and no further requests are handled."""
        self._control = FrameAllowance("control frames", 10_000, 1_000, self.loop.time)
        self._resets = FrameAllowance("reset streams", 1_000, 33, self.loop.time)

    # ------------------------------------------------------------------ asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.output = Http2Output(transport, self.loop)  # type: ignore[arg-type]
        super().connection_made(transport)
        settings = {
            frames.MAX_CONCURRENT_STREAMS: self._server.http2.max_streams,
            frames.INITIAL_WINDOW_SIZE: INITIAL_CREDIT,
            frames.MAX_HEADER_LIST_SIZE: self.limits.max_head_bytes,
        }
        self.output.write(frames.encode_settings(settings))
        self._credit = BodyCredit(self.output, self.limits.max_body_bytes)
        self.output.flush()

    def connection_lost(self, exc: Exception | None) -> None:
        self._server.remove(self)
        self.closing = True
        for stream in list(self._streams.values()):
            stream.end()

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
                cost = self._on_frame(head & 0xFF, flags, stream_id & MAX_STREAM_ID, data[start:stop])
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
        if self._streams:
            return
        if self._buffer or self._block is not None:
            if not self._is_partial:
                self._is_partial = True
                self.deadline = self.loop.time() + self.limits.receive_seconds
        elif self._was_used or self._is_partial:
            self._is_partial = self._was_used = False
            self.deadline = self.loop.time() + self.limits.idle_seconds

    def _on_frame(self, kind: int, flags: int, stream_id: int, payload: bytes) -> int:
        """Handle a frame and return its cost, as a number of cheap frames."""
        if kind == HEADERS and self._has_settings and self._block is None:
            if not stream_id & 1:
                raise ConnectionFailure(PROTOCOL_ERROR, "the number of a stream is even")
            if flags & (PADDED | WITH_PRIORITY):
                payload = frames.remove_priority(flags, stream_id, frames.remove_padding(flags, payload))
            if flags & END_HEADERS:
                self._on_block(stream_id, flags, payload)
            else:
                self._block, self._block_stream, self._block_flags = bytearray(payload), stream_id, flags
                self._check_block(self._block)
            return _FRAMES_PER_REQUEST
        if (kind == CONTINUATION) != (self._block is not None) or (
            self._block is not None and stream_id != self._block_stream
        ):
            raise ConnectionFailure(PROTOCOL_ERROR, "a header block is interrupted, or continued without a start")
        if not self._has_settings and kind != SETTINGS:
            raise ConnectionFailure(PROTOCOL_ERROR, "the first frame is not a SETTINGS frame")
        if kind < len(_HANDLERS):
            _HANDLERS[kind](self, flags, stream_id, payload)
        else:
            self._control.charge()
        return 1

    def _on_data(self, flags: int, stream_id: int, payload: bytes) -> None:
        self._require_started(stream_id)
        self._credit.charge(len(payload))
        if len(payload) < _SHORT_DATA and not flags & END_STREAM:
            self._control.charge()
        stream = self._streams.get(stream_id)
        if stream is None or stream.head is None:
            self._control.charge()
            self.reset(stream_id, frames.STREAM_CLOSED)
            if stream is not None:
                stream.end()
            return
        stream.credit -= len(payload)
        if stream.credit < 0:
            stream.reset(frames.FLOW_CONTROL_ERROR)
            return
        stream.add_body(frames.remove_padding(flags, payload))
        if stream.body_size > self.limits.max_body_bytes:
            self._reject_body(stream)
        elif flags & END_STREAM:
            self._on_body_end(stream)
        elif stream.credit < INITIAL_CREDIT // 2:
            self._credit.extend(stream)

    def _on_body_end(self, stream: Http2Stream) -> None:
        head = stream.head
        if head is None or head.content_length not in (None, stream.body_size):
            stream.reset(PROTOCOL_ERROR)
        else:
            self._run(stream.stream_id, head.request(stream.take_body()))

    def _on_priority(self, flags: int, stream_id: int, payload: bytes) -> None:
        """Ignore a PRIORITY frame, as RFC 9113 allows."""
        self._control.charge()
        if not stream_id:
            raise ConnectionFailure(PROTOCOL_ERROR, "a PRIORITY frame has no stream")
        if len(payload) != 5:
            self.reset(stream_id, frames.FRAME_SIZE_ERROR)

    def _on_reset(self, flags: int, stream_id: int, payload: bytes) -> None:
        self._require_started(stream_id)
        if len(payload) != 4:
            raise ConnectionFailure(frames.FRAME_SIZE_ERROR, "an RST_STREAM frame has no 4 bytes")
        self._resets.charge()
        stream = self._streams.get(stream_id)
        if stream is not None:
            stream.end()

    def _on_settings(self, flags: int, stream_id: int, payload: bytes) -> None:
        self._control.charge()
        if stream_id:
            raise ConnectionFailure(PROTOCOL_ERROR, "a SETTINGS frame has a stream")
        if flags & frames.ACK:
            if payload:
                raise ConnectionFailure(frames.FRAME_SIZE_ERROR, "an acknowledgement of settings has a payload")
            return
        self._has_settings = True
        self.output.apply_settings(frames.decode_settings(payload), list(self._streams.values()))
        self.output.write(frames.encode_frame(SETTINGS, frames.ACK, 0, b""))

    def _on_push_promise(self, flags: int, stream_id: int, payload: bytes) -> None:
        raise ConnectionFailure(PROTOCOL_ERROR, "a client must not send PUSH_PROMISE frames")

    def _on_ping(self, flags: int, stream_id: int, payload: bytes) -> None:
        self._control.charge()
        if stream_id:
            raise ConnectionFailure(PROTOCOL_ERROR, "a PING frame has a stream")
        if len(payload) != 8:
            raise ConnectionFailure(frames.FRAME_SIZE_ERROR, "a PING frame has no 8 bytes")
        if not flags & frames.ACK:
            self.output.write(frames.encode_frame(frames.PING, frames.ACK, 0, payload))

    def _on_goaway(self, flags: int, stream_id: int, payload: bytes) -> None:
        """Let the open streams end. The client will not start any more."""
        self._control.charge()
        if stream_id:
            raise ConnectionFailure(PROTOCOL_ERROR, "a GOAWAY frame has a stream")

    def _on_window_update(self, flags: int, stream_id: int, payload: bytes) -> None:
        increment = frames.decode_increment(payload)
        if increment < _SHORT_INCREMENT:
            self._control.charge()
        if not stream_id:
            if not increment:
                raise ConnectionFailure(PROTOCOL_ERROR, "a WINDOW_UPDATE frame has an increment of 0")
            self.output.add_window(increment)
            return
        self._require_started(stream_id)
        stream = self._streams.get(stream_id)
        if stream is None:
            return
        stream.window += increment
        if not increment:
            stream.reset(PROTOCOL_ERROR)
        elif stream.window > frames.MAX_WINDOW:
            stream.reset(frames.FLOW_CONTROL_ERROR)
        else:
            stream.on_window()

    def _require_started(self, stream_id: int) -> None:
        if not 0 < stream_id <= self._last_stream_id or not stream_id & 1:
            raise ConnectionFailure(PROTOCOL_ERROR, "a frame belongs to a stream that has not been started")

    # ------------------------------------------------------------------ requests

    def _on_continuation(self, flags: int, stream_id: int, payload: bytes) -> None:
        block = self._block
        assert block is not None
        if len(payload) < _SHORT_DATA:
            self._control.charge()
        if not self._draining:
            block += payload
        if flags & END_HEADERS:
            self._block = None
            self._on_block(stream_id, self._block_flags, bytes(block))
        elif not self._draining:
            self._check_block(block)

    def _check_block(self, block: bytearray) -> None:
        if len(block) > self.limits.max_head_bytes:
            self._last_stream_id = max(self._last_stream_id, self._block_stream)
            self._reject_head(self._block_stream)

    def _on_block(self, stream_id: int, flags: int, block: bytes) -> None:
        """Handle a complete header block: it starts a request, or contains the trailers of a body."""
        if self._draining:
            # The client sends this request again on another connection. The decoder is not needed any more.
            if stream_id in self._streams:
                self._on_trailers(stream_id, flags)
            return
        is_new = stream_id > self._last_stream_id
        self._last_stream_id = max(stream_id, self._last_stream_id)
        head = self._heads.get(block)
        if head is None or not is_new:
            try:
                fields = self._decoder.decode(block, self.limits.max_head_bytes)
                self._forget_heads()
                if not is_new:
                    self._on_trailers(stream_id, flags)
                    return
                head = self._heads[block] = read_head(fields)
            except HeadersTooLargeError:
                self._reject_head(stream_id)
                return
            except MalformedRequestError:
                self._resets.charge()
                self.reset(stream_id, PROTOCOL_ERROR)
                return
        self._was_used = True
        if len(self._streams) >= self._server.http2.max_streams:
            self._resets.charge()
            self.reset(stream_id, frames.REFUSED_STREAM)
        elif not flags & END_STREAM:
            self._await_body(stream_id, head)
        elif head.content_length:
            self.reset(stream_id, PROTOCOL_ERROR)
        else:
            self._run(stream_id, head.request(b""))

    def _forget_heads(self) -> None:
        """Forget the heads of earlier blocks if the dynamic table, to which they refer, has changed."""
        generation = self._decoder.generation
        if generation != self._heads_generation or len(self._heads) >= _MAX_CACHED_HEADS:
            self._heads_generation = generation
            self._heads.clear()

    def _on_trailers(self, stream_id: int, flags: int) -> None:
        """End a body. The trailers themselves are ignored."""
        stream = self._streams.get(stream_id)
        if stream is None:
            raise ConnectionFailure(frames.STREAM_CLOSED, "a HEADERS frame belongs to a closed stream")
        if stream.head is None:
            stream.reset(frames.STREAM_CLOSED)
        elif not flags & END_STREAM:
            stream.reset(PROTOCOL_ERROR)
        else:
            self._on_body_end(stream)

    def _await_body(self, stream_id: int, head: RequestHead) -> None:
        stream = self._add_stream(stream_id, head)
        stream.expire_in(self.limits.receive_seconds)
        expectation = head.headers.get(b"expect")
        if (head.content_length or 0) > self.limits.max_body_bytes:
            self._reject_body(stream)
        elif expectation is not None:
            if expectation.lower() == b"100-continue":
                self.output.write_headers(stream_id, CONTINUE_BLOCK)
            else:
                self._reject(stream, Response(417, b"", TEXT))

    def _add_stream(self, stream_id: int, head: RequestHead | None = None) -> Http2Stream:
        stream = self._streams[stream_id] = Http2Stream(self, stream_id, head)
        return stream

    def _reject_body(self, stream: Http2Stream) -> None:
        limit = self.limits.max_body_bytes
        error = errors.RequestTooLargeError(f"Request entity too large: limit is {limit}")
        self._reject(stream, Response(error.code, error.encode()))

    def _reject(self, stream: Http2Stream, response: Response) -> None:
        """Respond before the body has arrived, and tell the client not to send the rest."""
        self._write_complete(stream.stream_id, response)
        stream.reset(frames.NO_ERROR)

    def _reject_head(self, stream_id: int) -> None:
        """Respond 431. The rest of the header block is not decoded, so the connection handles no further requests."""
        error = errors.RequestTooLargeError("the head of the request is too large")
        self._write_complete(stream_id, Response(431, error.encode()))
        self._drain()

    def _write_complete(self, stream_id: int, response: Response) -> None:
        """Write a short response of the connection itself."""
        body = response.body
        assert isinstance(body, bytes)
        block = encode_response_head(response, self._server.new_audit_id(), self._server.date)
        self.output.write_headers(stream_id, block)
        self.output.window -= len(body)
        self.output.write(frames.encode_frame(frames.DATA, END_STREAM, stream_id, body))

    def _run(self, stream_id: int, request: Request) -> None:
        request.client_chain = self.client_chain
        request.peer = self.peer
        request.audit_id = request.headers.get(b"audit-id") or self._server.new_audit_id()
        chance = self._server.http2.goaway_chance
        if chance and random.random() < chance:  # noqa: S311 - spreads load, protects nothing
            self._drain_later()
        result = taskless.run(
            self._call_app(request), self.loop, lambda continuation: self._on_done(stream_id, request, continuation)
        )
        if isinstance(result, Continuation):
            stream = self._streams.get(stream_id) or self._add_stream(stream_id)
            stream.task = result
            limit = self.limits.request_seconds
            stream.expire_in(min(request.timeout or limit, limit))
        else:
            self._respond(stream_id, request, result)

    def _on_done(self, stream_id: int, request: Request, continuation: Continuation[Response | Stream]) -> None:
        stream = self._streams.get(stream_id)
        if stream is None:
            response = None if continuation.cancelled else continuation.result()
            if isinstance(response, Stream):
                response.on_end()
            return
        stream.task = None
        if continuation.cancelled:
            self._respond(stream_id, request, Response(504, TIMEOUT_STATUS, TEXT))
        else:
            self._respond(stream_id, request, continuation.result())

    def _respond(self, stream_id: int, request: Request, response: Response | Stream) -> None:
        output, stream = self.output, self._streams.get(stream_id)
        block = encode_response_head(response, request.audit_id, self._server.date)
        if isinstance(response, Stream):
            self._start_stream(stream or self._add_stream(stream_id), request, response, block)
            return
        body = b"" if request.method == "HEAD" else response.body
        if not isinstance(body, bytes) and body_size(body) <= DEFAULT_FRAME_BYTES:
            body = b"".join(body)
        size = len(body) if type(body) is bytes else PIECE_BYTES
        if not size:
            output.write_headers(stream_id, block, END_STREAM)
        elif (
            size <= output.window
            and size <= output.max_frame
            and size <= (output.initial_window if stream is None else stream.window)
            and len(block) <= DEFAULT_FRAME_BYTES
            and not output.paused
        ):
            output.window -= size
            head = pack_header(len(block) << 8 | HEADERS, END_HEADERS, stream_id)
            output.write(head, block, pack_header(size << 8, END_STREAM, stream_id), body)  # type: ignore[arg-type]
        else:
            output.write_headers(stream_id, block)
            if size > PIECE_BYTES:
                body = (body,)  # type: ignore[assignment]
            user = request.user.name if request.user is not None else ""
            (stream or self._add_stream(stream_id)).send_body(body, user)
            return
        if stream is not None:
            stream.end()

    def _start_stream(self, stream: Http2Stream, request: Request, response: Stream, block: bytes) -> None:
        if request.method == "HEAD":
            self.output.write_headers(stream.stream_id, block, END_STREAM)
            stream.end()
            response.on_end()
            return
        self.output.write_headers(stream.stream_id, block)
        stream.start(response)
        if self._server.stopping:
            stream.finish()

    # ------------------------------------------------------------------ streams

    def owns(self, stream: Http2Stream) -> bool:
        """True if the stream has not ended."""
        return self._streams.get(stream.stream_id) is stream

    def reset(self, stream_id: int, code: int) -> None:
        self.output.write(frames.encode_reset(stream_id, code))

    def remove(self, stream: Http2Stream) -> None:
        """Forget a stream that has ended."""
        if self._streams.pop(stream.stream_id, None) is None:
            return
        self.output.discard(stream)
        self._credit.release(stream)
        if not self._streams and not self.closing:
            self.deadline = self.loop.time() + self.limits.idle_seconds
            if self._draining:
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
            if not (self._server.stopping and self.transport.get_write_buffer_size()):
                self.abort()
            return
        if not self._streams:
            self._drain()
            return
        for stream in [stream for stream in self._streams.values() if now > stream.deadline]:
            stream.expire()
        if self._streams:
            self.deadline = min(stream.deadline for stream in self._streams.values())

    def shut_down(self) -> None:
        if self.closing:
            return
        idle = self.loop.time() - (self.deadline - self.limits.idle_seconds)
        was_idle = not self._streams and idle > self.limits.linger_seconds * 2
        for stream in list(self._streams.values()):
            if stream.has_response_stream:
                stream.finish()
            elif stream.is_receiving:
                stream.reset(frames.REFUSED_STREAM)
        self._drain()
        if was_idle:
            # The client read its last response long ago. Do not wait until the client closes its side.
            self.deadline = self.loop.time()

    def _drain_later(self) -> None:
        if not self._draining:
            self.loop.call_soon(self._drain)

    def _drain(self) -> None:
        """Tell the client to use another connection. Close this one when the open streams have ended."""
        if self.closing or self._draining:
            return
        self._draining = True
        self.output.write(frames.encode_goaway(self._last_stream_id, frames.NO_ERROR))
        if not self._streams:
            self._close_later()

    def _close_later(self) -> None:
        """Close the connection after the client had time to read the last frames."""
        self.output.flush()
        if self._server.stopping:
            self._close()
            return
        self.closing = True
        linger = self.limits.linger_seconds
        self.deadline = self.loop.time() + linger * 4
        # The client may still be sending. Closing at once would reset the connection and lose the last frames.
        self.loop.call_later(linger, self.transport.close)

    def _fail(self, failure: ConnectionFailure) -> None:
        """Tell the client about its error and close the connection."""
        self.output.write(frames.encode_goaway(self._last_stream_id, failure.code, str(failure)))
        self._close_later()
        for stream in list(self._streams.values()):
            stream.end()


_HANDLERS = (
    Http2Connection._on_data,
    Http2Connection._on_priority,  # HEADERS, which `_on_frame` handles
    Http2Connection._on_priority,
    Http2Connection._on_reset,
    Http2Connection._on_settings,
    Http2Connection._on_push_promise,
    Http2Connection._on_ping,
    Http2Connection._on_goaway,
    Http2Connection._on_window_update,
    Http2Connection._on_continuation,
)
"""The handler of each type of frame."""
