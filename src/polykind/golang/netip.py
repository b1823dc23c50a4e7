"""IP addresses, parsed as strictly as Go's netip.ParseAddr does and with its error messages."""

from __future__ import annotations

import re
from typing import NamedTuple

from polykind.golang.fmt import go_quote

_hex_digits = re.compile(r"[0-9a-fA-F]*").match


class AddressError(ValueError):
    """A text that is not an IP address. The message is the same as Go's."""


class Addr(NamedTuple):
    """An IP address: its version (4 or 6), its value as an integer, and its zone."""

    version: int
    number: int
    zone: str = ""


def parse_addr(text: str) -> Addr:
    """Parse an IPv4 or IPv6 address. Raise AddressError if the text is not an address."""
    for char in text:
        if char == ".":
            return Addr(4, _parse_ipv4(text, text))
        if char == ":":
            return _parse_ipv6(text)
        if char == "%":
            raise _error(text, "missing IPv6 address")
    raise _error(text, "unable to parse IP")


def _error(text: str, message: str, at: str = "") -> AddressError:
    return AddressError(f"ParseAddr({go_quote(text)}): {message}{f' (at {go_quote(at)})' if at else ''}")


def _parse_ipv4(address: str, text: str) -> int:
    """Parse the IPv4 address `text`. Error messages quote `address`, which contains it, such as ::ffff:1.2.3.4."""
    value = position = digits = total = 0
    for at, char in enumerate(text):
        if char in "0123456789":
            if digits == 1 and value == 0:
                raise _error(address, "IPv4 field has octet with leading zero")
            value = value * 10 + int(char)
            digits += 1
            if value > 255:
                raise _error(address, "IPv4 field has value >255")
        elif char == ".":
            if at in (0, len(text) - 1) or text[at - 1] == ".":
                raise _error(address, "IPv4 field must have at least one digit", text[at:])
            if position == 3:
                raise _error(address, "IPv4 address too long")
            total = total * 256 + value
            position += 1
            value = digits = 0
        else:
            raise _error(address, "unexpected character", text[at:])
    if position < 3:
        raise _error(address, "IPv4 address too short")
    return total * 256 + value


def _parse_ipv6(text: str) -> Addr:
    rest, percent, zone = text.partition("%")
    if percent and not zone:
        raise _error(text, "zone must be a non-empty string")
    groups: list[int] = []
    gap = -1
    if rest.startswith("::"):
        gap, rest = 0, rest[2:]
        if not rest:
            return Addr(6, 0, zone)
    while len(groups) < 8:
        digits = _leading_group(text, rest)
        if rest[len(digits) :].startswith("."):
            if gap < 0 and len(groups) != 6:
                raise _error(text, "embedded IPv4 address must replace the final 2 fields of the address", rest)
            if len(groups) > 6:
                raise _error(text, "too many hex fields to fit an embedded IPv4 at the end of the address", rest)
            groups += divmod(_parse_ipv4(text, rest), 65536)
            rest = ""
            break
        groups.append(int(digits, 16))
        rest = _skip_colon(text, rest[len(digits) :])
        if not rest:
            break
        if rest[0] == ":":
            if gap >= 0:
                raise _error(text, "multiple :: in address", rest)
            gap, rest = len(groups), rest[1:]
            if not rest:
                break
    return Addr(6, _expand_gap(text, rest, groups, gap), zone)


def _leading_group(text: str, rest: str) -> str:
    """Return the hexadecimal digits at the start of the rest of an address."""
    match = _hex_digits(rest)
    digits = match[0] if match else ""
    if len(digits) > 4:
        raise _error(text, "each group must have 4 or less digits", rest)
    if not digits:
        raise _error(text, "each colon-separated field must have at least one digit", rest)
    return digits


def _skip_colon(text: str, rest: str) -> str:
    """Return the rest of an address without the colon at its start. It may be empty only without a colon."""
    if rest and rest[0] != ":":
        raise _error(text, "unexpected character, want colon", rest)
    if len(rest) == 1:
        raise _error(text, "colon must be followed by more characters", rest)
    return rest[1:]


def _expand_gap(text: str, rest: str, groups: list[int], gap: int) -> int:
    """Return an IPv6 address as a number. `gap` is the position of `::` in `groups`, where zeros are inserted."""
    if rest:
        raise _error(text, "trailing garbage after address", rest)
    if len(groups) < 8:
        if gap < 0:
            raise _error(text, "address string too short")
        groups[gap:gap] = [0] * (8 - len(groups))
    elif gap >= 0:
        raise _error(text, "the :: must expand to at least one field of zeros")
    number = 0
    for group in groups:
        number = number * 65536 + group
    return number
