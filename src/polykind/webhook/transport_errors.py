"""What went wrong between us and a webhook, in the words of Go's HTTP client."""

from __future__ import annotations

import asyncio
import errno
import os
import re
import socket
import ssl
from functools import cache
from pathlib import Path

from polykind.webhook.resolver import Endpoint

_DIAGNOSIS_SECONDS = 2.0
_ALERTS = {
    "TLSV13_ALERT_CERTIFICATE_REQUIRED": "certificate required",
    "SSLV3_ALERT_HANDSHAKE_FAILURE": "handshake failure",
    "TLSV1_ALERT_PROTOCOL_VERSION": "protocol version not supported",
    "SSLV3_ALERT_BAD_CERTIFICATE": "bad certificate",
    "SSLV3_ALERT_CERTIFICATE_EXPIRED": "expired certificate",
    "SSLV3_ALERT_CERTIFICATE_UNKNOWN": "unknown certificate",
    "TLSV1_ALERT_UNKNOWN_CA": "unknown certificate authority",
    "TLSV1_ALERT_ACCESS_DENIED": "access denied",
    "TLSV1_ALERT_INTERNAL_ERROR": "internal error",
    "TLSV1_UNRECOGNIZED_NAME": "unrecognized name",
}
_EOF = ("UNEXPECTED_EOF_WHILE_READING", "EOF occurred")


class Fault(Exception):
    """A call that brought no answer. `cause` is as in failure.Failure; `status` is that of an HTTP answer."""

    def __init__(self, text: str, cause: str, status: int = 0, *, divisible: bool = False) -> None:
        super().__init__(text)
        self.text = text
        self.cause = cause
        self.status = status
        self.divisible = divisible


def posting(url: str, text: str, cause: str) -> Fault:
    """A fault before the answer's first byte."""
    return Fault(f'Post "{url}": {text}', cause)


def reading(text: str, cause: str, *, divisible: bool = False) -> Fault:
    """A fault inside the answer's body."""
    words = "unexpected error when reading response body. Please retry. Original error:"
    return Fault(f"{words} {text}", cause, divisible=divisible)


def dialing(error: OSError, wanted: Endpoint, reached: Endpoint) -> str:
    """The words for a connection that did not come about; `reached` has the address that was tried."""
    if isinstance(error, socket.gaierror):
        server = _name_server()
        where = f"lookup {wanted.host}{f' on {server}' if server else ''}"
        missing = error.errno in (socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME))
        return f"dial tcp: {where}: {'no such host' if missing else 'server misbehaving'}"
    if not 0 <= wanted.port < 65536:
        return f"dial tcp: address {wanted.port}: invalid port"
    if error.errno is None:
        return f"dial tcp {reached}: {error}"
    words = "connection refused" if error.errno == errno.ECONNREFUSED else os.strerror(error.errno).lower()
    return f"dial tcp {reached}: connect: {words}"


def handshake(error: ssl.SSLError) -> str:
    """The words for a TLS handshake that failed for another reason than the server's certificate."""
    reason = error.reason or ""
    shown = f"{reason} {error}"
    if any(mark in shown for mark in _EOF):
        return "EOF"
    found = re.search(r"[A-Z0-9]*_?ALERT_[A-Z_]+|TLSV1_UNRECOGNIZED_NAME", shown)
    if found:
        alert = _ALERTS.get(found[0]) or found[0].partition("ALERT_")[2].replace("_", " ").lower()
        return f"remote error: tls: {alert}"
    if reason in ("HTTP_REQUEST", "HTTPS_PROXY_REQUEST"):
        return "http: server gave HTTP response to HTTPS client"
    if reason in ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "PACKET_LENGTH_TOO_LONG"):
        return "tls: first record does not look like a TLS handshake"
    return f"tls: {reason.replace('_', ' ').lower() or error}"


async def first_record(reached: Endpoint) -> str:
    """The words for a server that does not speak TLS: whether it speaks HTTP is found out by asking."""
    try:
        async with asyncio.timeout(_DIAGNOSIS_SECONDS):
            reader, writer = await asyncio.open_connection(reached.host, reached.port)
            writer.write(b"\x16\x03\x01\x00\x01\x00")
            seen = await reader.read(5)
            writer.transport.abort()
    except (OSError, TimeoutError):
        seen = b""
    if seen.startswith(b"HTTP/"):
        return "http: server gave HTTP response to HTTPS client"
    return "tls: first record does not look like a TLS handshake"


async def unconnected(reached: Endpoint) -> str:
    """The words for a connection that took too long: by TCP, or by TLS once TCP stood."""
    try:
        async with asyncio.timeout(_DIAGNOSIS_SECONDS):
            _, writer = await asyncio.open_connection(reached.host, reached.port)
            writer.transport.abort()
    except (OSError, TimeoutError):
        return f"dial tcp {reached}: i/o timeout"
    return "net/http: TLS handshake timeout"


@cache
def _name_server() -> str:
    """The name server that the reference's resolver would have asked, as its complaints name it."""
    try:
        lines = Path("/etc/resolv.conf").read_text(errors="replace").splitlines()
    except OSError:
        return ""
    servers = [words[1] for words in (line.split() for line in lines) if len(words) > 1 and words[0] == "nameserver"]
    return str(Endpoint(servers[0], 53)) if servers else ""
