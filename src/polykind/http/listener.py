"""The HTTP server: its listening socket, its connections, their deadlines, and graceful shutdown."""

from __future__ import annotations

import asyncio
import logging
import ssl
import time

import msgspec

from polykind.http.connection import App, Connection
from polykind.http.descriptors import descriptor_problem
from polykind.http.http_date import format_http_date
from polykind.http.messages import AuditIds
from polykind.http.protocol_choice import ProtocolChoice
from polykind.workers import LoopTurns

log = logging.getLogger("polykind.http")


class Limits(msgspec.Struct, frozen=True):
    """Limits on requests, connections and slow clients."""

    max_body_bytes: int = 3 * 1024 * 1024
    max_head_bytes: int = 256 * 1024
    receive_seconds: float = 32.0
    """Time in which a request must arrive completely."""
    idle_seconds: float = 180.0
    """Time that a connection may wait for its next request."""
    request_seconds: float = 60.0
    """Time to handle a request (except streams). Also the time in which a client must read each piece of a response."""
    max_unread_bytes: int = 8 * 1024 * 1024
    """Bytes that the client of a stream may leave unread before the stream ends.

    HTTP/1.1 then closes the connection. All streams of an HTTP/2 connection together have twice this limit.
    """
    max_connections: int = 20_000
    linger_seconds: float = 0.5
    """Time that a client may continue to send after its request was rejected."""
    sweep_seconds: float = 1.0
    """Time between two checks of the connections' deadlines."""


class Http2Options(msgspec.Struct, frozen=True):
    """Options of HTTP/2 connections. A client can choose HTTP/2 if the TLS context offers it."""

    max_streams: int = 100
    """The number of requests that a client may run at once on one connection."""
    goaway_chance: float = 0.0
    """The probability that a request makes its client open another connection, which may lead to another replica."""


def _raise_mmap_threshold() -> None:
    """Make glibc serve blocks of up to a megabyte from its heap, because long responses are sent in such pieces.

    glibc raises its mmap threshold when a larger block is freed, so allocate and free one. Otherwise glibc would map
    memory for each block, which takes as long as encrypting the block.
    """
    bytes(1024 * 1024)


class HttpServer:
    """Accepts connections and enforces their deadlines."""

    def __init__(
        self,
        app: App,
        limits: Limits | None = None,
        http2: Http2Options | None = None,
        turns: LoopTurns | None = None,
    ) -> None:
        """`turns` are the turns in which the application encodes long responses. The connections share them."""
        self.app = app
        self.limits = limits or Limits()
        self.http2 = http2 or Http2Options()
        self.connections: set[Connection] = set()
        self.stopping = False
        self.date = b""
        """The current value of the Date header, updated at each check of the deadlines."""
        self._all_closed = asyncio.Event()
        self._server: asyncio.Server | None = None
        self._sweeper: asyncio.TimerHandle | None = None
        self.new_audit_id = AuditIds()
        self.turns = turns or LoopTurns()
        self._sweep_due = 0.0
        self._loop_lag = 0.0
        self.descriptor_problem = ""
        """The reason why no connections can be accepted, or "". Updated at each check of the deadlines."""

    async def start(self, host: str, port: int, tls: ssl.SSLContext | None, *, share_port: bool = False) -> int:
        """Start listening and return the port.

        If `share_port` is true, other processes may listen on the port, too. The kernel chooses one of them for each
        connection (SO_REUSEPORT).
        """
        self.loop = asyncio.get_running_loop()
        _raise_mmap_threshold()
        self._sweep()
        try:
            self._server = await self.loop.create_server(
                lambda: ProtocolChoice(self),
                host,
                port,
                ssl=tls,
                ssl_handshake_timeout=self.limits.receive_seconds if tls else None,
                backlog=1024,
                reuse_port=share_port or None,
            )
        except BaseException:
            self._stop_sweeping()
            raise
        return int(self._server.sockets[0].getsockname()[1])

    async def stop(self, grace: float = 10.0) -> None:
        """Stop listening, let running requests finish, end streams, and close all connections."""
        self.stopping = True
        if self._server is not None:
            self._server.close()
        for connection in list(self.connections):
            connection.shut_down()
        if self.connections:
            self._all_closed.clear()
            self._stop_sweeping()
            self._sweep()
            try:
                await asyncio.wait_for(self._all_closed.wait(), grace)
            except TimeoutError:
                for connection in list(self.connections):
                    connection.abort()
        self._stop_sweeping()

    def remove(self, connection: Connection) -> None:
        self.connections.discard(connection)
        if not self.connections:
            self._all_closed.set()

    def _sweep(self) -> None:
        """Refresh the Date header, expire connections whose deadline has passed, and check for free descriptors."""
        self._check_descriptors()
        self._measure_lag()
        self.date = format_http_date(time.time())
        now = self.loop.time()
        for connection in [c for c in self.connections if now > c.deadline]:
            connection.expire()
        pause = self.limits.linger_seconds / 5 if self.stopping else self.limits.sweep_seconds
        self._sweep_due = now + pause
        self._sweeper = self.loop.call_later(pause, self._sweep)

    def _measure_lag(self) -> None:
        """Remember how late the event loop called `_sweep`."""
        if self._sweep_due:
            self._loop_lag = max(self._loop_lag, self.loop.time() - self._sweep_due)

    def take_loop_lag(self) -> float:
        """Return the longest delay of the event loop since the last call, in seconds."""
        # If the event loop is late, this call may come before the next sweep.
        self._measure_lag()
        lag, self._loop_lag = max(self._loop_lag, 0.0), 0.0
        return lag

    def _check_descriptors(self) -> None:
        problem = descriptor_problem()
        if problem and not self.descriptor_problem:
            count = len(self.connections)
            log.error("http: cannot accept connections, %s; closing new connections (%d are open)", problem, count)
        self.descriptor_problem = problem

    def _stop_sweeping(self) -> None:
        if self._sweeper is not None:
            self._sweeper.cancel()
            self._sweeper = None
