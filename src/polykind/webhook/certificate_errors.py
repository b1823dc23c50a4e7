"""The sentences of Go's crypto/x509 about certificates that failed verification."""

from __future__ import annotations

import ipaddress
import re
from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cryptography import x509

UNKNOWN_AUTHORITY = "certificate signed by unknown authority"
_INVALID_PURPOSE = 26
"""OpenSSL's X509_V_ERR_INVALID_PURPOSE."""
_looks_like_host = re.compile(r"[A-Za-z0-9_*-]++(?:\.[A-Za-z0-9_*-]++)*+\.?").fullmatch


def certificate_error(der: bytes | None, server_name: str, number: int, now: datetime) -> str:
    """Return why a certificate is not valid for a name. `number` is OpenSSL's number of the error.

    Go checks the validity period first, and then the names. OpenSSL's number tells little, so the certificate is read
    again.
    """
    found = _read_error(der, server_name, now) if der else None
    if found is None and number == _INVALID_PURPOSE:
        return "certificate specifies an incompatible key usage"
    return found or UNKNOWN_AUTHORITY


def _read_error(der: bytes, server_name: str, now: datetime) -> str | None:
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
