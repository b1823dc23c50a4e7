"""The choice between HTTP/1.1 and HTTP/2 on a new TLS connection, by ALPN (RFC 7301)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from polykind.http.connection import Connection
from polykind.http.http1_connection import Http1Connection

if TYPE_CHECKING:
    from polykind.http.listener import HttpServer

HTTP1_PROTOCOLS: Final = ["http/1.1"]
HTTP2_PROTOCOLS: Final = ["h2", "http/1.1"]
"""The protocols to offer with `SSLContext.set_alpn_protocols`. The client's choice counts if it has one."""


class ProtocolChoice(asyncio.Protocol):
    """The protocol of a connection until the end of its TLS handshake."""

    def __init__(self, server: HttpServer) -> None:
        self._server = server

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        tls = transport.get_extra_info("ssl_object")
        is_http2 = tls is not None and tls.selected_alpn_protocol() == "h2"
        connection = _http2_connection(self._server) if is_http2 else Http1Connection(self._server)
        transport.set_protocol(connection)
        connection.connection_made(transport)


def _http2_connection(server: HttpServer) -> Connection:
    # Many clients, such as all Python clients, never use HTTP/2.
    from polykind.http.http2.http2_connection import Http2Connection

    return Http2Connection(server)
