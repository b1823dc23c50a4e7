"""IP, CIDR and MAC addresses as Kubernetes accepts them. Unlike in Go's net package, some may have leading zeros."""

from __future__ import annotations

import re
import string
from ipaddress import IPv4Address, IPv6Address
from typing import NamedTuple

from polykind.golang.netip import Addr, AddressError, parse_addr

_LENGTHS = {4: 32, 6: 128}
"""The number of bits in an address, by IP version."""
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
    """True for an IP address that contains a dot. As in kube-apiserver, this includes ::ffff:1.2.3.4."""
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


class IPNet(NamedTuple):
    """A network: its IP version as written (4 or 6), its first address as an integer, and the length of its prefix."""

    version: int
    number: int
    bits: int

    def contains(self, addr: Addr) -> bool:
        """True if net.IPNet.Contains is true. An IPv4-mapped IPv6 address counts as an IPv4 address."""
        network, address = _unmapped(Addr(self.version, self.number)), _unmapped(addr)
        if network.version != address.version:
            return False
        length = _LENGTHS[network.version]
        bits = self.bits - (_LENGTHS[self.version] - length)
        return network.number >> (length - bits) == address.number >> (length - bits)


def parse_ip(text: str) -> Addr | None:
    """Parse an IP address as leniently as Kubernetes does, ignoring leading zeros. Return None if it is invalid."""
    dot, colon = text.find("."), text.find(":")
    if dot >= 0 and (colon < 0 or dot < colon):
        return Addr(4, int(_canonical_ipv4(text))) if _is_lenient_ipv4(text) else None
    return Addr(6, int(_canonical_ipv6(text))) if colon >= 0 and _is_lenient_ipv6(text) else None


def parse_cidr(text: str) -> tuple[Addr, IPNet] | None:
    """Parse a CIDR value into its address and its network, ignoring leading zeros. Return None if it is invalid."""
    if not is_cidr(text):
        return None
    address, _, prefix = text.partition("/")
    addr = parse_ip(address)
    if addr is None:
        return None
    bits, length = int(prefix), _LENGTHS[addr.version]
    return addr, IPNet(addr.version, addr.number >> (length - bits) << (length - bits), bits)


def format_ip(addr: Addr) -> str:
    """Return net.IP.String(), which prints an IPv4-mapped IPv6 address as an IPv4 address."""
    addr = _unmapped(addr)
    return str(IPv4Address(addr.number) if addr.version == 4 else IPv6Address(addr.number))


def format_net(network: IPNet) -> str:
    """Return net.IPNet.String()."""
    addr = _unmapped(Addr(network.version, network.number))
    return f"{format_ip(addr)}/{network.bits - (_LENGTHS[network.version] - _LENGTHS[addr.version])}"


def is_mapped(addr: Addr) -> bool:
    """True for an IPv4-mapped IPv6 address such as ::ffff:1.2.3.4."""
    return addr.version == 6 and addr.number >> 32 == 0xFFFF


def _unmapped(addr: Addr) -> Addr:
    return Addr(4, addr.number & 0xFFFFFFFF) if is_mapped(addr) else addr


def _canonical_ipv4(text: str) -> IPv4Address:
    return IPv4Address(".".join(str(int(octet)) for octet in text.split(".")))


def _canonical_ipv6(text: str) -> IPv6Address:
    head, dot, _ = text.partition(".")
    if dot:
        at = head.rfind(":") + 1
        octets = int(_canonical_ipv4(text[at:]))
        text = f"{text[:at]}{octets >> 16:x}:{octets & 0xFFFF:x}"
    return IPv6Address(":".join(group.lstrip("0") or group[:1] for group in text.split(":")))
