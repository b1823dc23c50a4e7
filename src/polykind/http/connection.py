"""A client's connection: the part that HTTP/1.1 and HTTP/2 share.

docs/reference/limits.md has the limits of a connection.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from abc import abstractmethod
from collections.abc import Callable, Coroutine, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from polykind import errors
from polykind.http.client_handshake import client_chain
from polykind.http.messages import Request
from polykind.operations.responses import Body, Response, Stream

if TYPE_CHECKING:
    from polykind.http.listener import HttpServer

log = logging.getLogger("polykind.http")

App = Callable[[Request], Coroutine[Any, Any, Response | Stream]]

T = TypeVar("T")

TIMEOUT_STATUS = (
    b'{"metadata":{},"status":"Failure","message":"Timeout: request did not complete within the allotted timeout",'
    b'"reason":"Timeout","details":{},"code":504}\n'
)
"""The body of kube-apiserver's response to a request that has timed out. It has neither kind nor apiVersion."""
PIECE_BYTES = 256 * 1024
"""Longer bodies are sent in pieces of this size. Each piece is sent when the client has read the previous one."""


if sys.version_info >= (3, 12):

    def start_request(work: Coroutine[Any, Any, T], loop: asyncio.AbstractEventLoop) -> asyncio.Task[T]:
        """Start the task of a request. It is done on return if the request waits for nothing, as most reads."""
        return asyncio.Task(work, loop=loop, eager_start=True)
else:

    def start_request(work: Coroutine[Any, Any, T], loop: asyncio.AbstractEventLoop) -> asyncio.Task[T]:
        """Start the task of a request. Python 3.11 runs it in the next iteration of the event loop."""
        return loop.create_task(work)


class Connection(asyncio.Protocol):
    """A client's connection. A subclass implements a version of HTTP."""

    __slots__ = ("_app", "_server", "_writing_paused", "client_chain", "closing", "deadline", "peer", "transport")

    def __init__(self, server: HttpServer) -> None:
        self._server = server
        self._app = server.app
        self._writing_paused = False
        """True if the client has left so much unread that nothing more should be written."""
        self.closing = False
        self.client_chain: tuple[bytes, ...] = ()
        self.peer = ""
        self.deadline = server.loop.time() + server.limits.receive_seconds
        """The time of the event loop's clock at which the server calls `expire`."""
        self.transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport  # type: ignore[assignment]
        self.peer = (transport.get_extra_info("peername") or ("",))[0]
        tls = transport.get_extra_info("ssl_object")
        if tls is not None:
            self.client_chain = client_chain(tls)
        self._server.connections.add(self)
        if self._server.stopping or len(self._server.connections) > self._server.limits.max_connections:
            self._close()

    @abstractmethod
    def expire(self) -> None:
        """Act on a missed deadline."""

    @abstractmethod
    def shut_down(self) -> None:
        """End running streams. Close the connection when the responses to running requests have been sent."""

    def abort(self) -> None:
        self.closing = True
        self.transport.abort()

    def _close(self) -> None:
        """Close the connection when the client has read everything, or when the client takes too long."""
        self.closing = True
        limits = self._server.limits
        seconds = limits.linger_seconds * 2 if self._server.stopping else limits.request_seconds
        self.deadline = self._server.loop.time() + seconds
        # A second close would discard the write buffer of a TLS transport.
        if not self.transport.is_closing():
            self.transport.close()

    async def call_app(self, request: Request) -> Response | Stream:
        """Return the response of the application, or an error if the application raises an exception."""
        try:
            return await self._app(request)
        except errors.APIError as error:
            return Response(error.code, error.encode())
        except Exception:
            audit_id = request.audit_id.decode("latin-1")
            log.exception("http: %s %s failed, responding 500 (audit id %s)", request.method, request.path, audit_id)
            return Response(500, errors.InternalError("the server failed on this request; its log says why").encode())

    async def take_write_turn(self, user: str) -> None:
        """Wait until this connection may send a piece of a long response to a user.

        Raise ConnectionResetError if the connection is closed.
        """
        await self._server.turns.take(user)
        if self.transport.is_closing():
            raise ConnectionResetError


def body_pieces(body: Body, head: bytes = b"") -> Iterator[bytes]:
    """Return `head` and a long body in pieces of about PIECE_BYTES."""
    batch, size = [head], len(head)
    for part in body:
        for start in range(0, len(part), PIECE_BYTES):
            batch.append(part if len(part) <= PIECE_BYTES else part[start : start + PIECE_BYTES])
            size += len(batch[-1])
            if size >= PIECE_BYTES:
                piece, batch, size = b"".join(batch), [], 0
                yield piece
                del piece
    if batch:
        yield b"".join(batch)
