"""Several processes on one port, as with --permit-port-sharing."""

from __future__ import annotations

import asyncio

import pytest

from polykind.http.listener import HttpServer
from polykind.http.messages import Request
from polykind.operations.responses import Response


async def ok(request: Request) -> Response:
    return Response(200, b"ok")


async def test_port_is_shared_only_if_every_server_permits_it() -> None:
    first, second, third = HttpServer(ok), HttpServer(ok), HttpServer(ok)
    port = await first.start("127.0.0.1", 0, None, share_port=True)
    try:
        assert await second.start("127.0.0.1", port, None, share_port=True) == port
        with pytest.raises(OSError, match="in use"):
            await third.start("127.0.0.1", port, None)
        await first.stop()
        # The kernel now gives every connection to the second server.
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET / HTTP/1.1\r\nHost: it\r\n\r\n")
        assert b"200 OK" in await reader.readline()
        writer.close()
    finally:
        await first.stop()
        await second.stop()
