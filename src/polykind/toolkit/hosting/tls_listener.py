"""A TLS listener that can refuse connections, and can serve another certificate to each new connection."""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aiohttp import web

MAX_CONNECTIONS = 1000
"""The maximum number of open connections. The listener closes further connections at once."""
HANDSHAKE_SECONDS = 10.0
_BACKLOG = 256
_ACCEPT_RETRY_SECONDS = 0.5

log = logging.getLogger(__name__)


class TLSListener:
    """Accepts TLS connections for an HTTP server. Each connection gets the TLS context that `context()` returns."""

    def __init__(self, server: web.Server, context: Callable[[], ssl.SSLContext]) -> None:
        self._server, self._context = server, context
        self._socket: socket.socket | None = None
        self._refusing = False
        self._handshakes: set[asyncio.Task[None]] = set()
        self._accepted: set[socket.socket] = set()
        """Accepted connections whose TLS handshake has not started. Only the listener can close these connections."""
        self._loop = asyncio.get_running_loop()

    async def open(self, address: str, port: int) -> None:
        """Bind and listen. Raise OSError if the address is not available."""
        flags = socket.AI_PASSIVE
        addresses = await self._loop.getaddrinfo(address or None, port, type=socket.SOCK_STREAM, flags=flags)
        family, *_, address_info = addresses[0]
        try:
            self._socket = _bind(family, address_info)
            self._listen()
        except OSError as error:
            raise OSError(error.errno, f"{error.strerror}: {address}:{port}") from error

    @property
    def port(self) -> int:
        assert self._socket is not None
        return int(self._socket.getsockname()[1])

    def set_refusing(self, refusing: bool) -> None:
        """If `refusing` is true, refuse connections as if no process listened on the port, else accept them again.

        The port stays reserved for this listener.
        """
        if refusing == self._refusing or self._socket is None:
            return
        self._refusing = refusing
        if not refusing:
            self._listen()
            return
        family, address_info = self._socket.family, self._socket.getsockname()
        self._loop.remove_reader(self._socket)
        self._socket.close()
        # A socket that is bound but does not listen reserves the port and refuses connections.
        self._socket = _bind(family, address_info)

    def abort(self) -> None:
        """Close all connections at once."""
        self._cancel_handshakes()
        for handler in self._server.connections:
            if handler.transport is not None:
                handler.transport.abort()

    def close(self) -> None:
        """Stop accepting connections. Requests in progress continue."""
        self._cancel_handshakes()
        if self._socket is not None:
            self._loop.remove_reader(self._socket)
            self._socket.close()
            self._socket = None

    def _cancel_handshakes(self) -> None:
        """Cancel all TLS handshakes in progress."""
        for task in self._handshakes:
            task.cancel()
        for connection in self._accepted:
            connection.close()
        self._accepted.clear()

    def _listen(self) -> None:
        assert self._socket is not None
        self._socket.listen(_BACKLOG)
        self._loop.add_reader(self._socket, self._accept)

    def _accept(self) -> None:
        assert self._socket is not None
        for _ in range(_BACKLOG):
            try:
                connection, _ = self._socket.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                log.warning("TLS listener: cannot accept connections, retrying: %s; raise ulimit -n", error)
                self._loop.remove_reader(self._socket)
                self._loop.call_later(_ACCEPT_RETRY_SECONDS, self._resume_accepting, self._socket)
                return
            if len(self._server.connections) + len(self._handshakes) >= MAX_CONNECTIONS:
                connection.close()
                continue
            connection.setblocking(False)
            self._accepted.add(connection)
            task = self._loop.create_task(self._handshake(connection))
            self._handshakes.add(task)
            task.add_done_callback(self._handshakes.discard)

    def _resume_accepting(self, stopped: socket.socket) -> None:
        if self._socket is stopped and not self._refusing:
            self._loop.add_reader(stopped, self._accept)

    async def _handshake(self, connection: socket.socket) -> None:
        self._accepted.discard(connection)
        try:
            await self._loop.connect_accepted_socket(
                self._server, connection, ssl=self._context(), ssl_handshake_timeout=HANDSHAKE_SECONDS
            )
        except (OSError, TimeoutError) as error:
            # This is not an error of the host: the peer only tests the port, or does not trust the certificate.
            log.info("TLS listener: a handshake failed: %s", error or "timed out")


def _bind(family: int, address_info: object) -> socket.socket:
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setblocking(False)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(address_info)  # type: ignore[arg-type]
    except OSError:
        sock.close()
        raise
    return sock
