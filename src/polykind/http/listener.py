"""HTTP/1.1 on a socket: who listens, keeps the connections, and stops without cutting an answer short."""

from __future__ import annotations

import asyncio
import itertools
import os
import ssl
import time
from dataclasses import dataclass
from email.utils import formatdate

from polykind.http.connection import App, Connection


@dataclass(frozen=True, slots=True)
class Limits:
    """What a client may ask of the server before it is refused."""

    body: int = 3 * 1024 * 1024
    head: int = 256 * 1024
    arrival: float = 32.0
    """Seconds a request may take to arrive."""
    idle: float = 180.0
    """Seconds a connection may wait for its next request."""
    request: float = 60.0
    """Seconds an answer may take (streams excepted), and seconds a client may take for each piece of a long one."""
    unread: int = 8 * 1024 * 1024
    """Bytes a stream's client may leave unread before it is cut off."""
    connections: int = 20_000
    farewell: float = 0.5
    """Seconds a client that is refused may go on sending before its connection is closed."""
    sweep: float = 1.0
    """Seconds between two looks at the clock."""


def _keep_large_blocks() -> None:
    """Have glibc keep blocks of up to a megabyte for the next who wants one: long answers are sent in such pieces.

    It asks the system for each anew, which takes as long as encrypting it, until a larger one has once been given back.
    """
    bytes(1024 * 1024)


class HttpServer:
    """Listens and keeps the connections."""

    def __init__(self, app: App, limits: Limits | None = None) -> None:
        self.app = app
        self.limits = limits or Limits()
        self.connections: set[Connection] = set()
        self.stopping = False
        self.date = b""
        self._deserted = asyncio.Event()
        self._server: asyncio.Server | None = None
        self._sweeper: asyncio.TimerHandle | None = None
        seed = os.urandom(10).hex()
        self._audit_prefix = f"{seed[:8]}-{seed[8:12]}-4{seed[12:15]}-a{seed[15:18]}-".encode()
        self._audit_counter = itertools.count(int.from_bytes(os.urandom(4), "big"))

    async def start(self, host: str, port: int, tls: ssl.SSLContext | None) -> int:
        """Begin to listen; the port that was taken."""
        self.loop = asyncio.get_running_loop()
        _keep_large_blocks()
        self._sweep()
        try:
            self._server = await self.loop.create_server(
                lambda: Connection(self),
                host,
                port,
                ssl=tls,
                ssl_handshake_timeout=self.limits.arrival if tls else None,
                backlog=1024,
            )
        except BaseException:
            self._end_sweeps()
            raise
        return int(self._server.sockets[0].getsockname()[1])

    async def stop(self, grace: float = 10.0) -> None:
        """Take no more requests, let running ones finish, end streams, close."""
        self.stopping = True
        if self._server is not None:
            self._server.close()
        for connection in list(self.connections):
            connection.wind_down()
        if self.connections:
            self._deserted.clear()
            self._end_sweeps()
            self._sweep()
            try:
                await asyncio.wait_for(self._deserted.wait(), grace)
            except TimeoutError:
                for connection in list(self.connections):
                    connection.abort()
        self._end_sweeps()

    def forget(self, connection: Connection) -> None:
        self.connections.discard(connection)
        if not self.connections:
            self._deserted.set()

    def audit_id(self) -> bytes:
        return self._audit_prefix + b"%012x" % next(self._audit_counter)

    def _sweep(self) -> None:
        """Every now and then: the Date header, and the connections whose time is up."""
        self.date = formatdate(time.time(), usegmt=True).encode()
        now = self.loop.time()
        for connection in [c for c in self.connections if now > c.deadline]:
            connection.expire()
        pause = self.limits.farewell / 5 if self.stopping else self.limits.sweep
        self._sweeper = self.loop.call_later(pause, self._sweep)

    def _end_sweeps(self) -> None:
        if self._sweeper is not None:
            self._sweeper.cancel()
            self._sweeper = None
