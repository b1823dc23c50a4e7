"""Network addresses as Go reads them, with the leniency about leading zeros that the reference keeps."""

from __future__ import annotations

import re
import string

_HEX = frozenset(string.hexdigits)
_octets = re.compile(r"[0-9]+(?:\.[0-9]+){3}").fullmatch
_mac = re.compile(
    r"(?:[0-9a-fA-F]{2}(?P<sep>[:-])(?:[0-9a-fA-F]{2}(?P=sep)){4}[0-9a-fA-F]{2}(?:(?:(?P=sep)[0-9a-fA-F]{2}){2}"
    r"|(?:(?P=sep)[0-9a-fA-F]{2}){14})?"
    r"|[0-9a-fA-F]{4}\.[0-9a-fA-F]{4}\.[0-9a-fA-F]{4}(?:\.[0-9a-fA-F]{4}|(?:\.[0-9a-fA-F]{4}){7})?"
    r"|[0-9a-fA-F]{12}|[0-9a-fA-F]{16}|[0-9a-fA-F]{40})"
).fullmatch


def is_mac(text: str) -> bool:
    return _mac(text) is not None


def is_ipv4(text: str) -> bool:
    """An address with a dot in it: the reference takes ::ffff:1.2.3.4 as well."""
    return "." in text and is_ip(text, lenient=True)


def is_ipv6(text: str) -> bool:
    return ":" in text and is_ip(text, lenient=False)


def is_cidr(text: str) -> bool:
    address, slash, bits = text.partition("/")
    if not slash or not bits.isascii() or not bits.isdigit() or len(bits.lstrip("0")) > 3:
        return False
    if _is_v4(address, lenient=True):
        return int(bits) <= 32
    return _is_v6(address, lenient=True) and int(bits) <= 128


def is_ip(text: str, *, lenient: bool) -> bool:
    """Whether the text is an IP address without a zone; if lenient, numbers may have leading zeros."""
    dot, colon = text.find("."), text.find(":")
    if dot >= 0 and (colon < 0 or dot < colon):
        return _is_v4(text, lenient)
    return colon >= 0 and _is_v6(text, lenient)


def _is_v4(text: str, lenient: bool) -> bool:
    if not _octets(text):
        return False
    for part in text.split("."):
        if not lenient and (len(part) > 3 or (len(part) > 1 and part[0] == "0")):
            return False
        digits = part.lstrip("0")
        if len(digits) > 3 or int(digits or 0) > 255:
            return False
    return True


def _is_v6(text: str, lenient: bool) -> bool:
    head, gap, tail = text.partition("::")
    if gap and "::" in tail:
        return False
    before, after = head.split(":") if head else [], tail.split(":") if tail else []
    groups = before + after
    if not groups:
        return bool(gap)
    size = len(groups)
    if "." in groups[-1]:
        if (gap and not after) or not _is_v4(groups[-1], lenient):
            return False
        size += 1
        groups = groups[:-1]
    if size > 7 if gap else size != 8:
        return False
    return all(_is_group(group, lenient) for group in groups)


def _is_group(text: str, lenient: bool) -> bool:
    if not text or not set(text) <= _HEX:
        return False
    return len(text.lstrip("0") if lenient else text) <= 4
