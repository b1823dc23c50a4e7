"""The IP and CIDR libraries. Parsing and error messages follow Go's net/netip."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from polykind.cel.evaluation_errors import NO_OVERLOAD, EvalError, is_valid
from polykind.cel.runtime_values import KIND_BY_CLASS
from polykind.golang.fmt import go_quote
from polykind.golang.netip import AddressError, parse_addr


class IP(NamedTuple):
    """An IP address, stored as an integer of 32 or 128 bits."""

    version: int
    number: int

    def size(self) -> int:
        return 4 if self.version == 4 else 16

    def __str__(self) -> str:
        return str(_address(self))

    def top(self, bits: int) -> int:
        """Return the most significant `bits` bits of the address."""
        return self.number >> (_bit_length(self.version) - bits)


class CIDR(NamedTuple):
    """An IP address with a prefix length."""

    ip: IP
    bits: int

    def size(self) -> int:
        return -(-self.bits // 8)

    def __str__(self) -> str:
        return f"{self.ip}/{self.bits}"


KIND_BY_CLASS[IP] = "net.IP"
KIND_BY_CLASS[CIDR] = "net.CIDR"


def _bit_length(version: int) -> int:
    return 32 if version == 4 else 128


def _address(ip: IP) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    return ipaddress.IPv4Address(ip.number) if ip.version == 4 else ipaddress.IPv6Address(ip.number)


def _parse(text: str) -> tuple[IP, str]:
    """Return an address and its zone. Raise AddressError if the text is not an IP address."""
    address = parse_addr(text)
    return IP(address.version, address.number), address.zone


def _is_mapped(ip: IP) -> bool:
    return ip.version == 6 and ip.number >> 32 == 0xFFFF


def _ip(text: str) -> IP:
    try:
        ip, zone = _parse(text)
    except AddressError as error:
        raise EvalError(f"IP Address {go_quote(text)} parse error during conversion from string: {error}") from None
    if zone:
        raise EvalError(f"IP address {go_quote(text)} with zone value is not allowed")
    if _is_mapped(ip):
        raise EvalError(f"IPv4-mapped IPv6 address {go_quote(text)} is not allowed")
    return ip


def _parse_prefix(text: str) -> CIDR:
    address, slash, bits = text.rpartition("/")
    if not slash:
        raise AddressError("no '/'")
    ip, zone = _parse(address)
    if zone:
        raise AddressError("IPv6 zones cannot be present in a prefix")
    bad = AddressError(f"bad bits after slash: {go_quote(bits)}")
    if not re.fullmatch(r"[0-9]|[1-9][0-9]*", bits) or len(bits) > 18:
        raise bad
    if int(bits) > _bit_length(ip.version):
        raise AddressError("prefix length out of range")
    return CIDR(ip, int(bits))


def _cidr(text: str) -> CIDR:
    conversion = "network address parse error during conversion from string: "
    try:
        cidr = _parse_prefix(text)
    except AddressError as error:
        raise EvalError(f"{conversion}{conversion}netip.ParsePrefix({go_quote(text)}): {error}") from None
    if _is_mapped(cidr.ip):
        raise EvalError(f"{conversion}IPv4-mapped IPv6 address {go_quote(text)} is not allowed")
    return cidr


def _masked(cidr: CIDR) -> CIDR:
    host_bits = _bit_length(cidr.ip.version) - cidr.bits
    return CIDR(IP(cidr.ip.version, cidr.ip.number >> host_bits << host_bits), cidr.bits)


def _contains_ip(cidr: CIDR, ip: IP | str) -> bool:
    if isinstance(ip, str):
        try:
            other = _ip(ip)
        except EvalError:
            # In kube-apiserver, containsIP() does not report the parse error, unlike containsCIDR().
            raise EvalError(NO_OVERLOAD) from None
    else:
        other = ip
    return cidr.ip.version == other.version and cidr.ip.top(cidr.bits) == other.top(cidr.bits)


def _contains_cidr(cidr: CIDR, inner: CIDR | str) -> bool:
    other = _cidr(inner) if isinstance(inner, str) else inner
    return cidr.bits <= other.bits and _contains_ip(cidr, other.ip)


def _is_loopback(ip: IP) -> bool:
    return ip.top(8) == 127 if ip.version == 4 else ip.number == 1


def _is_link_local_multicast(ip: IP) -> bool:
    return ip.top(24) == 0xE00000 if ip.version == 4 else ip.top(16) & 0xFF0F == 0xFF02


def _is_link_local_unicast(ip: IP) -> bool:
    return ip.top(16) == 0xA9FE if ip.version == 4 else ip.top(10) == 0x3FA


def _is_global_unicast(ip: IP) -> bool:
    multicast = ip.top(4) == 0xE if ip.version == 4 else ip.top(8) == 0xFF
    broadcast = ip == IP(4, 0xFFFFFFFF)
    return not (ip.number == 0 or broadcast or multicast or _is_loopback(ip) or _is_link_local_unicast(ip))


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "ip string_to_ip string -> ip": _ip,
    "isIP is_ip string -> bool": is_valid(_ip),
    "ip.isCanonical ip_is_canonical string -> bool": lambda text: str(_ip(text)) == text,
    "string ip_to_string ip -> string": str,
    ".family ip_family ip -> int": lambda ip: ip.version,
    ".isUnspecified ip_is_unspecified ip -> bool": lambda ip: ip.number == 0,
    ".isLoopback ip_is_loopback ip -> bool": _is_loopback,
    ".isLinkLocalMulticast ip_is_link_local_multicast ip -> bool": _is_link_local_multicast,
    ".isLinkLocalUnicast ip_is_link_local_unicast ip -> bool": _is_link_local_unicast,
    ".isGlobalUnicast ip_is_global_unicast ip -> bool": _is_global_unicast,
    "cidr string_to_cidr string -> cidr": _cidr,
    "isCIDR is_cidr string -> bool": is_valid(_cidr),
    "string cidr_to_string cidr -> string": str,
    ".containsIP cidr_contains_ip_string cidr string -> bool": _contains_ip,
    ".containsIP cidr_contains_ip_ip cidr ip -> bool": _contains_ip,
    ".containsCIDR cidr_contains_cidr_string cidr string -> bool": _contains_cidr,
    ".containsCIDR cidr_contains_cidr cidr cidr -> bool": _contains_cidr,
    ".ip cidr_ip cidr -> ip": lambda cidr: cidr.ip,
    ".prefixLength cidr_prefix_length cidr -> int": lambda cidr: cidr.bits,
    ".masked cidr_masked cidr -> cidr": _masked,
}
