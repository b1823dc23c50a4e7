"""Webhook calls without a complete response, with the messages of Go's HTTP client and kube-apiserver's REST client."""

from __future__ import annotations

import errno
import os
import re
import socket
import ssl
from functools import cache
from pathlib import Path

from polykind.webhook.target import Endpoint
from polykind.webhook.tls import HandshakeError

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
_NOT_TLS = ("HTTP_REQUEST", "HTTPS_PROXY_REQUEST", "WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE")
_alert = re.compile(r"(?<![A-Z0-9])[A-Z0-9]*_?ALERT_[A-Z_]+|TLSV1_UNRECOGNIZED_NAME").search


class TransportError(Exception):
    """A call to a webhook failed before a complete response was received.

    `cause` and `divisible` have the meaning of the same attributes of conversion_errors.AttemptError. `hint` says what
    to do, if that is known.
    """

    def __init__(self, text: str, cause: str, *, divisible: bool = False, hint: str = "") -> None:
        super().__init__(text)
        self.text = text
        self.cause = cause
        self.divisible = divisible
        self.hint = hint


def request_error(url: str, text: str, cause: str) -> TransportError:
    """Return the error for a call that failed before the first byte of the response."""
    return TransportError(f'Post "{url}": {text}', cause)


def body_error(text: str, cause: str, *, divisible: bool = False) -> TransportError:
    """Return the error for a call that failed while reading the body of the response."""
    message = "unexpected error when reading response body. Please retry. Original error:"
    return TransportError(f"{message} {text}", cause, divisible=divisible)


def dial_message(error: OSError, requested: Endpoint, reached: Endpoint) -> str:
    """Return Go's message for a TCP connection that could not be established.

    `requested` is the endpoint before the DNS lookup, and `reached` the address to which the connection was tried.
    """
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
    """Return Go's message for a TLS handshake that failed for another reason than the certificate."""
    reason = error.name if isinstance(error, HandshakeError) else error.reason or ""
    error_text = f"{reason} {error}"
    if any(mark in error_text for mark in _EOF):
        return "EOF"
    if alert_name := _alert(error_text):
        alert = _ALERTS.get(alert_name[0]) or alert_name[0].partition("ALERT_")[2].replace("_", " ").lower()
        return f"remote error: tls: {alert}"
    if reason in _NOT_TLS or reason == "PACKET_LENGTH_TOO_LONG":
        # OpenSSL has read the first five bytes, which are "HTTP/" if these follow.
        if isinstance(error, HandshakeError) and error.unread[:2] in (b"1.", b"2 "):
            return "http: server gave HTTP response to HTTPS client"
        return "tls: first record does not look like a TLS handshake"
    return f"tls: {reason.replace('_', ' ').lower() or error}"


@cache
def _name_server() -> str:
    """Return the address of the first name server in /etc/resolv.conf, because Go's error messages contain it."""
    try:
        lines = Path("/etc/resolv.conf").read_text(errors="replace").splitlines()
    except OSError:
        return ""
    servers = [words[1] for words in map(str.split, lines) if len(words) > 1 and words[0] == "nameserver"]
    return str(Endpoint(servers[0], 53)) if servers else ""
