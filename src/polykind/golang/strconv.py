"""Numbers as Go's strconv package reads and writes them, and Go's conversion of float64 to int64."""

from __future__ import annotations

import math
import re
from decimal import Decimal

MIN_INT64, MAX_INT64 = -(2**63), 2**63 - 1
_EXACT_INTEGERS = float(1 << 53)
_LONGEST_INTEGER = 4000
_integer = re.compile(r"[+-]?[0-9]+").fullmatch


def parse_int64(text: str) -> int | None:
    """Return a decimal integer. Return None if the text is not an integer or does not fit 64 bits."""
    if len(text) > _LONGEST_INTEGER or not _integer(text):
        return None
    value = int(text)
    return value if MIN_INT64 <= value <= MAX_INT64 else None


def is_digits(text: str) -> bool:
    """True if a text consists of decimal digits only, as an unsigned integer must."""
    return text.isascii() and text.isdigit()


def parse_error(text: str) -> str:
    """Return the last part of Go's error for a text that is not an int64. The caller adds the parts before it."""
    return "value out of range" if _integer(text) else "invalid syntax"


def float_to_int64(value: float) -> int:
    """Return int64(value) as amd64 computes it: values out of range become the smallest int64."""
    if not math.isfinite(value) or not -(2.0**63) <= value < 2.0**63:
        return MIN_INT64
    return int(value)


def shortest_int(value: float) -> int:
    """Return the integer that a float64's shortest decimal denotes. Beyond 2**53 it may differ from int(value)."""
    return int(value) if -_EXACT_INTEGERS < value < _EXACT_INTEGERS else int(Decimal(repr(value)))


def shortest_decimal(value: float) -> tuple[str, str, int]:
    """Return a finite float64 as its sign, its shortest significant digits, and the power of ten of the first digit."""
    shortest = repr(value)
    sign = "-" if shortest.startswith("-") else ""
    if value == 0:
        return sign, "0", 0
    mantissa, _, exponent = shortest.lstrip("-").partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = whole + fraction
    stripped = digits.lstrip("0")
    power = int(exponent or 0) + len(whole) - 1 - (len(digits) - len(stripped))
    return sign, stripped.rstrip("0") or "0", power


def fixed_point(digits: str, power: int) -> str:
    """Return a decimal number without an exponent. `power` is the power of ten of the first digit."""
    if power < 0:
        return "0." + "0" * (-power - 1) + digits
    if len(digits) <= power + 1:
        return digits + "0" * (power + 1 - len(digits))
    return f"{digits[: power + 1]}.{digits[power + 1 :]}"


def scientific(digits: str) -> str:
    """Return the mantissa of a number in scientific notation. `digits` are its significant digits."""
    return f"{digits[0]}.{digits[1:]}" if len(digits) > 1 else digits
