"""One client's connection: bytes in, requests to the application, answers out.

Requests on it are answered one after the other; reading stops while one is under way and more wait. Limits: the
head, the body, the time a request may take to arrive, the time a connection may idle, and what a slow client may leave
unread.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from polykind import errors, taskless
from polykind.http.messages import TEXT, Request, Response, Stream
from polykind.http.request_parser import RequestParser
from polykind.taskless import Continuation

if TYPE_CHECKING:
    from polykind.http.listener import HttpServer

log = logging.getLogger("polykind.http")

App = Callable[[Request], Coroutine[Any, Any, Response | Stream]]

_REASONS = {s.value: f"HTTP/1.1 {s.value} {s.phrase}\r\n".encode() for s in HTTPStatus}
_TOO_LATE = (
    b'{"metadata":{},"status":"Failure","message":"Timeout: request did not complete within the allotted timeout",'
    b'"reason":"Timeout","details":{},"code":504}\n'
)
"""What the reference says of a request whose time is up: it does not say what kind of object that is."""
_PIECE = 256 * 1024
"""Bodies longer than this are sent in pieces, as the client takes them."""


class Connection(asyncio.Protocol):
    """What asyncio's transport calls, what requests arrive at, and what a stream writes to."""

    __slots__ = (
        "_app",
        "_arrival",
        "_continue",
        "_held",
        "_keep_stream",
        "_paused",
        "_queue",
        "_refusal",
        "_resumed",
        "_server",
        "_stream",
        "_task",
        "_unread",
        "_unread_size",
        "_working",
        "_writing",
        "certificate",
        "closing",
        "deadline",
        "transport",
    )

    def __init__(self, server: HttpServer) -> None:
        self._server = server
        self._app = server.app
        self._arrival = RequestParser(server.limits, self)
        self._continue = False
        """A 100 Continue is due once the answers before it are out."""
        self._refusal: tuple[errors.APIError, int] | None = None
        # The requests that wait, and the one that is answered.
        self._queue: deque[tuple[Request, bool]] = deque()
        self._held = False
        """Reading has stopped because a request waits."""
        self._working = False
        self._task: Continuation[Response | Stream] | asyncio.Task[None] | None = None
        self._writing = False
        """The task is one that sends a long answer."""
        self._stream: Stream | None = None
        self._keep_stream = True
        self._paused = False
        self._resumed: asyncio.Future[None] | None = None
        self._unread: list[bytes] = []
        self._unread_size = 0
        self.closing = False
        self.certificate: dict[str, Any] | None = None
        self.deadline = server.loop.time() + server.limits.arrival
        self.transport: asyncio.Transport

    @property
    def _busy(self) -> bool:
        return self._task is not None or self._stream is not None

    # ------------------------------------------------------------------ the transport's side

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport  # type: ignore[assignment]
        tls = transport.get_extra_info("ssl_object")
        if tls is not None:
            self.certificate = tls.getpeercert() or None
        self._server.connections.add(self)
        if self._server.stopping or len(self._server.connections) > self._server.limits.connections:
            self._close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._server.forget(self)
        self.closing = True
        self._queue.clear()
        if self._task is not None:
            self._task.cancel()
        if self._resumed is not None and not self._resumed.done():
            self._resumed.set_exception(ConnectionResetError())
            self._resumed.exception()
        self._end_stream()

    def eof_received(self) -> bool:
        return False

    def pause_writing(self) -> None:
        self._paused = True

    def resume_writing(self) -> None:
        self._paused = False
        if self._unread:
            unread, self._unread, self._unread_size = b"".join(self._unread), [], 0
            self.transport.write(unread)
        if not self._paused and self._resumed is not None and not self._resumed.done():
            self._resumed.set_result(None)

    def data_received(self, data: bytes) -> None:
        if not self.closing:
            self._arrival.feed(data)

    # ------------------------------------------------------------------ what arrives

    def on_arrival(self) -> None:
        if not self._busy:
            self.deadline = self._server.loop.time() + self._server.limits.arrival

    def on_expectation(self) -> None:
        self._continue = True
        if not self._busy:
            self._tell_to_go_on()

    def _tell_to_go_on(self) -> None:
        self._continue = False
        self.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_request(self, request: Request, keep_alive: bool) -> None:
        self._continue = False
        request.peer_certificate = self.certificate
        self._queue.append((request, keep_alive))
        if not self._busy:
            self._work()
        elif not self._held:
            self._held = True
            self.transport.pause_reading()

    def on_refusal(self, error: errors.APIError, status: int) -> None:
        """Answer why, after what was asked before; who has had his last answer is told no more."""
        if self.closing:
            return
        if self._stream is not None:
            self.abort()
        elif self._busy:
            self._refusal = (error, status)
        else:
            self._send_refusal(error, status)

    # ------------------------------------------------------------------ answering

    def _work(self) -> None:
        """Answer the requests that wait, until there is none or an answer takes its time."""
        if self._working:
            return
        self._working = True
        while self._queue and not self._busy and not self.closing:
            self._answer(*self._queue.popleft())
        self._working = False
        if self._busy or self.closing:
            return
        if self._held:
            self._held = False
            self.transport.resume_reading()
        if self._refusal is not None:
            self._send_refusal(*self._refusal)
            return
        if self._continue:
            self._tell_to_go_on()
        limits = self._server.limits
        self.deadline = self._server.loop.time() + (limits.arrival if self._arrival.under_way else limits.idle)

    def _answer(self, request: Request, keep_alive: bool) -> None:
        request.audit_id = request.headers.get(b"audit-id") or self._server.audit_id()
        loop = self._server.loop
        result = taskless.run(self._call(request), loop, lambda rest: self._answered(request, keep_alive, rest))
        if isinstance(result, Continuation):
            self._task = result
            most = self._server.limits.request
            self.deadline = loop.time() + min(request.timeout or most, most)
        else:
            self._write(request, result, keep_alive)

    async def _call(self, request: Request) -> Response | Stream:
        try:
            return await self._app(request)
        except errors.APIError as error:
            return Response(error.code, error.encode())
        except Exception:
            audit_id = request.audit_id.decode("latin-1")
            log.exception("a request failed: %s %s (audit id %s)", request.method, request.path, audit_id)
            return Response(500, errors.InternalError("the server failed on this request; its log says why").encode())

    def _answered(self, request: Request, keep_alive: bool, rest: Continuation[Response | Stream]) -> None:
        self._task = None
        if self.closing:
            answer = None if rest.cancelled else rest.result()
            if isinstance(answer, Stream):
                answer.on_end()
            return
        if rest.cancelled:
            self._write(request, Response(504, _TOO_LATE, TEXT), False)
        else:
            self._write(request, rest.result(), keep_alive)

    def _write(self, request: Request, answer: Response | Stream, keep_alive: bool) -> None:
        keep_alive = keep_alive and not self._server.stopping
        if isinstance(answer, Stream):
            self._begin_stream(request, answer, keep_alive)
            return
        head = self._head(request, answer, keep_alive)
        body = b"" if request.method == "HEAD" else answer.body
        if isinstance(body, bytes):
            if len(body) <= _PIECE:
                self.transport.write(head + body)
                self._done(keep_alive)
                return
            body = (body,)
        self._writing = True
        self.deadline = float("inf")
        self._task = self._server.loop.create_task(self._write_long(head, body, keep_alive))

    def _head(self, request: Request, answer: Response | Stream, keep_alive: bool) -> bytes:
        parts = [
            _REASONS.get(answer.status) or b"HTTP/1.1 %d Unknown\r\n" % answer.status,
            b"Audit-Id: ",
            request.audit_id,
            b"\r\nCache-Control: no-cache, private\r\nDate: ",
            self._server.date,
        ]
        if answer.content_type:
            parts += (b"\r\nContent-Type: ", answer.content_type)
        for name, value in answer.headers:
            if name == b"Cache-Control":
                parts[3] = b"\r\nCache-Control: %b\r\nDate: " % value
                continue
            parts += (b"\r\n", name, b": ", value)
        if isinstance(answer, Stream):
            parts.append(b"\r\nTransfer-Encoding: chunked")
        elif answer.status != 304:
            # A 304 has no body; a length would be taken for that of the document the client has.
            body = answer.body
            size = len(body) if isinstance(body, bytes) else sum(map(len, body))
            parts.append(b"\r\nContent-Length: %d" % size)
        parts.append(b"\r\n\r\n" if keep_alive else b"\r\nConnection: close\r\n\r\n")
        return b"".join(parts)

    async def _write_long(self, head: bytes, body: Sequence[bytes], keep_alive: bool) -> None:
        """Send a long body in pieces of some hundred kilobytes, each when the client has taken the one before."""
        try:
            batch, size = [head], len(head)
            for part in body:
                for start in range(0, len(part), _PIECE):
                    batch.append(part if len(part) <= _PIECE else part[start : start + _PIECE])
                    size += len(batch[-1])
                    if size >= _PIECE:
                        self.transport.write(b"".join(batch))
                        batch, size = [], 0
                        await self.drained()
            if batch:
                self.transport.write(b"".join(batch))
        except (ConnectionError, asyncio.CancelledError):
            return
        finally:
            self._task, self._writing = None, False
        self._done(keep_alive)

    async def drained(self) -> None:
        if self._paused:
            before, self.deadline = self.deadline, self._server.loop.time() + self._server.limits.request
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

    def _done(self, keep_alive: bool) -> None:
        """The answer is out: the next request, or the end."""
        if keep_alive:
            self._work()
        else:
            self._close()

    def _send_refusal(self, error: errors.APIError, status: int) -> None:
        request = Request("GET", "", "", {}, b"")
        request.audit_id = self._server.audit_id()
        response = Response(status, error.encode())
        self.transport.write(self._head(request, response, False) + error.encode())
        self.closing = True
        # The client may still be sending: closed at once, the connection would take the answer with it.
        farewell = self._server.limits.farewell
        self.deadline = self._server.loop.time() + farewell * 4
        if self.transport.can_write_eof():
            self.transport.write_eof()
        else:
            self._server.loop.call_later(farewell, self.transport.close)

    # ------------------------------------------------------------------ streams

    def _begin_stream(self, request: Request, stream: Stream, keep_alive: bool) -> None:
        self._stream, self._keep_stream = stream, keep_alive
        self.deadline = float("inf")
        self.transport.write(self._head(request, stream, keep_alive))
        if request.method == "HEAD":
            self._end_stream()
            self._done(keep_alive)
        elif self._server.stopping:
            self.finish()
        else:
            stream.start(self)

    def send(self, frame: bytes) -> None:
        if self.closing:
            return
        if not self._paused:
            self.transport.write(frame)
            return
        self._unread_size += len(frame)
        if self._unread_size > self._server.limits.unread:
            log.info("a watcher was cut off: it left more than %d bytes unread", self._server.limits.unread)
            self.abort()
            return
        self._unread.append(frame)

    def finish(self) -> None:
        if self._stream is None or self.closing:
            return
        self._unread.append(b"0\r\n\r\n")
        unread, self._unread, self._unread_size = b"".join(self._unread), [], 0
        self.transport.write(unread)
        self._end_stream()
        self._done(self._keep_stream and not self._server.stopping)

    def _end_stream(self) -> None:
        stream, self._stream = self._stream, None
        self._unread, self._unread_size = [], 0
        if stream is not None:
            stream.on_end()

    # ------------------------------------------------------------------ ends

    def expire(self) -> None:
        """The time is up: for a request under way the answer is 504, an idle or half-sent one is closed."""
        if self._task is not None and not self._writing and not self.closing:
            # A task that does not heed is not waited for much longer.
            self.deadline = self._server.loop.time() + 5
            self._task.cancel()
        elif not (self._server.stopping and self.closing and self.transport.get_write_buffer_size()):
            # While the server stops, who still takes an answer has until its patience ends.
            self.abort()

    def wind_down(self) -> None:
        """The server stops: end the stream, close when the answer under way is out."""
        if self._stream is not None:
            self.finish()
        elif not self._busy and not self._arrival.over:
            now, limits = self._server.loop.time(), self._server.limits
            idle = now - (self.deadline - limits.idle)
            self._close()
            if idle > limits.farewell * 2 and not self._arrival.under_way:
                # The client has its last answer, and that it, too, says farewell is not worth waiting for.
                self.deadline = now

    def _close(self) -> None:
        """Close when the client has taken what was sent, or has had its time to do so."""
        self.closing = True
        limits = self._server.limits
        self.deadline = self._server.loop.time() + (limits.farewell * 2 if self._server.stopping else limits.request)
        # The client may have hung up; one that is closed twice forgets what it was to send.
        if not self.transport.is_closing():
            self.transport.close()

    def abort(self) -> None:
        self.closing = True
        self.transport.abort()
