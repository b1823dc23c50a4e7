"""The handling of received frames by their types (RFC 9113, section 6).

Each function handles the frames of one type. It raises ConnectionFailure if the frame ends the connection.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polykind.http.http2 import http2_exchange
from polykind.http.http2.body_credit import INITIAL_CREDIT
from polykind.http.http2.http2_request import MalformedRequestError
from polykind.http2 import frames
from polykind.http2.frames import (
    CONTINUATION,
    END_HEADERS,
    END_STREAM,
    HEADERS,
    PADDED,
    PROTOCOL_ERROR,
    SETTINGS,
    WITH_PRIORITY,
    ConnectionFailure,
)
from polykind.http2.header_decoder import HeadersTooLargeError

if TYPE_CHECKING:
    from polykind.http.http2.http2_connection import Http2Connection

REQUEST_COST = 32
"""The number of other frames that take as long as a request."""
_SHORT_DATA = 256
"""DATA frames below this size are counted, because a body in such frames costs much more than its size."""

_SHORT_INCREMENT = 1024
"""WINDOW_UPDATE frames below this increment are counted. Others follow the data that the server sends: a Go client
sends one for every 4 KiB that it reads.
"""


def handle_frame(connection: Http2Connection, kind: int, flags: int, stream_id: int, payload: bytes) -> int:
    """Handle a frame and return its cost, as a number of cheap frames."""
    open_block = connection.blocks.stream_id
    if kind == HEADERS and connection.has_settings and not open_block:
        _on_headers(connection, flags, stream_id, payload)
        return REQUEST_COST
    if (kind == CONTINUATION) != bool(open_block) or (open_block and stream_id != open_block):
        raise ConnectionFailure(PROTOCOL_ERROR, "a header block is interrupted, or continued without a start")
    if not connection.has_settings and kind != SETTINGS:
        raise ConnectionFailure(PROTOCOL_ERROR, "the first frame is not a SETTINGS frame")
    if kind < len(_HANDLERS):
        _HANDLERS[kind](connection, flags, stream_id, payload)
    else:
        connection.control_frames.charge()
    return 1


# ---------------------------------------------------------------------- header blocks


def _on_headers(connection: Http2Connection, flags: int, stream_id: int, payload: bytes) -> None:
    if not stream_id & 1:
        raise ConnectionFailure(PROTOCOL_ERROR, "the number of a stream is even")
    if flags & (PADDED | WITH_PRIORITY):
        payload = frames.remove_priority(flags, stream_id, frames.remove_padding(flags, payload))
    if flags & END_HEADERS:
        _on_block(connection, stream_id, flags, payload)
    else:
        connection.blocks.start(stream_id, flags, b"" if connection.draining else payload)


def _on_continuation(connection: Http2Connection, flags: int, stream_id: int, payload: bytes) -> None:
    blocks = connection.blocks
    if len(payload) < _SHORT_DATA:
        connection.control_frames.charge()
    if not connection.draining:
        blocks.add(payload)
    if flags & END_HEADERS:
        _on_block(connection, stream_id, blocks.flags, blocks.finish())


def _on_block(connection: Http2Connection, stream_id: int, flags: int, block: bytes) -> None:
    """Handle a complete header block: it starts a request, or contains the trailers of a body."""
    if connection.draining:
        # The client sends this request again on another connection. The decoder is not needed any more.
        if stream_id in connection.streams:
            _on_trailers(connection, stream_id, flags)
        return
    if stream_id <= connection.last_stream_id:
        connection.blocks.read_trailers(block)
        _on_trailers(connection, stream_id, flags)
        return
    connection.last_stream_id = stream_id
    try:
        head = connection.blocks.read_head(block)
    except HeadersTooLargeError:
        connection.resets.charge()
        http2_exchange.reject_head(connection, stream_id, has_body=not flags & END_STREAM)
        return
    except MalformedRequestError:
        connection.resets.charge()
        connection.reset(stream_id, PROTOCOL_ERROR)
        return
    connection.was_used = True
    if len(connection.streams) >= connection.server.http2.max_streams:
        connection.resets.charge()
        connection.reset(stream_id, frames.REFUSED_STREAM)
    elif not flags & END_STREAM:
        http2_exchange.await_body(connection, stream_id, head)
    elif head.content_length:
        connection.reset(stream_id, PROTOCOL_ERROR)
    else:
        http2_exchange.run(connection, stream_id, head.request(b""))


def _on_trailers(connection: Http2Connection, stream_id: int, flags: int) -> None:
    """End a body. The trailers themselves are ignored."""
    stream = connection.streams.get(stream_id)
    if stream is None:
        raise ConnectionFailure(frames.STREAM_CLOSED, "a HEADERS frame belongs to a closed stream")
    if stream.head is None:
        stream.reset(frames.STREAM_CLOSED)
    elif not flags & END_STREAM:
        stream.reset(PROTOCOL_ERROR)
    else:
        http2_exchange.end_body(connection, stream)


# ---------------------------------------------------------------------- frames of a stream


def _require_started(connection: Http2Connection, stream_id: int) -> None:
    if not 0 < stream_id <= connection.last_stream_id or not stream_id & 1:
        raise ConnectionFailure(PROTOCOL_ERROR, "a frame belongs to a stream that has not been started")


def _on_data(connection: Http2Connection, flags: int, stream_id: int, payload: bytes) -> None:
    _require_started(connection, stream_id)
    connection.credit.charge(len(payload))
    if len(payload) < _SHORT_DATA and not flags & END_STREAM:
        connection.control_frames.charge()
    stream = connection.streams.get(stream_id)
    if stream is None or stream.head is None:
        connection.control_frames.charge()
        connection.reset(stream_id, frames.STREAM_CLOSED)
        if stream is not None:
            stream.end()
        return
    stream.credit -= len(payload)
    if stream.credit < 0:
        stream.reset(frames.FLOW_CONTROL_ERROR)
        return
    stream.add_body(frames.remove_padding(flags, payload))
    if stream.body_size > connection.limits.max_body_bytes:
        http2_exchange.reject_body(connection, stream)
    elif flags & END_STREAM:
        http2_exchange.end_body(connection, stream)
    elif stream.credit < INITIAL_CREDIT // 2:
        connection.credit.extend(stream)


def _on_priority(connection: Http2Connection, flags: int, stream_id: int, payload: bytes) -> None:
    """Ignore a PRIORITY frame, as RFC 9113 allows."""
    connection.control_frames.charge()
    if not stream_id:
        raise ConnectionFailure(PROTOCOL_ERROR, "a PRIORITY frame has no stream")
    if len(payload) != 5:
        connection.reset(stream_id, frames.FRAME_SIZE_ERROR)


def _on_reset(connection: Http2Connection, flags: int, stream_id: int, payload: bytes) -> None:
    _require_started(connection, stream_id)
    if len(payload) != 4:
        raise ConnectionFailure(frames.FRAME_SIZE_ERROR, "an RST_STREAM frame has no 4 bytes")
    connection.resets.charge()
    stream = connection.streams.get(stream_id)
    if stream is not None:
        stream.end()


def _on_window_update(connection: Http2Connection, flags: int, stream_id: int, payload: bytes) -> None:
    increment = frames.decode_increment(payload)
    if increment < _SHORT_INCREMENT:
        connection.control_frames.charge()
    if not stream_id:
        if not increment:
            raise ConnectionFailure(PROTOCOL_ERROR, "a WINDOW_UPDATE frame has an increment of 0")
        connection.output.add_window(increment)
        return
    _require_started(connection, stream_id)
    stream = connection.streams.get(stream_id)
    if stream is None:
        return
    stream.window += increment
    if not increment:
        stream.reset(PROTOCOL_ERROR)
    elif stream.window > frames.MAX_WINDOW:
        stream.reset(frames.FLOW_CONTROL_ERROR)
    else:
        stream.on_window()


# ---------------------------------------------------------------------- frames of the connection


def _on_settings(connection: Http2Connection, flags: int, stream_id: int, payload: bytes) -> None:
    connection.control_frames.charge()
    if stream_id:
        raise ConnectionFailure(PROTOCOL_ERROR, "a SETTINGS frame has a stream")
    if flags & frames.ACK:
        if payload:
            raise ConnectionFailure(frames.FRAME_SIZE_ERROR, "an acknowledgement of settings has a payload")
        return
    connection.has_settings = True
    connection.output.apply_settings(frames.decode_settings(payload), list(connection.streams.values()))
    connection.output.write(frames.encode_frame(SETTINGS, frames.ACK, 0, b""))


def _on_push_promise(connection: Http2Connection, flags: int, stream_id: int, payload: bytes) -> None:
    raise ConnectionFailure(PROTOCOL_ERROR, "a client must not send PUSH_PROMISE frames")


def _on_ping(connection: Http2Connection, flags: int, stream_id: int, payload: bytes) -> None:
    connection.control_frames.charge()
    if stream_id:
        raise ConnectionFailure(PROTOCOL_ERROR, "a PING frame has a stream")
    if len(payload) != 8:
        raise ConnectionFailure(frames.FRAME_SIZE_ERROR, "a PING frame has no 8 bytes")
    if not flags & frames.ACK:
        connection.output.write(frames.encode_frame(frames.PING, frames.ACK, 0, payload))


def _on_goaway(connection: Http2Connection, flags: int, stream_id: int, payload: bytes) -> None:
    """Let the open streams end. The client will not start any more."""
    connection.control_frames.charge()
    if stream_id:
        raise ConnectionFailure(PROTOCOL_ERROR, "a GOAWAY frame has a stream")


_HANDLERS = (
    _on_data,
    _on_headers,
    _on_priority,
    _on_reset,
    _on_settings,
    _on_push_promise,
    _on_ping,
    _on_goaway,
    _on_window_update,
    _on_continuation,
)
"""The handler of each type of frame."""
