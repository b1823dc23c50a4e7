"""Checks of IP addresses, CIDRs and MAC addresses. Unlike Go's net package, Kubernetes allows some leading zeros."""

from __future__ import annotations

import re
import string

from polykind.golang.netip import AddressError, parse_addr

_HEX = frozenset(string.hexdigits)
_octets = re.compile(r"[0-9]+(?:\.[0-9]+){3}").fullmatch
_mac = re.compile(
    r"(?:[0-9a-fA-F]{2}(?P<sep>[:-])(?:[0-9a-fA-F]{2}(?P=sep)){4}[0-9a-fA-F]{2}(?:(?:(?P=sep)[0-9a-fA-F]{2}){2}"
    r"|(?:(?P=sep)[0-9a-fA-F]{2}){14})?"
    r"|[0-9a-fA-F]{4}\.[0-9a-fA-F]{4}\.[0-9a-fA-F]{4}(?:\.[0-9a-fA-F]{4}|(?:\.[0-9a-fA-F]{4}){7})?"
    r"|[0-9a-fA-F]{12}|[0-9a-fA-F]{16}|[0-9a-fA-F]{40})"
).fullmatch


def is_mac(text: str) -> bool:
    """True if net.ParseMAC accepts the text."""
    return _mac(text) is not None


def is_ip(text: str) -> bool:
    """True for an IP address without zone and without leading zeros."""
    try:
        return not parse_addr(text).zone
    except AddressError:
        return False


def is_ipv4(text: str) -> bool:
    """True for an IPv4 address. As in kube-apiserver, also for an IPv6 address with a dot, such as ::ffff:1.2.3.4."""
    dot, colon = text.find("."), text.find(":")
    if dot < 0:
        return False
    return _is_lenient_ipv4(text) if colon < 0 or dot < colon else is_lenient_ipv6(text)


def is_ipv6(text: str) -> bool:
    """True for an IP address that contains a colon."""
    return ":" in text and is_ip(text)


def is_cidr(text: str) -> bool:
    """True if net.ParseCIDR accepts the text, or would accept it without its leading zeros."""
    address, slash, bits = text.partition("/")
    if not slash or not bits.isascii() or not bits.isdigit() or len(bits.lstrip("0")) > 3:
        return False
    if _is_lenient_ipv4(address):
        return int(bits) <= 32
    return is_lenient_ipv6(address) and int(bits) <= 128


def _is_lenient_ipv4(text: str) -> bool:
    if not _octets(text):
        return False
    octets = [part.lstrip("0") for part in text.split(".")]
    return all(len(octet) <= 3 and int(octet or 0) <= 255 for octet in octets)


def is_lenient_ipv6(text: str) -> bool:
    """True for an IPv6 address whose groups may have leading zeros. It may end with an IPv4 address."""
    head, gap, tail = text.partition("::")
    if gap and "::" in tail:
        return False
    before, after = head.split(":") if head else [], tail.split(":") if tail else []
    groups = before + after
    if not groups:
        return bool(gap)
    size = len(groups)
    if "." in groups[-1]:
        if (gap and not after) or not _is_lenient_ipv4(groups[-1]):
            return False
        size += 1
        groups = groups[:-1]
    if size > 7 if gap else size != 8:
        return False
    return all(group and set(group) <= _HEX and len(group.lstrip("0")) <= 4 for group in groups)
