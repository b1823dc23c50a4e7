"""Transport errors of webhook calls, in the words of Go's HTTP client."""

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


class TransportError(Exception):
    """A call that got no response.

    `cause` and `divisible` are those of conversion_errors.AttemptError, `status` is the HTTP status if any.
    """

    def __init__(self, text: str, cause: str, status: int = 0, *, divisible: bool = False) -> None:
        super().__init__(text)
        self.text = text
        self.cause = cause
        self.status = status
        self.divisible = divisible


def request_error(url: str, text: str, cause: str) -> TransportError:
    """Return the error of a call that failed before the first byte of the response."""
    return TransportError(f'Post "{url}": {text}', cause)


def body_error(text: str, cause: str, *, divisible: bool = False) -> TransportError:
    """Return the error of a call that failed while reading the body of the response."""
    message = "unexpected error when reading response body. Please retry. Original error:"
    return TransportError(f"{message} {text}", cause, divisible=divisible)


def dial_message(error: OSError, requested: Endpoint, reached: Endpoint) -> str:
    """Return the message for a connection that could not be established. `reached` is the address that was tried."""
    if isinstance(error, socket.gaierror):
        server = _name_server()
        lookup = f"lookup {requested.host}{f' on {server}' if server else ''}"
        not_found = error.errno in (socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME))
        return f"dial tcp: {lookup}: {'no such host' if not_found else 'server misbehaving'}"
    if not 0 <= requested.port < 65536:
        return f"dial tcp: address {requested.port}: invalid port"
    if error.errno is None:
        return f"dial tcp {reached}: {error}"
    message = "connection refused" if error.errno == errno.ECONNREFUSED else os.strerror(error.errno).lower()
    return f"dial tcp {reached}: connect: {message}"


def handshake_message(error: ssl.SSLError) -> str:
    """Return the message for a failed TLS handshake, other than a certificate error."""
    reason = error.reason or ""
    error_text = f"{reason} {error}"
    if any(mark in error_text for mark in _EOF):
        return "EOF"
    alert_name = re.search(r"[A-Z0-9]*_?ALERT_[A-Z_]+|TLSV1_UNRECOGNIZED_NAME", error_text)
    if alert_name:
        alert = _ALERTS.get(alert_name[0]) or alert_name[0].partition("ALERT_")[2].replace("_", " ").lower()
        return f"remote error: tls: {alert}"
    if reason in ("HTTP_REQUEST", "HTTPS_PROXY_REQUEST"):
        return "http: server gave HTTP response to HTTPS client"
    if reason in ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "PACKET_LENGTH_TOO_LONG"):
        return "tls: first record does not look like a TLS handshake"
    return f"tls: {reason.replace('_', ' ').lower() or error}"


async def non_tls_message(reached: Endpoint) -> str:
    """Return the message for a server that does not speak TLS. Connect again to find out whether it speaks HTTP."""
    try:
        async with asyncio.timeout(_DIAGNOSIS_SECONDS):
            reader, writer = await asyncio.open_connection(reached.host, reached.port)
            writer.write(b"\x16\x03\x01\x00\x01\x00")
            received = await reader.read(5)
            writer.transport.abort()
    except (OSError, TimeoutError):
        received = b""
    if received.startswith(b"HTTP/"):
        return "http: server gave HTTP response to HTTPS client"
    return "tls: first record does not look like a TLS handshake"


async def connect_timeout_message(reached: Endpoint) -> str:
    """Return the message for a connection timeout: in TCP, or in TLS if a TCP connection succeeds now."""
    try:
        async with asyncio.timeout(_DIAGNOSIS_SECONDS):
            _, writer = await asyncio.open_connection(reached.host, reached.port)
            writer.transport.abort()
    except (OSError, TimeoutError):
        return f"dial tcp {reached}: i/o timeout"
    return "net/http: TLS handshake timeout"


@cache
def _name_server() -> str:
    """Return the name server that Go's resolver would use, because its error messages name it."""
    try:
        lines = Path("/etc/resolv.conf").read_text(errors="replace").splitlines()
    except OSError:
        return ""
    servers = [
        message[1] for message in (line.split() for line in lines) if len(message) > 1 and message[0] == "nameserver"
    ]
    return str(Endpoint(servers[0], 53)) if servers else ""
