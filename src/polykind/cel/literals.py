"""Values of literal tokens: range checks of numbers, and removal of quotes and escapes from strings and bytes."""

from __future__ import annotations

import re

_SIMPLE_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_escape = re.compile(r"\\([0-3][0-7]{2}|[xX].{2}|u.{4}|U.{8}|.)", re.DOTALL)
_MAX_CODE_POINT = 0x10FFFF


class LiteralError(ValueError):
    """The literal is invalid. The message is the same as cel-go's."""


def int_value(text: str, negative: bool) -> int:
    value = int(text[2:], 16) if text.startswith("0x") else _decimal_int(text)
    value = -value if negative else value
    if not -(2**63) <= value < 2**63:
        raise LiteralError("invalid int literal")
    return value


def uint_value(text: str) -> int:
    value = int(text[2:-1], 16) if text.startswith("0x") else _decimal_int(text[:-1])
    if value >= 2**64:
        raise LiteralError("invalid uint literal")
    return value


def _decimal_int(text: str) -> int:
    """Parse a decimal integer. Return an out-of-range number if the text has too many digits for Python's int()."""
    return int(text) if len(text) < 1000 else 2**64


def double_value(text: str, negative: bool) -> float:
    value = float(text)
    if value == float("inf"):
        raise LiteralError("invalid double literal")
    return -value if negative else value


def string_value(token: str) -> str:
    body, raw = _strip_quotes(token)
    return body if raw else _escape.sub(_unescape, body)


def bytes_value(token: str) -> bytes:
    body, raw = _strip_quotes(token[1:])
    if raw:
        return body.encode("utf-8", "surrogatepass")
    out = bytearray()
    at = 0
    for match in _escape.finditer(body):
        out += body[at : match.start()].encode("utf-8", "surrogatepass")
        escape = match[1]
        if escape[0] in "xX":
            out.append(int(escape[1:], 16))
        elif escape[0] in "0123":
            out.append(int(escape, 8))
        elif escape[0] in "uU":
            raise LiteralError("unable to unescape string")
        else:
            out += _SIMPLE_ESCAPES.get(escape, escape).encode()
        at = match.end()
    return bytes(out + body[at:].encode("utf-8", "surrogatepass"))


def _strip_quotes(token: str) -> tuple[str, bool]:
    raw = token[0] in "rR"
    text = token[1:] if raw else token
    width = 3 if text[:3] in ('"""', "'''") and len(text) >= 6 else 1
    return text[width:-width].replace("\r\n", "\n").replace("\r", "\n"), raw


def _unescape(match: re.Match[str]) -> str:
    escape = match[1]
    if escape[0] in "xXuU":
        return _code_point(int(escape[1:], 16))
    if escape[0] in "0123" and len(escape) == 3:
        return _code_point(int(escape, 8))
    return _SIMPLE_ESCAPES.get(escape, escape)


def _code_point(code: int) -> str:
    if code > _MAX_CODE_POINT or 0xD800 <= code < 0xE000:
        raise LiteralError("invalid unicode code point")
    return chr(code)
