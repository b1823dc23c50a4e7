"""Why a server's certificate was not accepted, in the words of Go.

Python tells only OpenSSL's number of the fault. The certificate itself, which the words quote, is fetched by a second
handshake over which nothing is ever sent.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
import ssl
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from polykind.webhook.resolver import Endpoint

if TYPE_CHECKING:
    from cryptography import x509

_VERIFY = "tls: failed to verify certificate: x509: "
_UNKNOWN = "certificate signed by unknown authority"
_WRONG_PURPOSE = 26
_looks_like_host = re.compile(r"(?:[A-Za-z0-9_*-]+\.?)+").fullmatch


async def fault(endpoint: Endpoint, server_name: str, error: ssl.SSLCertVerificationError, seconds: float) -> str:
    """The text of Go for a certificate that was refused."""
    der = await _fetch(endpoint, server_name, seconds)
    words = await asyncio.to_thread(_words, der, server_name, datetime.now(UTC)) if der else None
    if words is None:
        words = "certificate specifies an incompatible key usage" if error.verify_code == _WRONG_PURPOSE else _UNKNOWN
    return _VERIFY + words


async def _fetch(endpoint: Endpoint, server_name: str, seconds: float) -> bytes | None:
    look = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    look.check_hostname = False
    look.verify_mode = ssl.CERT_NONE
    try:
        async with asyncio.timeout(seconds):
            _, writer = await asyncio.open_connection(
                endpoint.host, endpoint.port, ssl=look, server_hostname=server_name
            )
    except (OSError, TimeoutError):
        return None
    seen = writer.get_extra_info("ssl_object").getpeercert(True)
    writer.transport.abort()
    return seen if isinstance(seen, bytes) else None


def _words(der: bytes, server_name: str, now: datetime) -> str | None:
    """The first fault that Go would find in the certificate itself: its time, then its names."""
    from cryptography import x509

    try:
        leaf = x509.load_der_x509_certificate(der)
        dns, addresses = _names(leaf)
    except ValueError:
        return None
    time = _time_fault(leaf.not_valid_before_utc, leaf.not_valid_after_utc, now)
    return time or _name_fault(leaf, dns, addresses, server_name)


def _time_fault(first: datetime, last: datetime, now: datetime) -> str | None:
    current = f"certificate has expired or is not yet valid: current time {now:%Y-%m-%dT%H:%M:%SZ} is"
    if now < first:
        return f"{current} before {first:%Y-%m-%dT%H:%M:%SZ}"
    return f"{current} after {last:%Y-%m-%dT%H:%M:%SZ}" if now > last else None


def _name_fault(leaf: x509.Certificate, dns: list[str], addresses: list[str], server_name: str) -> str | None:
    try:
        wanted = str(ipaddress.ip_address(server_name))
    except ValueError:
        if any(_covers(name, server_name) for name in dns):
            return None
        if not dns and not addresses and _looks_like_host(_common_name(leaf)):
            return "certificate relies on legacy Common Name field, use SANs instead"
        if not dns:
            return f"certificate is not valid for any names, but wanted to match {server_name}"
        return f"certificate is valid for {', '.join(dns)}, not {server_name}"
    if wanted in addresses:
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

    found = leaf.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    return str(found[0].value) if found else ""


def _covers(pattern: str, name: str) -> bool:
    pattern, name = pattern.lower().rstrip("."), name.lower().rstrip(".")
    if pattern.startswith("*."):
        return "." in name and pattern[2:] == name.partition(".")[2]
    return pattern == name
