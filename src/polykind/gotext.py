"""Values written as Go writes them, for the texts that clients compare: %q, %v of floats, json.Marshal."""

from __future__ import annotations

from typing import Any

import orjson

_SHORT = {"\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v", "\\": "\\\\", '"': '\\"'}


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
    """A float64 as Go's %v writes it: the shortest form, with an exponent below 1e-4 and from 1e21 on."""
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "+Inf" if value > 0 else "-Inf"
    mantissa, _, exponent = repr(value).partition("e")
    shortest = f"{value:.17e}" if not mantissa else repr(value)
    digits, power = _digits(shortest)
    sign = "-" if value < 0 or shortest.startswith("-") else ""
    if value == 0:
        return f"{sign}0"
    if power < -4 or power >= 21:
        fraction = f".{digits[1:]}" if len(digits) > 1 else ""
        return f"{sign}{digits[0]}{fraction}e{'-' if power < 0 else '+'}{abs(power):02d}"
    return sign + _plain(digits, power)


def json_float(value: float) -> str:
    """A float64 as Go's JSON encoder writes it: an exponent below 1e-6 and from 1e21 on, without a leading zero in it."""
    digits, power = _digits(repr(value))
    sign = "-" if repr(value).startswith("-") else ""
    if value == 0:
        return f"{sign}0"
    if power < -6 or power >= 21:
        fraction = f".{digits[1:]}" if len(digits) > 1 else ""
        return f"{sign}{digits[0]}{fraction}e{'-' if power < 0 else '+'}{abs(power):0{1 if power < 0 else 2}d}"
    return sign + _plain(digits, power)


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
    return escape_html(orjson.dumps(value, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS)).decode()


def escape_html(encoded: bytes) -> bytes:
    """JSON bytes with <, >, & and the two line separators escaped; those can stand only inside strings."""
    if b"<" in encoded:
        encoded = encoded.replace(b"<", b"\\u003c")
    if b">" in encoded:
        encoded = encoded.replace(b">", b"\\u003e")
    if b"&" in encoded:
        encoded = encoded.replace(b"&", b"\\u0026")
    if b"\xe2\x80" in encoded:
        encoded = encoded.replace(b"\xe2\x80\xa8", b"\\u2028").replace(b"\xe2\x80\xa9", b"\\u2029")
    return encoded
