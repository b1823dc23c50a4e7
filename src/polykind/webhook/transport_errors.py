"""Errors of webhook calls, with the messages of Go's HTTP client and of kube-apiserver's REST client."""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import os
import re
import socket
import ssl
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from polykind.codec import json_codec
from polykind.golang.fmt import go_quote
from polykind.webhook.target import Endpoint

if TYPE_CHECKING:
    from cryptography import x509

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
_X509_V_ERR_INVALID_PURPOSE = 26
_looks_like_host = re.compile(r"(?:[A-Za-z0-9_*-]+\.?)+").fullmatch


class TransportError(Exception):
    """A call to a webhook failed before a complete response was received.

    `cause` and `divisible` have the meaning of the same attributes of conversion_errors.AttemptError. `status` is the
    HTTP status, or 0 if there is none.
    """

    def __init__(self, text: str, cause: str, status: int = 0, *, divisible: bool = False) -> None:
        super().__init__(text)
        self.text = text
        self.cause = cause
        self.status = status
        self.divisible = divisible


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
    """Return Go's message for a webhook that does not speak TLS. Connect again to find out whether it speaks HTTP."""
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
    """Return Go's message for a connection timeout.

    Open a TCP connection to find the cause: if it succeeds, the TLS handshake timed out.
    """
    try:
        async with asyncio.timeout(_DIAGNOSIS_SECONDS):
            _, writer = await asyncio.open_connection(reached.host, reached.port)
            writer.transport.abort()
    except (OSError, TimeoutError):
        return f"dial tcp {reached}: i/o timeout"
    return "net/http: TLS handshake timeout"


@cache
def _name_server() -> str:
    """Return the address of the first name server in /etc/resolv.conf, because Go's error messages contain it."""
    try:
        lines = Path("/etc/resolv.conf").read_text(errors="replace").splitlines()
    except OSError:
        return ""
    servers = [words[1] for words in map(str.split, lines) if len(words) > 1 and words[0] == "nameserver"]
    return str(Endpoint(servers[0], 53)) if servers else ""


async def certificate_message(
    endpoint: Endpoint, server_name: str, error: ssl.SSLCertVerificationError, seconds: float
) -> str:
    """Return the message of Go's crypto/x509 for a certificate that failed verification.

    Python reports only OpenSSL's error number. Fetch the certificate, which Go's messages quote, in a second handshake.
    """
    der = await _fetch(endpoint, server_name, seconds)
    message = await asyncio.to_thread(_certificate_error, der, server_name, datetime.now(UTC)) if der else None
    if message is None and error.verify_code == _X509_V_ERR_INVALID_PURPOSE:
        message = "certificate specifies an incompatible key usage"
    return f"tls: failed to verify certificate: x509: {message or 'certificate signed by unknown authority'}"


async def _fetch(endpoint: Endpoint, server_name: str, seconds: float) -> bytes | None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    try:
        async with asyncio.timeout(seconds):
            _, writer = await asyncio.open_connection(
                endpoint.host, endpoint.port, ssl=context, server_hostname=server_name
            )
    except (OSError, TimeoutError):
        return None
    certificate = writer.get_extra_info("ssl_object").getpeercert(True)
    writer.transport.abort()
    return certificate if isinstance(certificate, bytes) else None


def _certificate_error(der: bytes, server_name: str, now: datetime) -> str | None:
    """Return the first error that Go would find in the certificate, or None if it finds none.

    Go checks the validity period first, and then the names.
    """
    from cryptography import x509

    try:
        leaf = x509.load_der_x509_certificate(der)
        dns, addresses = _names(leaf)
    except ValueError:
        return None
    validity_error = _validity_error(leaf.not_valid_before_utc, leaf.not_valid_after_utc, now)
    return validity_error or _host_name_error(leaf, dns, addresses, server_name)


def _validity_error(not_before: datetime, not_after: datetime, now: datetime) -> str | None:
    current = f"certificate has expired or is not yet valid: current time {now:%Y-%m-%dT%H:%M:%SZ} is"
    if now < not_before:
        return f"{current} before {not_before:%Y-%m-%dT%H:%M:%SZ}"
    return f"{current} after {not_after:%Y-%m-%dT%H:%M:%SZ}" if now > not_after else None


def _host_name_error(leaf: x509.Certificate, dns: list[str], addresses: list[str], server_name: str) -> str | None:
    try:
        address = str(ipaddress.ip_address(server_name))
    except ValueError:
        if any(_name_matches(name, server_name) for name in dns):
            return None
        if not dns and not addresses and _looks_like_host(_common_name(leaf)):
            return "certificate relies on legacy Common Name field, use SANs instead"
        if not dns:
            return f"certificate is not valid for any names, but wanted to match {server_name}"
        return f"certificate is valid for {', '.join(dns)}, not {server_name}"
    if address in addresses:
        return None
    if not addresses:
        return f"cannot validate certificate for {server_name} because it doesn't contain any IP SANs"
    return f"certificate is valid for {', '.join(addresses)}, not {server_name}"


def _names(leaf: x509.Certificate) -> tuple[list[str], list[str]]:
    from cryptography import x509

    try:
        names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return [], []
    return names.get_values_for_type(x509.DNSName), [str(a) for a in names.get_values_for_type(x509.IPAddress)]


def _common_name(leaf: x509.Certificate) -> str:
    from cryptography.x509.oid import NameOID

    names = leaf.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    return str(names[0].value) if names else ""


def _name_matches(pattern: str, name: str) -> bool:
    pattern, name = pattern.lower().rstrip("."), name.lower().rstrip(".")
    if pattern.startswith("*."):
        return "." in name and pattern[2:] == name.partition(".")[2]
    return pattern == name


_MAX_SHOWN_BYTES = 2048
_TOKEN = r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"  # noqa: S105 - RFC 9110's token, no secret
_parameter = re.compile(rf'\s*;\s*({_TOKEN})\s*=\s*(?:{_TOKEN}|"(?:[^"\\]|\\.)*")').match
_media = re.compile(rf"\s*({_TOKEN})(?:/({_TOKEN}))?\s*$").match

_MESSAGES = {
    400: "the server rejected our request for an unknown reason",
    401: "the server has asked for the client to provide credentials",
    404: "the server could not find the requested resource",
    405: "the server does not allow this method on the requested resource",
    409: "the server reported a conflict",
    422: "the server rejected our request due to an error in our request",
    429: "the server has received too many requests and has asked us to try again later",
    503: "the server is currently unable to handle the request",
    504: "the server was unable to return a response in the time allotted, but may still be processing the request",
}


class HTTPResponse(NamedTuple):
    """A complete HTTP response."""

    status: int
    content_type: str
    body: bytes


def response_error(response: HTTPResponse) -> str | None:
    """Return the reason why the body of the response cannot be used, or None if it can be used."""
    content_type = response.content_type or "application/json"
    media_type_error = _media_type_error(content_type)
    if media_type_error:
        return f"Internal error occurred: mime: {media_type_error}"
    if not 200 <= response.status <= 206:
        status_message = _status_message(response.body)
        return _message_for_status(response) if status_message is None else status_message
    if not response.body:
        return f"0-length response with status code: {response.status} and content type: {content_type}"
    return None


def _message_for_status(response: HTTPResponse) -> str:
    body_text = "unknown"
    if not response.content_type or response.content_type.strip().lower().startswith("text/"):
        body_text = response.body[:_MAX_SHOWN_BYTES].decode(errors="replace").strip()
    if response.status in _MESSAGES:
        return _MESSAGES[response.status]
    if response.status in (403, 415):
        return body_text
    if response.status == 406:
        if body_text in ("", "unknown"):
            return "the server was unable to respond with a content type that the client supports"
        return body_text
    if response.status >= 500:
        return f"an error on the server ({go_quote(body_text)}) has prevented the request from succeeding"
    return f"the server responded with the status code {response.status} but did not return more information"


def _status_message(body: bytes) -> str | None:
    """Return the message of a Status with status Failure, None if the body is not such a Status."""
    if not body.lstrip().startswith(b"{"):
        return None
    try:
        value = json_codec.decode(body)
    except json_codec.MalformedJSONError:
        return None
    if not isinstance(value, dict) or value.get("kind") != "Status" or value.get("apiVersion", "v1") not in ("v1", ""):
        return None
    status_message = value.get("message", "")
    return status_message if value.get("status") == "Failure" and isinstance(status_message, str) else None


def _media_type_error(content_type: str) -> str | None:
    base, semicolon, rest = content_type.partition(";")
    if not re.match(rf"\s*{_TOKEN}", base):
        return "no media type"
    if not _media(base):
        has_slash = "/" in base.split()[0]
        return "unexpected content after media subtype" if has_slash else "expected slash after first token"
    rest = semicolon + rest
    while rest.strip(" \t;"):
        parameter = _parameter(rest)
        if parameter is None:
            return "invalid media parameter"
        rest = rest[parameter.end() :]
    return None
