"""One request on an HTTP/2 connection and its response: wait for the body, call the application, write the response."""

from __future__ import annotations

import asyncio
import random
from functools import partial
from typing import TYPE_CHECKING

from polykind import errors
from polykind.http.connection import PIECE_BYTES, TIMEOUT_STATUS, start_request
from polykind.http.http2.http2_request import RequestHead
from polykind.http.http2.http2_response import (
    CONTINUE_BLOCK,
    TOO_LARGE_BODY,
    encode_response_head,
    encode_too_large_head,
)
from polykind.http.http2.http2_stream import Http2Stream
from polykind.http.messages import TEXT, Request
from polykind.http2 import frames
from polykind.http2.frames import (
    DATA,
    DEFAULT_FRAME_BYTES,
    END_HEADERS,
    END_STREAM,
    HEADERS,
    PROTOCOL_ERROR,
    pack_header,
)
from polykind.operations.responses import Body, Response, Stream, body_size

if TYPE_CHECKING:
    from polykind.http.http2.http2_connection import Http2Connection

# ---------------------------------------------------------------------- the body of the request


def await_body(connection: Http2Connection, stream_id: int, head: RequestHead) -> None:
    """Start a stream whose body follows."""
    stream = connection.add_stream(stream_id, head)
    stream.expire_in(connection.limits.receive_seconds)
    expectation = head.headers.get(b"expect")
    if (head.content_length or 0) > connection.limits.max_body_bytes:
        reject_body(connection, stream)
    elif expectation is not None:
        if expectation.lower() == b"100-continue":
            connection.output.write_headers(stream_id, CONTINUE_BLOCK)
        else:
            _reject(connection, stream, Response(417, b"", TEXT))


def end_body(connection: Http2Connection, stream: Http2Stream) -> None:
    """Run a request whose body is complete."""
    head = stream.head
    if head is None or head.content_length not in (None, stream.body_size):
        stream.reset(PROTOCOL_ERROR)
    else:
        run(connection, stream.stream_id, head.request(stream.take_body()))


def reject_body(connection: Http2Connection, stream: Http2Stream) -> None:
    limit = connection.limits.max_body_bytes
    error = errors.RequestTooLargeError(f"Request entity too large: limit is {limit}")
    _reject(connection, stream, Response(error.code, error.encode()))


def _reject(connection: Http2Connection, stream: Http2Stream, response: Response) -> None:
    """Respond before the body has arrived, and tell the client not to send the rest."""
    assert isinstance(response.body, bytes)
    block = encode_response_head(response, connection.server.new_audit_id(), connection.server.date)
    _write_complete(connection, stream.stream_id, block, response.body)
    stream.reset(frames.NO_ERROR)


def reject_head(connection: Http2Connection, stream_id: int, *, has_body: bool) -> None:
    """Respond 431, as Go does. Other requests go on."""
    _write_complete(connection, stream_id, encode_too_large_head(connection.server.date), TOO_LARGE_BODY)
    if has_body:
        connection.reset(stream_id, frames.NO_ERROR)


def _write_complete(connection: Http2Connection, stream_id: int, block: bytes, body: bytes) -> None:
    """Write a short response of the connection itself."""
    output = connection.output
    output.write_headers(stream_id, block)
    output.window -= len(body)
    output.write(frames.encode_frame(DATA, END_STREAM, stream_id, body))


# ---------------------------------------------------------------------- the request


def run(connection: Http2Connection, stream_id: int, request: Request) -> None:
    """Call the application, and respond now or when it is done."""
    server = connection.server
    request.client_chain = connection.client_chain
    request.peer = connection.peer
    request.audit_id = request.headers.get(b"audit-id") or server.new_audit_id()
    chance = server.http2.goaway_chance
    if chance and random.random() < chance:  # noqa: S311 - spreads load, protects nothing
        connection.drain_later()
    request.on_timeout = partial(_on_timeout, connection, stream_id)
    task = start_request(connection.call_app(request), connection.loop)
    if task.done():
        _respond(connection, stream_id, request, task.result())
        return
    stream = connection.streams.get(stream_id) or connection.add_stream(stream_id)
    stream.task = task
    limit = connection.limits.request_seconds
    stream.expire_in(min(request.timeout or limit, limit))
    task.add_done_callback(partial(_on_done, connection, stream_id, request))


def _on_timeout(connection: Http2Connection, stream_id: int, seconds: float) -> None:
    """Shorten the deadline of a request that is already running."""
    stream = connection.streams.get(stream_id)
    if stream is not None:
        stream.expire_in(min(seconds, connection.limits.request_seconds))


def _on_done(
    connection: Http2Connection, stream_id: int, request: Request, task: asyncio.Task[Response | Stream]
) -> None:
    """Write the response, or 504 if the request was cancelled at its deadline. The stream may have ended meanwhile."""
    response = Response(504, TIMEOUT_STATUS, TEXT) if task.cancelled() else task.result()
    stream = connection.streams.get(stream_id)
    if stream is not None:
        stream.task = None
        _respond(connection, stream_id, request, response)
    elif isinstance(response, Stream):
        response.on_end()


# ---------------------------------------------------------------------- the response


def _respond(connection: Http2Connection, stream_id: int, request: Request, response: Response | Stream) -> None:
    output, stream = connection.output, connection.streams.get(stream_id)
    block = encode_response_head(response, request.audit_id, connection.server.date)
    if isinstance(response, Stream):
        _start_stream(connection, stream or connection.add_stream(stream_id), request, response, block)
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
        _send_in_parts(stream or connection.add_stream(stream_id), request, body)
        return
    if stream is not None:
        stream.end()


def _send_in_parts(stream: Http2Stream, request: Request, body: bytes | Body) -> None:
    if isinstance(body, bytes) and len(body) > PIECE_BYTES:
        body = (body,)
    stream.send_body(body, request.user.name if request.user is not None else "")


def _start_stream(
    connection: Http2Connection, stream: Http2Stream, request: Request, response: Stream, block: bytes
) -> None:
    if request.method == "HEAD":
        connection.output.write_headers(stream.stream_id, block, END_STREAM)
        stream.end()
        response.on_end()
        return
    connection.output.write_headers(stream.stream_id, block)
    stream.start(response)
    if connection.server.stopping:
        stream.finish()
