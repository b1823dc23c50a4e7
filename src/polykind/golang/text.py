"""Values written as Go writes them, for the texts that clients compare: %q, %v of floats, json.Marshal."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, NamedTuple

import orjson
import re2

# A number that orjson spells otherwise than Go does; a string may look like one, which costs time only.
_odd_number = re2.compile(rb"(?:^|[:,\[])-?[0-9][0-9.]*(?:e|\.0(?:[,\]}]|$))").search
_EXACT = float(1 << 53)
_SHORT = {
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
    "\\": "\\\\",
    '"': '\\"',
}


class Foreign(NamedTuple):
    """A value of Go that is not of JSON: as %v, %#v and %T write it."""

    plain: str
    literal: str
    type: str

    def __str__(self) -> str:
        return self.plain


def go_quote(text: str) -> str:
    """The text as Go's %q writes it."""
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    out = []
    for char in text:
        if char in _SHORT:
            out.append(_SHORT[char])
        elif char.isprintable():
            out.append(char)
        elif ord(char) < 0x80:
            out.append(f"\\x{ord(char):02x}")
        elif ord(char) < 0x10000:
            out.append(f"\\u{ord(char):04x}")
        else:
            out.append(f"\\U{ord(char):08x}")
    return f'"{"".join(out)}"'


def go_float(value: float) -> str:
    """A float64 as Go's %v writes it: the shortest digits, with an exponent below 1e-4 and from 1e6 on."""
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "+Inf" if value > 0 else "-Inf"
    shortest = repr(value)
    sign = "-" if shortest.startswith("-") else ""
    if value == 0:
        return f"{sign}0"
    digits, power = _digits(shortest)
    if -4 <= power < 6:
        return sign + _plain(digits, power)
    return f"{sign}{_scientific(digits)}e{power:+03d}"


def shortest_whole(value: float) -> int:
    """The whole number of a float64's shortest decimal, which is what Go writes: beyond 2**53 not that of its bits."""
    return int(value) if -_EXACT < value < _EXACT else int(Decimal(repr(value)))


class Literal(float):
    """A number as it is spelled, which is what decoders of built-in types complain of; it may be out of range."""

    __slots__ = ("text",)
    text: str

    def __new__(cls, text: str) -> Literal:
        made = super().__new__(cls, text)
        made.text = text
        return made


_JSON_NAMES: dict[type, str] = {
    dict: "object",
    list: "array",
    str: "string",
    bool: "bool",
    int: "number",
    float: "number",
    Literal: "number",
    type(None): "null",
}


def json_name(value: object) -> str:
    """What Go's JSON decoder calls a value in its complaints."""
    return _JSON_NAMES.get(type(value), "value")


def json_float(value: float) -> str:
    """A finite float64 as Go's JSON encoder writes it: an exponent below 1e-6 and from 1e21 on."""
    shortest = repr(value)
    sign = "-" if shortest.startswith("-") else ""
    if value == 0:
        return f"{sign}0"
    digits, power = _digits(shortest)
    if -6 <= power < 21:
        return sign + _plain(digits, power)
    return f"{sign}{_scientific(digits)}e{'+' if power > 0 else ''}{power}"


def _scientific(digits: str) -> str:
    return f"{digits[0]}.{digits[1:]}" if len(digits) > 1 else digits


def _digits(shortest: str) -> tuple[str, int]:
    """The significant digits of a decimal text and the power of ten of the first."""
    mantissa, _, exponent = shortest.lstrip("-").partition("e")
    whole, _, fraction = mantissa.partition(".")
    power = int(exponent or 0) + len(whole) - 1
    digits = whole + fraction
    stripped = digits.lstrip("0")
    power -= len(digits) - len(stripped)
    return stripped.rstrip("0") or "0", power


def _plain(digits: str, power: int) -> str:
    if power < 0:
        return "0." + "0" * (-power - 1) + digits
    if len(digits) <= power + 1:
        return digits + "0" * (power + 1 - len(digits))
    return f"{digits[: power + 1]}.{digits[power + 1 :]}"


def go_json(value: Any) -> str:
    """A value as Go's json.Marshal writes it: sorted keys, HTML characters escaped."""
    return json_bytes(value).decode()


def json_bytes(value: Any, *, ordered: bool = False, whole: bool = False) -> bytes:
    """As `go_json`, in bytes; `ordered`: the keys as they come; `whole`: there are no floats to look out for."""
    try:
        encoded = orjson.dumps(value, option=None if ordered else orjson.OPT_SORT_KEYS)
    except TypeError:
        encoded = _encode_exactly(value, ordered)
    else:
        if not whole and _odd_number(encoded):
            encoded = _encode_exactly(value, ordered)
    return escape_html(encoded)


def _encode_exactly(root: Any, ordered: bool) -> bytes:
    """What orjson cannot write or writes otherwise: deep nesting, half surrogates, long ints, some floats."""
    out: list[bytes] = []
    stack: list[Any] = [_Part(root)]
    while stack:
        item = stack.pop()
        if type(item) is bytes:
            out.append(item)
            continue
        value = item.value
        if isinstance(value, dict):
            stack.append(b"}")
            for key in reversed(value) if ordered else sorted(value, reverse=True):
                stack += (_Part(value[key]), b":", _encode_text(key), b",")
            if value:
                stack.pop()
            stack.append(b"{")
        elif isinstance(value, (list, tuple)):
            stack.append(b"]")
            for member in reversed(value):
                stack += (_Part(member), b",")
            if value:
                stack.pop()
            stack.append(b"[")
        elif isinstance(value, str):
            out.append(_encode_text(value))
        elif isinstance(value, float) and value - value == 0.0:
            out.append(json_float(value).encode())
        elif isinstance(value, int) and not isinstance(value, bool):
            out.append(str(value).encode())
        else:
            out.append(orjson.dumps(value))
    return b"".join(out)


class _Part:
    """A value still to be written, apart from bytes that are written already."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


def _encode_text(text: str) -> bytes:
    try:
        return orjson.dumps(text)
    except TypeError:
        return orjson.dumps(text.encode(errors="surrogatepass").decode(errors="replace"))


def escape_html(encoded: bytes) -> bytes:
    """JSON bytes with <, >, & and the two line separators escaped; those can stand only inside strings."""
    if b"<" in encoded:
        encoded = encoded.replace(b"<", b"\\u003c")
    if b">" in encoded:
        encoded = encoded.replace(b">", b"\\u003e")
    if b"&" in encoded:
        encoded = encoded.replace(b"&", b"\\u0026")
    # Most texts have no such byte at all, and a single one is looked for ten times faster than two.
    if b"\xe2" in encoded and b"\xe2\x80" in encoded:
        encoded = encoded.replace(b"\xe2\x80\xa8", b"\\u2028").replace(b"\xe2\x80\xa9", b"\\u2029")
    return encoded
