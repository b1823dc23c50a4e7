"""HTTP/1.1 on a socket: bytes in, requests to the application, answers out.

One connection is one `Connection`. Requests on it are answered one after the other; reading stops while one is
under way and more wait. Limits: the head, the body, the time a request may take to arrive, the time a
connection may idle, and what a slow client may leave unread.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import os
import ssl
import time
from collections import deque
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from email.utils import formatdate
from http import HTTPStatus
from typing import Any

import httptools

from polykind import eager, errors
from polykind.wire.request import Request
from polykind.wire.response import Response, Stream

log = logging.getLogger("polykind.http")

App = Callable[[Request], Coroutine[Any, Any, Response | Stream]]

_REASONS = {s.value: f"HTTP/1.1 {s.value} {s.phrase}\r\n".encode() for s in HTTPStatus}
_PIECE = 256 * 1024
"""Bodies longer than this are sent in pieces, as the client takes them."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a client may ask of the server before it is refused."""

    body: int = 3 * 1024 * 1024
    head: int = 256 * 1024
    arrival: float = 30.0
    """Seconds a request may take to arrive."""
    idle: float = 180.0
    """Seconds a connection may wait for its next request."""
    request: float = 60.0
    """Seconds an answer may take (streams excepted)."""
    unread: int = 8 * 1024 * 1024
    """Bytes a stream's client may leave unread before it is cut off."""
    connections: int = 20_000


class HttpServer:
    """Listens, keeps the connections, and stops without cutting an answer short."""

    def __init__(self, app: App, limits: Limits | None = None) -> None:
        self.app = app
        self.limits = limits or Limits()
        self.connections: set[Connection] = set()
        self.stopping = False
        self.date = b""
        self._server: asyncio.Server | None = None
        self._sweeper: asyncio.TimerHandle | None = None
        seed = os.urandom(10).hex()
        self._audit_prefix = f"{seed[:8]}-{seed[8:12]}-4{seed[12:15]}-a{seed[15:18]}-".encode()
        self._audit_counter = itertools.count(int.from_bytes(os.urandom(4), "big"))

    async def start(self, host: str, port: int, tls: ssl.SSLContext | None) -> int:
        """Begin to listen; the port that was taken."""
        self.loop = asyncio.get_running_loop()
        self._sweep()
        self._server = await self.loop.create_server(
            lambda: Connection(self), host, port, ssl=tls, ssl_handshake_timeout=10 if tls else None, backlog=1024
        )
        return int(self._server.sockets[0].getsockname()[1])

    async def stop(self, grace: float = 10.0) -> None:
        """Take no more requests, let running ones finish, end streams, close."""
        self.stopping = True
        if self._server is not None:
            self._server.close()
        for connection in list(self.connections):
            connection.wind_down()
        deadline = self.loop.time() + grace
        while self.connections and self.loop.time() < deadline:
            await asyncio.sleep(0.01)
        for connection in list(self.connections):
            connection.abort()
        if self._sweeper is not None:
            self._sweeper.cancel()

    def audit_id(self) -> bytes:
        return self._audit_prefix + b"%012x" % next(self._audit_counter)

    def _sweep(self) -> None:
        """Once a second: the Date header, and the connections whose time is up."""
        self.date = formatdate(time.time(), usegmt=True).encode()
        now = self.loop.time()
        for connection in [c for c in self.connections if now > c.deadline]:
            connection.expire()
        self._sweeper = self.loop.call_later(1.0, self._sweep)


class Connection(asyncio.Protocol):
    """One client's connection."""

    __slots__ = (
        "_body",
        "_head_size",
        "_headers",
        "_parser",
        "_paused",
        "_queue",
        "_refused",
        "_resumed",
        "_server",
        "_stream",
        "_task",
        "_unread",
        "_unread_size",
        "_url",
        "app",
        "certificate",
        "closing",
        "deadline",
        "transport",
    )

    def __init__(self, server: HttpServer) -> None:
        self._server = server
        self.app = server.app
        self._parser = httptools.HttpRequestParser(self)
        self._url = b""
        self._headers: dict[bytes, bytes] = {}
        self._body: list[bytes] = []
        self._head_size = 0
        self._refused = False
        self._queue: deque[tuple[Request, bool]] = deque()
        self._task: asyncio.Task[Any] | None = None
        self._stream: Stream | None = None
        self._paused = False
        self._resumed: asyncio.Future[None] | None = None
        self._unread: list[bytes] = []
        self._unread_size = 0
        self.closing = False
        self.certificate: dict[str, Any] | None = None
        self.deadline = server.loop.time() + server.limits.arrival
        self.transport: asyncio.Transport

    # ------------------------------------------------------------------ the transport's side

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport  # type: ignore[assignment]
        tls = transport.get_extra_info("ssl_object")
        if tls is not None:
            self.certificate = tls.getpeercert() or None
        self._server.connections.add(self)
        if self._server.stopping or len(self._server.connections) > self._server.limits.connections:
            self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._server.connections.discard(self)
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
        if self.closing or self._refused:
            return
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._refuse(errors.BadRequest("this server does not switch protocols: upgrade is not supported"))
        except (httptools.HttpParserError, ValueError) as error:
            if not self._refused:
                self._refuse(errors.BadRequest(f"malformed HTTP request: {error}"))

    # ------------------------------------------------------------------ the parser's side

    def on_message_begin(self) -> None:
        self._url = b""
        self._headers = {}
        self._body = []
        self._head_size = 0
        self.deadline = self._server.loop.time() + self._server.limits.arrival

    def on_url(self, url: bytes) -> None:
        self._url += url
        self._grow_head(len(url))

    def on_header(self, name: bytes, value: bytes) -> None:
        self._grow_head(len(name) + len(value))
        name = name.lower()
        known = self._headers.get(name)
        self._headers[name] = value if known is None else b"%b, %b" % (known, value)

    def _grow_head(self, size: int) -> None:
        self._head_size += size
        if self._head_size > self._server.limits.head and not self._refused:
            self._refuse(errors.TooLarge("the head of the request is too large"), status=431)

    def on_headers_complete(self) -> None:
        if self._refused:
            return
        length = self._headers.get(b"content-length")
        if length is not None and length.isdigit() and int(length) > self._server.limits.body:
            self._head_size = -1
            self._refuse_body()
        elif b"expect" in self._headers and self._headers[b"expect"].lower() == b"100-continue":
            self.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_body(self, body: bytes) -> None:
        if self._refused:
            return
        self._head_size += len(body)
        if self._head_size > self._server.limits.body + self._server.limits.head:
            self._refuse_body()
            return
        self._body.append(body)

    def on_message_complete(self) -> None:
        if self._refused:
            return
        body = b"".join(self._body)
        if len(body) > self._server.limits.body:
            self._refuse_body()
            return
        path, _, query = self._url.partition(b"?")
        request = Request(
            self._parser.get_method().decode("latin-1"),
            path.decode("latin-1"),
            query.decode("latin-1"),
            self._headers,
            body,
        )
        self._body = []
        request.peer_certificate = self.certificate
        keep_alive = self._parser.should_keep_alive()
        if self._task is None and self._stream is None and not self._queue:
            self._answer(request, keep_alive)
        else:
            self._queue.append((request, keep_alive))
            self.transport.pause_reading()

    # ------------------------------------------------------------------ answering

    def _answer(self, request: Request, keep_alive: bool) -> None:
        request.audit_id = request.headers.get(b"audit-id") or self._server.audit_id()
        result = eager.run(self._call(request), self._server.loop)
        if isinstance(result, asyncio.Task):
            self._task = result
            self.deadline = self._server.loop.time() + self._server.limits.request + 5
            result.add_done_callback(lambda task: self._answered(request, keep_alive, task))
        else:
            self._write(request, result, keep_alive)

    async def _call(self, request: Request) -> Response | Stream:
        try:
            return await self.app(request)
        except errors.APIError as error:
            return Response(error.code, error.encode())
        except Exception:
            log.exception(
                "a request failed: %s %s (audit id %s)", request.method, request.path, request.audit_id.decode()
            )
            return Response(500, errors.InternalError("the server failed on this request; its log says why").encode())

    def _answered(self, request: Request, keep_alive: bool, task: asyncio.Task[Response | Stream]) -> None:
        self._task = None
        if self.closing and self.transport.is_closing():
            if not task.cancelled() and isinstance(task.result(), Stream):
                task.result().ended()  # type: ignore[union-attr]
            return
        if task.cancelled():
            timeout = errors.Timeout("Timeout: the request did not complete within the allotted time")
            self._write(request, Response(504, timeout.encode()), False)
            return
        self._write(request, task.result(), keep_alive)

    def _write(self, request: Request, answer: Response | Stream, keep_alive: bool) -> None:
        keep_alive = keep_alive and not self._server.stopping
        if isinstance(answer, Stream):
            self._begin_stream(request, answer)
            return
        head = self._head(request, answer, keep_alive)
        body = answer.body
        if request.method == "HEAD":
            body = b""
        if isinstance(body, bytes):
            if len(body) <= _PIECE:
                self.transport.write(head + body)
                self._done(keep_alive)
                return
            body = (body,)
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
            parts += (b"\r\n", name, b": ", value)
        if isinstance(answer, Stream):
            parts.append(b"\r\nTransfer-Encoding: chunked")
        else:
            body = answer.body
            size = len(body) if isinstance(body, bytes) else sum(map(len, body))
            parts.append(b"\r\nContent-Length: %d" % size)
        parts.append(b"\r\n\r\n" if keep_alive else b"\r\nConnection: close\r\n\r\n")
        return b"".join(parts)

    async def _write_long(self, head: bytes, body: Any, keep_alive: bool) -> None:
        """Send a long body in pieces of some hundred kilobytes, each when the client has taken the one before."""
        try:
            batch, size = [head], len(head)
            for part in body:
                view = memoryview(part) if len(part) > _PIECE else part
                for start in range(0, len(part), _PIECE) if len(part) > _PIECE else (0,):
                    piece = view[start : start + _PIECE] if len(part) > _PIECE else part
                    batch.append(piece)
                    size += len(piece)
                    if size >= _PIECE:
                        self.transport.write(b"".join(batch))
                        batch, size = [], 0
                        await self.drained()
            if batch:
                self.transport.write(b"".join(batch))
        except (ConnectionError, asyncio.CancelledError):
            return
        finally:
            self._task = None
        self._done(keep_alive)

    async def drained(self) -> None:
        self.deadline = self._server.loop.time() + self._server.limits.request
        if self._paused:
            self._resumed = self._server.loop.create_future()
            try:
                await self._resumed
            finally:
                self._resumed = None
        elif self.transport.is_closing():
            raise ConnectionResetError
        else:
            await asyncio.sleep(0)

    def _done(self, keep_alive: bool) -> None:
        """The answer is out: the next request, or the end."""
        if not keep_alive:
            self.closing = True
            self.transport.close()
            return
        self.deadline = self._server.loop.time() + self._server.limits.idle
        if self._queue:
            request, keep_alive = self._queue.popleft()
            if not self._queue:
                self.transport.resume_reading()
            self._answer(request, keep_alive)

    def _refuse_body(self) -> None:
        limit = self._server.limits.body
        self._refuse(errors.TooLarge(f"Request entity too large: limit is {limit}"))

    def _refuse(self, error: errors.APIError, status: int = 0) -> None:
        """Answer what cannot be read any further, and close."""
        self._refused = True
        if self._task is not None or self._stream is not None:
            self.abort()
            return
        request = Request("GET", "", "", {}, b"")
        request.audit_id = self._server.audit_id()
        response = Response(status or error.code, error.encode())
        self.transport.write(self._head(request, response, False) + error.encode())
        self.closing = True
        # Let the client read the answer before the connection goes: it may still be sending.
        self.deadline = self._server.loop.time() + 2
        if self.transport.can_write_eof():
            self.transport.write_eof()
        else:
            self._server.loop.call_later(0.5, self.transport.close)

    # ------------------------------------------------------------------ streams

    def _begin_stream(self, request: Request, stream: Stream) -> None:
        self._stream = stream
        self.deadline = float("inf")
        self.transport.write(self._head(request, stream, True))
        if request.method == "HEAD" or self._server.stopping:
            self.finish()
            return
        stream.begin(self)

    def send(self, frame: bytes) -> None:
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
        if self._stream is None or self.transport.is_closing():
            return
        self._unread.append(b"0\r\n\r\n")
        unread, self._unread, self._unread_size = b"".join(self._unread), [], 0
        self.transport.write(unread)
        self._end_stream()
        self._done(not self._server.stopping)

    def _end_stream(self) -> None:
        stream, self._stream = self._stream, None
        self._unread = []
        if stream is not None:
            stream.ended()

    # ------------------------------------------------------------------ ends

    def expire(self) -> None:
        """The time is up: for a request under way the answer is 504, an idle or half-sent one is closed."""
        if self._task is not None and not self.closing:
            self.deadline = self._server.loop.time() + 5
            self._task.cancel()
            return
        self.abort()

    def wind_down(self) -> None:
        """The server stops: end the stream, close when the answer under way is out."""
        if self._stream is not None:
            self.finish()
        elif self._task is None and not self._queue:
            self.closing = True
            self.transport.close()

    def abort(self) -> None:
        self.closing = True
        self.transport.abort()
