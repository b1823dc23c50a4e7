"""IP addresses and networks, read as strictly as Go's netip reads them and refused in its words."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from polykind.cel.evaluation_errors import NO_OVERLOAD, EvalError
from polykind.cel.runtime_values import KIND_BY_CLASS
from polykind.golang.fmt import go_quote

_hex = re.compile(r"[0-9a-fA-F]*").match


class AddressError(ValueError):
    """A text that is no address; says why as Go does."""


class IP(NamedTuple):
    """An address as a number of 32 or 128 bits."""

    version: int
    number: int

    def size(self) -> int:
        return 4 if self.version == 4 else 16

    def __str__(self) -> str:
        return str(_address(self))

    def top(self, bits: int) -> int:
        """The first bits."""
        return self.number >> (_width(self.version) - bits)


class CIDR(NamedTuple):
    """An address with the length of its prefix."""

    ip: IP
    bits: int

    def size(self) -> int:
        return -(-self.bits // 8)

    def __str__(self) -> str:
        return f"{self.ip}/{self.bits}"


KIND_BY_CLASS[IP] = "net.IP"
KIND_BY_CLASS[CIDR] = "net.CIDR"


def _width(version: int) -> int:
    return 32 if version == 4 else 128


def _address(ip: IP) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    return ipaddress.IPv4Address(ip.number) if ip.version == 4 else ipaddress.IPv6Address(ip.number)


def _wrong(text: str, why: str, at: str = "") -> AddressError:
    return AddressError(f"ParseAddr({go_quote(text)}): {why}{f' (at {go_quote(at)})' if at else ''}")


def _parse(text: str) -> tuple[IP, str]:
    """An address and its zone. Raises AddressError."""
    for char in text:
        if char == ".":
            return IP(4, _four(text, text)), ""
        if char == ":":
            return _six(text)
        if char == "%":
            raise _wrong(text, "missing IPv6 address")
    raise _wrong(text, "unable to parse IP")


def _four(whole: str, text: str) -> int:
    value = position = digits = total = 0
    for at, char in enumerate(text):
        if char in "0123456789":
            if digits == 1 and value == 0:
                raise _wrong(whole, "IPv4 field has octet with leading zero")
            value = value * 10 + int(char)
            digits += 1
            if value > 255:
                raise _wrong(whole, "IPv4 field has value >255")
        elif char == ".":
            if at in (0, len(text) - 1) or text[at - 1] == ".":
                raise _wrong(whole, "IPv4 field must have at least one digit", text[at:])
            if position == 3:
                raise _wrong(whole, "IPv4 address too long")
            total = total * 256 + value
            position += 1
            value = digits = 0
        else:
            raise _wrong(whole, "unexpected character", text[at:])
    if position < 3:
        raise _wrong(whole, "IPv4 address too short")
    return total * 256 + value


def _six(text: str) -> tuple[IP, str]:
    rest, percent, zone = text.partition("%")
    if percent and not zone:
        raise _wrong(text, "zone must be a non-empty string")
    groups: list[int] = []
    gap = -1
    if rest.startswith("::"):
        gap, rest = 0, rest[2:]
        if not rest:
            return IP(6, 0), zone
    while len(groups) < 8:
        taken = _hex(rest)
        digits = taken[0] if taken else ""
        if len(digits) > 4:
            raise _wrong(text, "each group must have 4 or less digits", rest)
        if not digits:
            raise _wrong(text, "each colon-separated field must have at least one digit", rest)
        if rest[len(digits) :].startswith("."):
            if gap < 0 and len(groups) != 6:
                raise _wrong(text, "embedded IPv4 address must replace the final 2 fields of the address", rest)
            if len(groups) > 6:
                raise _wrong(text, "too many hex fields to fit an embedded IPv4 at the end of the address", rest)
            groups += divmod(_four(text, rest), 65536)
            rest = ""
            break
        groups.append(int(digits, 16))
        rest = rest[len(digits) :]
        if not rest:
            break
        if rest[0] != ":":
            raise _wrong(text, "unexpected character, want colon", rest)
        if len(rest) == 1:
            raise _wrong(text, "colon must be followed by more characters", rest)
        rest = rest[1:]
        if rest[0] == ":":
            if gap >= 0:
                raise _wrong(text, "multiple :: in address", rest)
            gap, rest = len(groups), rest[1:]
            if not rest:
                break
    return IP(6, _filled(text, rest, groups, gap)), zone


def _filled(text: str, rest: str, groups: list[int], gap: int) -> int:
    if rest:
        raise _wrong(text, "trailing garbage after address", rest)
    if len(groups) < 8:
        if gap < 0:
            raise _wrong(text, "address string too short")
        groups[gap:gap] = [0] * (8 - len(groups))
    elif gap >= 0:
        raise _wrong(text, "the :: must expand to at least one field of zeros")
    number = 0
    for group in groups:
        number = number * 65536 + group
    return number


def _is_mapped(ip: IP) -> bool:
    return ip.version == 6 and ip.number >> 32 == 0xFFFF


def _ip(text: str) -> IP:
    try:
        ip, zone = _parse(text)
    except AddressError as wrong:
        raise EvalError(f"IP Address {go_quote(text)} parse error during conversion from string: {wrong}") from None
    if zone:
        raise EvalError(f"IP address {go_quote(text)} with zone value is not allowed")
    if _is_mapped(ip):
        raise EvalError(f"IPv4-mapped IPv6 address {go_quote(text)} is not allowed")
    return ip


def _prefix(text: str) -> CIDR:
    address, slash, bits = text.rpartition("/")
    if not slash:
        raise AddressError("no '/'")
    ip, zone = _parse(address)
    if zone:
        raise AddressError("IPv6 zones cannot be present in a prefix")
    bad = AddressError(f"bad bits after slash: {go_quote(bits)}")
    if not re.fullmatch(r"[0-9]|[1-9][0-9]*", bits) or len(bits) > 18:
        raise bad
    if int(bits) > _width(ip.version):
        raise AddressError("prefix length out of range")
    return CIDR(ip, int(bits))


def _cidr(text: str) -> CIDR:
    conversion = "network address parse error during conversion from string: "
    try:
        cidr = _prefix(text)
    except AddressError as wrong:
        raise EvalError(f"{conversion}{conversion}netip.ParsePrefix({go_quote(text)}): {wrong}") from None
    if _is_mapped(cidr.ip):
        raise EvalError(f"{conversion}IPv4-mapped IPv6 address {go_quote(text)} is not allowed")
    return cidr


def _reads(read: Callable[[str], Any]) -> Callable[[str], bool]:
    def reads(text: str) -> bool:
        try:
            read(text)
        except EvalError:
            return False
        return True

    return reads


def _masked(cidr: CIDR) -> CIDR:
    spare = _width(cidr.ip.version) - cidr.bits
    return CIDR(IP(cidr.ip.version, cidr.ip.number >> spare << spare), cidr.bits)


def _contains_ip(cidr: CIDR, ip: IP | str) -> bool:
    if isinstance(ip, str):
        try:
            other = _ip(ip)
        except EvalError:
            # Here, and not for networks, the reference forgets what was wrong with the text.
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
    "string_to_ip": _ip,
    "is_ip": _reads(_ip),
    "ip_is_canonical": lambda text: str(_ip(text)) == text,
    "ip_to_string": str,
    "ip_family": lambda ip: ip.version,
    "ip_is_unspecified": lambda ip: ip.number == 0,
    "ip_is_loopback": _is_loopback,
    "ip_is_link_local_multicast": _is_link_local_multicast,
    "ip_is_link_local_unicast": _is_link_local_unicast,
    "ip_is_global_unicast": _is_global_unicast,
    "string_to_cidr": _cidr,
    "is_cidr": _reads(_cidr),
    "cidr_to_string": str,
    "cidr_contains_ip_string": _contains_ip,
    "cidr_contains_ip_ip": _contains_ip,
    "cidr_contains_cidr_string": _contains_cidr,
    "cidr_contains_cidr": _contains_cidr,
    "cidr_ip": lambda cidr: cidr.ip,
    "cidr_prefix_length": lambda cidr: cidr.bits,
    "cidr_masked": _masked,
}
