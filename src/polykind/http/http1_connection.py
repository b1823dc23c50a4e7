"""One HTTP/1.1 connection: parses requests, calls the application, and writes responses and streams.

A response can turn the connection into a WebSocket until the connection is closed.

The requests of a connection are handled one after the other. While one request is handled and another waits, the
server reads nothing. While the client leaves responses unread, no request is handled. docs/reference/limits.md
has the limits.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from typing import TYPE_CHECKING

from polykind import errors
from polykind.http.connection import PIECE_BYTES, TIMEOUT_STATUS, Connection, body_pieces, start_request
from polykind.http.http1_head import encode_head, encode_websocket_head
from polykind.http.messages import TEXT, Request, encode_chunk
from polykind.http.request_parser import ProtocolError, RequestParser
from polykind.http.websocket import WebSocketStream
from polykind.http.websocket_frames import PONG, FrameReader, encode_close, encode_frame
from polykind.operations.responses import JSON, Body, Response, Stream

if TYPE_CHECKING:
    from polykind.http.listener import HttpServer

log = logging.getLogger("polykind.http")

_SLICE = 16 * 1024
"""Longer received data is parsed in slices of this size, each in its own iteration of the event loop.

A slice may contain hundreds of requests or thousands of chunks or WebSocket frames.
"""


class Http1Connection(Connection):
    """An HTTP/1.1 connection. It receives parsed requests and is the sink of a stream."""

    __slots__ = (
        "_continue_due",
        "_handling",
        "_keep_alive_after_stream",
        "_parser",
        "_queue",
        "_reading_paused",
        "_receive",
        "_received",
        "_received_at",
        "_rejection",
        "_resumed",
        "_slice_due",
        "_stream",
        "_task",
        "_unsent",
        "_unsent_size",
        "_writing_body",
    )

    def __init__(self, server: HttpServer) -> None:
        super().__init__(server)
        self._parser = RequestParser(server.limits, self)
        self._receive = self._parser.feed
        """The function that parses received bytes: as HTTP requests, or as the frames of a WebSocket."""
        self._received = b""
        """Received data of which the rest after `_received_at` has not been parsed. Reading is paused meanwhile."""
        self._received_at = 0
        self._slice_due = False
        """True if the event loop will parse the next slice of `_received`."""
        self._continue_due = False
        """True if a 100 Continue must be sent after the pending responses."""
        self._rejection: tuple[errors.APIError, int] | None = None
        """An error, and its HTTP status, to send after the pending responses."""
        self._queue: deque[tuple[Request, bool]] = deque()
        """Requests that wait for the current one, each with True if the connection stays open after the response."""
        self._reading_paused = False
        self._handling = False
        self._task: asyncio.Task[None] | None = None
        """The task of the running request, or the one that sends a long body."""
        self._writing_body = False
        """True if `_task` sends a long body."""
        self._stream: Stream | None = None
        self._keep_alive_after_stream = True
        self._resumed: asyncio.Future[None] | None = None
        self._unsent: list[bytes] = []
        self._unsent_size = 0

    @property
    def _busy(self) -> bool:
        """True if the next request must wait for the current request, or for the client to read its responses."""
        return self._task is not None or self._stream is not None or self._writing_paused

    # ------------------------------------------------------------------ asyncio.Protocol

    def connection_lost(self, exc: Exception | None) -> None:
        self._server.remove(self)
        self.closing = True
        self._parser.close()
        self._queue.clear()
        if self._task is not None:
            self._task.cancel()
        if self._resumed is not None and not self._resumed.done():
            self._resumed.set_exception(ConnectionResetError())
            self._resumed.exception()
        self._end_stream()

    def pause_writing(self) -> None:
        self._writing_paused = True

    def resume_writing(self) -> None:
        self._writing_paused = False
        if self._unsent:
            unsent, self._unsent, self._unsent_size = b"".join(self._unsent), [], 0
            self.transport.write(unsent)
        if self._writing_paused:
            return
        if self._resumed is not None and not self._resumed.done():
            self._resumed.set_result(None)
        if not self._busy and not self.closing:
            self._handle_queue()

    def data_received(self, data: bytes) -> None:
        if self.closing:
            return
        if len(data) <= _SLICE and not self._received:
            self._receive(data)
            return
        self._received = self._received[self._received_at :] + data
        self._received_at = 0
        if not self._reading_paused:
            self._reading_paused = True
            self.transport.pause_reading()
            self._receive_slice()

    def _receive_slice(self) -> None:
        """Parse the next slice of the received data. Stop while a complete request waits."""
        self._slice_due = False
        if self.closing or self._queue:
            return
        # The rest of a body takes no time to parse.
        end = self._received_at + max(_SLICE, self._parser.missing_body_bytes)
        data = self._received[self._received_at : end]
        self._received_at = end
        if end >= len(self._received):
            self._received, self._received_at = b"", 0
        self._receive(data)
        if not self._queue and not self.closing:
            self._continue_reading()

    def _continue_reading(self) -> None:
        if self._received:
            if not self._slice_due:
                self._slice_due = True
                self._server.loop.call_soon(self._receive_slice)
        elif self._reading_paused:
            self._reading_paused = False
            self.transport.resume_reading()

    # ------------------------------------------------------------------ RequestReceiver

    def on_begin(self) -> None:
        if self._task is None and self._stream is None and not self._writing_paused:
            self.deadline = self._server.loop.time() + self._server.limits.receive_seconds

    def on_expect_continue(self) -> None:
        self._continue_due = True
        if not self._busy:
            self._send_continue()

    def _send_continue(self) -> None:
        self._continue_due = False
        self.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_request(self, request: Request, keep_alive: bool) -> None:
        self._continue_due = False
        request.client_chain = self.client_chain
        request.peer = self.peer
        self._queue.append((request, keep_alive))
        if self._task is None and self._stream is None and not self._writing_paused:
            self._handle_queue()
        elif not self._reading_paused:
            self._reading_paused = True
            self.transport.pause_reading()

    def on_rejected(self, error: errors.APIError, status: int) -> None:
        """Send the error after all pending responses. Do nothing if the connection is already closing."""
        if self.closing:
            return
        if self._stream is not None:
            self.abort()
        elif self._busy:
            self._rejection = (error, status)
        else:
            self._send_rejection(error, status)

    # ------------------------------------------------------------------ requests and responses

    def _handle_queue(self) -> None:
        """Handle queued requests until the queue is empty or a request has to wait."""
        if self._handling:
            return
        self._handling = True
        queue = self._queue
        # These conditions are those of `_busy`, written out because every request evaluates them several times.
        while queue and self._task is None and self._stream is None and not (self._writing_paused or self.closing):
            self._handle(*queue.popleft())
        self._handling = False
        if self._task is not None or self._stream is not None or self.closing:
            return
        if self._writing_paused:
            # The client has request_seconds to read its responses, as for a long response.
            self.deadline = self._server.loop.time() + self._server.limits.request_seconds
            return
        if self._reading_paused:
            self._continue_reading()
        if self._rejection is not None:
            self._send_rejection(*self._rejection)
            return
        if self._continue_due:
            self._send_continue()
        limits = self._server.limits
        seconds = limits.receive_seconds if self._parser.in_request else limits.idle_seconds
        self.deadline = self._server.loop.time() + seconds

    def _handle(self, request: Request, keep_alive: bool) -> None:
        request.audit_id = request.headers.get(b"audit-id") or self._server.new_audit_id()
        loop = self._server.loop
        self.deadline = loop.time() + self._server.limits.request_seconds
        request.on_timeout = self._shorten_deadline
        task = start_request(self._respond(request, keep_alive), loop)
        if not task.done():
            self._task = task

    def _shorten_deadline(self, seconds: float) -> None:
        self.deadline = min(self.deadline, self._server.loop.time() + seconds)

    async def _respond(self, request: Request, keep_alive: bool) -> None:
        """Call the application, and write its response, or 504 if the request is cancelled at its deadline."""
        try:
            response = await self.call_app(request)
        except asyncio.CancelledError:
            response, keep_alive = Response(504, TIMEOUT_STATUS, TEXT), False
        self._task = None
        if not self.closing:
            self._write(request, response, keep_alive)
        elif isinstance(response, Stream):
            response.on_end()

    def _write(self, request: Request, response: Response | Stream, keep_alive: bool) -> None:
        keep_alive = keep_alive and not self._server.stopping
        if isinstance(response, Stream):
            self._start_stream(request, response, keep_alive)
            return
        head = encode_head(response, request.audit_id, self._server.date, keep_alive=keep_alive)
        body = b"" if request.method == "HEAD" else response.body
        if isinstance(body, bytes):
            if len(body) <= PIECE_BYTES:
                self.transport.write(head + body)
                self._after_response(keep_alive)
                return
            body = (body,)
        self._writing_body = True
        self.deadline = float("inf")
        user = request.user.name if request.user is not None else ""
        self._task = self._server.loop.create_task(self._write_long(head, body, keep_alive, user))

    async def _write_long(self, head: bytes, body: Body, keep_alive: bool, user: str) -> None:
        """Send a long body in pieces, each when the client has read the previous one."""
        try:
            for piece in body_pieces(body, head):
                await self.take_write_turn(user)
                self.transport.write(piece)
                if self._writing_paused:
                    await self.drained()
        except (ConnectionError, asyncio.CancelledError):
            return
        finally:
            self._task, self._writing_body = None, False
        self._after_response(keep_alive)

    async def drained(self) -> None:
        if self._writing_paused:
            before, self.deadline = self.deadline, self._server.loop.time() + self._server.limits.request_seconds
            self._resumed = self._server.loop.create_future()
            try:
                await self._resumed
            finally:
                self._resumed = None
            self.deadline = before
        elif self.transport.is_closing():
            raise ConnectionResetError
        else:
            await asyncio.sleep(0)

    def _after_response(self, keep_alive: bool) -> None:
        """Continue with the next request, or close the connection."""
        if keep_alive:
            self._handle_queue()
        else:
            self._close()

    def _send_rejection(self, error: errors.APIError, status: int) -> None:
        content_type = TEXT if isinstance(error, ProtocolError) else JSON
        response = Response(status, error.encode(), content_type)
        head = encode_head(response, self._server.new_audit_id(), self._server.date, keep_alive=False)
        self.transport.write(head + error.encode())
        self.closing = True
        # The client may still be sending. Closing at once would reset the connection and lose the response.
        linger = self._server.limits.linger_seconds
        self.deadline = self._server.loop.time() + linger * 4
        if self.transport.can_write_eof():
            self.transport.write_eof()
        else:
            self._server.loop.call_later(linger, self.transport.close)

    # ------------------------------------------------------------------ streams

    def _start_stream(self, request: Request, stream: Stream, keep_alive: bool) -> None:
        self._stream, self._keep_alive_after_stream = stream, keep_alive
        self.deadline = float("inf")
        if isinstance(stream, WebSocketStream):
            self._receive = FrameReader(self).feed
            self.transport.write(encode_websocket_head(stream))
        else:
            self.transport.write(encode_head(stream, request.audit_id, self._server.date, keep_alive=keep_alive))
        if request.method == "HEAD":
            self._end_stream()
            self._after_response(keep_alive)
        elif self._server.stopping:
            self.finish()
        else:
            stream.start(self)

    def send(self, chunk: bytes) -> None:
        if self.closing:
            return
        if not self._writing_paused:
            self.transport.write(chunk)
            return
        self._unsent_size += len(chunk)
        if self._unsent_size > self._server.limits.max_unread_bytes:
            limit = self._server.limits.max_unread_bytes
            log.info("http: closing a stream whose client reads too slowly: over %d bytes are unread", limit)
            self.abort()
        else:
            self._unsent.append(chunk)

    def send_part(self, data: bytes) -> None:
        self.send(encode_chunk(data))

    def finish(self) -> None:
        if self._stream is not None:
            self._finish(self._stream.ending)

    def _finish(self, ending: bytes) -> None:
        if self._stream is None or self.closing:
            return
        self.transport.write(b"".join((*self._unsent, ending)))
        self._end_stream()
        self._after_response(self._keep_alive_after_stream and not self._server.stopping)

    def _end_stream(self) -> None:
        stream, self._stream = self._stream, None
        self._unsent, self._unsent_size = [], 0
        if stream is not None:
            stream.on_end()

    # ------------------------------------------------------------------ FrameReceiver

    def on_ping(self, payload: bytes) -> None:
        self.send(encode_frame(PONG, payload))

    def on_close(self, status: int) -> None:
        self._finish(encode_close(status))

    # ------------------------------------------------------------------ closing

    def expire(self) -> None:
        """Act on a missed deadline: cancel a running request, which then responds 504, or close an idle connection."""
        if self._task is not None and not self._writing_body and not self.closing:
            # If the request suppresses its cancellation, the connection is closed after five more seconds.
            self.deadline = self._server.loop.time() + 5
            self._task.cancel()
        elif not (self._server.stopping and self.closing and self.transport.get_write_buffer_size()):
            # While the server stops, a client that still reads its response may do so until the grace period ends.
            self.abort()

    def shut_down(self) -> None:
        """End a running stream. Close the connection when the response to the running request has been sent.

        A request whose body is still arriving is answered, too.
        """
        if self._stream is not None:
            self.finish()
        elif self._task is None and not self._parser.stopped and not self._parser.awaits_body:
            now, limits = self._server.loop.time(), self._server.limits
            idle = now - (self.deadline - limits.idle_seconds)
            self._close()
            if idle > limits.linger_seconds * 2 and not self._parser.in_request:
                # The client read its last response long ago. Do not wait until the client closes its side.
                self.deadline = now
