"""Bytes straight onto a TLS connection, for what no decent client sends."""

from __future__ import annotations

import contextlib
import re
import socket
from urllib.parse import urlsplit

from tests.support.server import ServerProcess, trusting


def connect(server: ServerProcess, timeout: float = 10) -> socket.socket:
    parts = urlsplit(server.url)
    plain = socket.create_connection((parts.hostname, parts.port), timeout=timeout)
    return trusting().wrap_socket(plain)


def exchange(server: ServerProcess, data: bytes, timeout: float = 10) -> bytes:
    """Send, then read until the server closes or says no more; an empty answer is a closed connection."""
    out = b""
    with connect(server, timeout) as connection:
        # The server may refuse before it has read everything; what it said is still to be read.
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
    """The status codes of the answers in a stream; a body ends where the next answer begins."""
    return [int(code) for code in re.findall(rb"HTTP/1\.[01] (\d{3}) [^\r\n]*\r\n", answer)]


def head(server: ServerProcess, method: bytes, path: bytes, *lines: bytes, close: bool = True) -> bytes:
    """A request's head, with the admin's token; `lines` are added as they are."""
    fixed = [b"Host: localhost", b"Authorization: Bearer " + server.token.encode()]
    if close:
        fixed.append(b"Connection: close")
    return b"\r\n".join([method + b" " + path + b" HTTP/1.1", *fixed, *lines, b"", b""])
