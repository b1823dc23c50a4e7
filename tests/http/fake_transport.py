"""A connection without a socket: a transport that records what is written, and a feed of received pieces."""

from __future__ import annotations

import asyncio
import gc
import weakref
from typing import Any, cast

from polykind.http.connection import App, Connection
from polykind.http.listener import HttpServer, Limits


class FakeTransport:
    """A transport that records what is written."""

    def __init__(self) -> None:
        self.written = b""
        self.closed = False
        self.reading = True

    def write(self, data: bytes) -> None:
        assert not self.closed
        self.written += data

    def close(self) -> None:
        self.closed = True

    abort = write_eof = close

    def is_closing(self) -> bool:
        return self.closed

    def can_write_eof(self) -> bool:
        return True

    def pause_reading(self) -> None:
        assert self.reading
        self.reading = False

    def resume_reading(self) -> None:
        assert not self.reading
        self.reading = True

    def get_extra_info(self, name: str) -> Any:
        return None


async def exchange(protocol: type[Connection], app: App, pieces: list[bytes]) -> FakeTransport:
    """Feed the pieces to a connection of a protocol while it reads. Then let it respond, and disconnect."""
    http = HttpServer(app, Limits(max_body_bytes=2000, max_head_bytes=2000))
    http.loop = asyncio.get_running_loop()
    connection, transport = protocol(http), FakeTransport()
    connection.connection_made(cast(asyncio.Transport, transport))
    for piece in pieces:
        for _ in range(200):
            if transport.reading or connection.closing:
                break
            await asyncio.sleep(0)
        if connection.closing:
            break
        assert transport.reading
        connection.data_received(piece)
    for _ in range(50):
        await asyncio.sleep(0)
    connection.connection_lost(None)
    assert not http.connections
    return transport


def is_freed_by_reference_counting(protocol: type[Connection], app: App, received: bytes) -> bool:
    """True if a connection that has served requests and was lost is freed without the garbage collector."""

    async def lose_connection() -> weakref.ref[FakeTransport]:
        return weakref.ref(await exchange(protocol, app, [received]))

    gc.disable()
    try:
        return asyncio.run(lose_connection())() is None
    finally:
        gc.enable()
