"""One stream of an HTTP/2 connection: a request whose body arrives, that runs, or whose response is being sent.

A request without a body whose response is ready and fits into the client's window needs no such object.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from typing import TYPE_CHECKING

from polykind.http.connection import body_pieces
from polykind.http.http2.body_credit import INITIAL_CREDIT
from polykind.http.http2.http2_request import RequestHead
from polykind.http2.frames import CANCEL, INTERNAL_ERROR, pack_header
from polykind.operations.responses import Body, Response, Stream, body_size

if TYPE_CHECKING:
    from polykind.http.http2.http2_connection import Http2Connection

log = logging.getLogger("polykind.http")

_CANCEL_SECONDS = 5.0
"""The time after which a request that suppresses its cancellation is given up."""


class Http2Stream:
    """A stream with a request in progress. It is the sink of a response stream."""

    __slots__ = (
        "_body",
        "_connection",
        "_output",
        "_response",
        "_resumed",
        "_sending",
        "credit",
        "deadline",
        "finished",
        "head",
        "stream_id",
        "task",
        "unsent",
        "unsent_size",
        "window",
    )

    def __init__(self, connection: Http2Connection, stream_id: int, head: RequestHead | None = None) -> None:
        """`head` is the head of a request whose body has not arrived yet."""
        self._connection = connection
        self._output = connection.output
        self.stream_id = stream_id
        self.head = head
        self._body: bytes | bytearray = b""
        self.credit = INITIAL_CREDIT
        """The bytes of DATA frames that the client may send."""
        self.window = connection.output.initial_window
        """The bytes of DATA frames that the client accepts now."""
        self.task: asyncio.Task[Response | Stream] | None = None
        """The task of the running request."""
        self._sending: asyncio.Task[None] | None = None
        """The task that sends a long body."""
        self._response: Stream | None = None
        self._resumed: asyncio.Future[None] | None = None
        self.unsent: deque[bytes | memoryview] = deque()
        self.unsent_size = 0
        self.finished = False
        """True if the response ends after the queued data."""
        self.deadline = float("inf")

    def expire_in(self, seconds: float) -> None:
        self.deadline = self._connection.expire_stream_in(seconds)

    # ------------------------------------------------------------------ the body of the request

    @property
    def body_size(self) -> int:
        return len(self._body)

    def add_body(self, data: bytes) -> None:
        if not self._body:
            self._body = data
        elif isinstance(self._body, bytearray):
            self._body += data
        else:
            self._body = bytearray(self._body) + data

    def take_body(self) -> bytes:
        body, self._body, self.head = self._body, b"", None
        return bytes(body)

    # ------------------------------------------------------------------ the response

    def send_body(self, body: bytes | Body, user: str) -> None:
        """Send the body of a response, whose head has been sent, as fast as the client reads it."""
        self.deadline = float("inf")
        if isinstance(body, bytes):
            self._queue(body)
            self.finished = True
            self._output.pump(self)
            if self.unsent:
                self._expect_progress()
        else:
            loop = self._connection.loop
            self._sending = loop.create_task(self._send_long(body, user))

    def _expect_progress(self) -> None:
        """Give the client as long to read the next part of its response as HTTP/1.1 does."""
        self.expire_in(self._connection.limits.request_seconds)

    async def _send_long(self, body: Body, user: str) -> None:
        """Send a long body in pieces, each when the client has read the previous one."""
        try:
            pieces, missing = body_pieces(body), body_size(body)
            while missing > 0:
                # Make no piece for a client that may never read it.
                while self.window <= 0 or self._output.is_blocked():
                    self._output.await_turn(self)
                    await self._wait()
                await self._connection.take_write_turn(user)
                if self._output.is_blocked():
                    continue
                piece = next(pieces)
                missing -= len(piece)
                self._queue(piece)
                del piece
                self._output.pump(self)
                if self.unsent:
                    await self._wait()
        except (ConnectionError, asyncio.CancelledError):
            return
        except Exception:
            log.exception("http: cannot send a long response, resetting its stream")
            self.reset(INTERNAL_ERROR)
            return
        self.finished = True
        self._output.pump(self)

    def start(self, response: Stream) -> None:
        """Start a response stream whose head has been sent."""
        self._response = response
        self.deadline = float("inf")
        response.start(self)

    def _queue(self, data: bytes) -> None:
        self.unsent.append(data)
        self.unsent_size += len(data)
        self._output.unsent_size += len(data)

    def on_window(self) -> None:
        """Continue after the client has opened its window."""
        if self.unsent:
            self._output.pump(self)
        elif self.window > 0 and not self.finished:
            self.on_sent()

    def on_sent(self) -> None:
        """Continue after the queued data has been sent."""
        if self.finished:
            self.end()
        elif self._resumed is not None and not self._resumed.done():
            self._resumed.set_result(None)

    # ------------------------------------------------------------------ Sink

    def send(self, chunk: bytes) -> None:
        output, size = self._output, len(chunk)
        if (
            not self.unsent
            and size <= self.window
            and size <= output.window
            and size <= output.max_frame
            and not (output.paused or self.finished)
        ):
            self.window -= size
            output.window -= size
            output.write(pack_header(size << 8, 0, self.stream_id), chunk)
            return
        if self.finished:
            return
        self._queue(chunk)
        self._output.pump(self)
        limit = self._connection.limits.max_unread_bytes
        if self.unsent_size > limit or (self.unsent and self._connection.has_too_much_unread()):
            log.info("http: resetting a stream whose client reads too slowly: too many bytes are unread")
            self.reset(CANCEL)

    send_part = send

    async def drained(self) -> None:
        if self.unsent:
            await self._wait()
        elif self.finished:
            raise ConnectionResetError
        else:
            await asyncio.sleep(0)

    async def _wait(self) -> None:
        """Wait until the queued data has been sent or, without any, until the client opens its window."""
        before = self.deadline
        self._expect_progress()
        self._resumed = self._connection.loop.create_future()
        try:
            await self._resumed
        finally:
            self._resumed = None
        self.deadline = before

    def finish(self) -> None:
        if not self.finished:
            self.finished = True
            self._output.pump(self)

    def abort(self) -> None:
        self.reset(INTERNAL_ERROR)

    # ------------------------------------------------------------------ the end

    def reset(self, code: int) -> None:
        """End the stream at once with RST_STREAM."""
        if self._connection.owns(self):
            self._connection.reset(self.stream_id, code)
            self.end()

    def end(self) -> None:
        """Release everything that belongs to the stream. The client or the server has ended it."""
        self.finished = True
        self._connection.remove(self)
        task, self.task = self.task, None
        if task is not None:
            task.cancel()
        sending, self._sending = self._sending, None
        if sending is not None and sending is not asyncio.current_task():
            sending.cancel()
        if self._resumed is not None and not self._resumed.done():
            self._resumed.set_exception(ConnectionResetError())
            self._resumed.exception()
        response, self._response = self._response, None
        if response is not None:
            response.on_end()

    @property
    def has_response_stream(self) -> bool:
        return self._response is not None

    def expire(self) -> None:
        """Act on a missed deadline: cancel a running request, which then responds 504, or reset the stream."""
        if self.task is not None:
            # The deadline of the request itself: another one follows if the request suppresses its cancellation.
            task, self.task = self.task, None
            self.expire_in(_CANCEL_SECONDS)
            task.cancel()
        else:
            self.reset(CANCEL)
