"""The values of literals: numbers in their ranges, strings and bytes without their quotes and escapes."""

from __future__ import annotations

import re

_SIMPLE = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_escape = re.compile(r"\\([0-3][0-7]{2}|[xX].{2}|u.{4}|U.{8}|.)", re.DOTALL)
_LARGEST_RUNE = 0x10FFFF


class LiteralError(ValueError):
    """The literal has no value; says why."""


def int_value(text: str, negative: bool) -> int:
    value = int(text[2:], 16) if text.startswith("0x") else _decimal(text)
    value = -value if negative else value
    if not -(2**63) <= value < 2**63:
        raise LiteralError("invalid int literal")
    return value


def uint_value(text: str) -> int:
    value = int(text[2:-1], 16) if text.startswith("0x") else _decimal(text[:-1])
    if value >= 2**64:
        raise LiteralError("invalid uint literal")
    return value


def _decimal(text: str) -> int:
    """Python refuses to read very long numbers; those are out of range in any case."""
    return int(text) if len(text) < 1000 else 2**64


def double_value(text: str, negative: bool) -> float:
    value = float(text)
    if value == float("inf"):
        raise LiteralError("invalid double literal")
    return -value if negative else value


def string_value(token: str) -> str:
    body, raw = _body(token)
    return body if raw else _escape.sub(_char, body)


def bytes_value(token: str) -> bytes:
    body, raw = _body(token[1:])
    if raw:
        return body.encode("utf-8", "surrogatepass")
    out = bytearray()
    at = 0
    for match in _escape.finditer(body):
        out += body[at : match.start()].encode("utf-8", "surrogatepass")
        found = match[1]
        if found[0] in "xX":
            out.append(int(found[1:], 16))
        elif found[0] in "0123":
            out.append(int(found, 8))
        elif found[0] in "uU":
            raise LiteralError("unable to unescape string")
        else:
            out += _SIMPLE.get(found, found).encode()
        at = match.end()
    return bytes(out + body[at:].encode("utf-8", "surrogatepass"))


def _body(token: str) -> tuple[str, bool]:
    raw = token[0] in "rR"
    text = token[1:] if raw else token
    width = 3 if text[:3] in ('"""', "'''") and len(text) >= 6 else 1
    return text[width:-width].replace("\r\n", "\n").replace("\r", "\n"), raw


def _char(match: re.Match[str]) -> str:
    found = match[1]
    if found[0] in "xXuU":
        return _rune(int(found[1:], 16))
    if found[0] in "0123" and len(found) == 3:
        return _rune(int(found, 8))
    return _SIMPLE.get(found, found)


def _rune(code: int) -> str:
    if code > _LARGEST_RUNE or 0xD800 <= code < 0xE000:
        raise LiteralError("invalid unicode code point")
    return chr(code)
