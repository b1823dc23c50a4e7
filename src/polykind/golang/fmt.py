"""Values as Go's fmt package prints them: %v, %T and %q."""

from __future__ import annotations

from typing import Any, NamedTuple

_TYPES = {
    dict: "map[string]interface {}",
    list: "[]interface {}",
    str: "string",
    bool: "bool",
    int: "int64",
    float: "float64",
    type(None): "<nil>",
}
_SHORT_ESCAPES = {
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


class GoValue(NamedTuple):
    """A Go value that JSON cannot hold, as %v (`plain`), %#v (`literal`) and %T (`type`) print it."""

    plain: str
    literal: str
    type: str

    def __str__(self) -> str:
        return self.plain


def go_type(value: Any) -> str:
    """Return the Go type of a decoded JSON value, as %T prints it."""
    return _TYPES.get(type(value), "interface {}")


def go_print(value: Any, depth: int = 100) -> str:
    """Return a JSON value as %v prints it. Containers nested deeper than `depth` are shortened."""
    if value is None:
        return "<nil>"
    if value is True or value is False:
        return "true" if value else "false"
    if isinstance(value, float):
        return go_float(value)
    if isinstance(value, list):
        return f"[{' '.join(go_print(item, depth - 1) for item in value)}]" if depth else "[...]"
    if isinstance(value, dict):
        if not depth:
            return "map[...]"
        return f"map[{' '.join(f'{key}:{go_print(value[key], depth - 1)}' for key in sorted(value))}]"
    return str(value)


def go_quote(text: str) -> str:
    """Return a string as %q prints it."""
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    out = []
    for char in text:
        if char in _SHORT_ESCAPES:
            out.append(_SHORT_ESCAPES[char])
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
    """Return a float64 as %v prints it: the shortest digits, with an exponent below 1e-4 and from 1e6 on."""
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "+Inf" if value > 0 else "-Inf"
    sign, digits, power = shortest_decimal(value)
    if -4 <= power < 6:
        return sign + fixed_point(digits, power)
    return f"{sign}{scientific(digits)}e{power:+03d}"


def shortest_decimal(value: float) -> tuple[str, str, int]:
    """Return the sign, the shortest significant digits and the power of ten of the first digit of a finite float64."""
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
    """Return a decimal without exponent; `power` is the power of ten of the first digit."""
    if power < 0:
        return "0." + "0" * (-power - 1) + digits
    if len(digits) <= power + 1:
        return digits + "0" * (power + 1 - len(digits))
    return f"{digits[: power + 1]}.{digits[power + 1 :]}"


def scientific(digits: str) -> str:
    """Return the mantissa of a decimal in scientific notation."""
    return f"{digits[0]}.{digits[1:]}" if len(digits) > 1 else digits
