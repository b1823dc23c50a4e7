"""Raw bytes on a TLS connection, for requests that no well-behaved client sends."""

from __future__ import annotations

import contextlib
import re
import socket
from urllib.parse import urlsplit

from tests.support.server import ServerProcess, trusting


def connect(server: ServerProcess, timeout: float = 10, *, http2: bool = False) -> socket.socket:
    parts = urlsplit(server.url)
    plain = socket.create_connection((parts.hostname, parts.port), timeout=timeout)
    context = trusting()
    if http2:
        context.set_alpn_protocols(["h2"])
    return context.wrap_socket(plain)


def exchange(server: ServerProcess, data: bytes, timeout: float = 10) -> bytes:
    """Send bytes, then read until the server closes or stops sending. An empty result means a closed connection."""
    out = b""
    with connect(server, timeout) as connection:
        # The server may respond and close before it has read everything. Read the response anyway.
        with contextlib.suppress(OSError):
            connection.sendall(data)
        try:
            while chunk := connection.recv(65536):
                out += chunk
        except TimeoutError:
            if not out:
                raise
        except OSError:
            pass
    return out


def statuses(answer: bytes) -> list[int]:
    """Return the status codes of the responses in a stream. A body ends where the next response begins."""
    return [int(code) for code in re.findall(rb"HTTP/1\.[01] (\d{3}) [^\r\n]*\r\n", answer)]


def head(server: ServerProcess, method: bytes, path: bytes, *lines: bytes, close: bool = True) -> bytes:
    """Build a request head with the admin token. `lines` are added unchanged."""
    fixed = [b"Host: localhost", b"Authorization: Bearer " + server.token.encode()]
    if close:
        fixed.append(b"Connection: close")
    return b"\r\n".join([method + b" " + path + b" HTTP/1.1", *fixed, *lines, b"", b""])
