"""Values as Go's fmt package prints them: %v, %#v, %T and %q."""

from __future__ import annotations

from typing import Any, NamedTuple

from polykind.golang.strconv import fixed_point, scientific, shortest_decimal

_TYPES = {
    dict: "map[string]interface {}",
    list: "[]interface {}",
    str: "string",
    bool: "bool",
    int: "int64",
    float: "float64",
    type(None): "<nil>",
}
_SHORT_ESCAPES = {char: f"\\{letter}" for char, letter in zip('\a\b\f\n\r\t\v\\"', 'abfnrtv\\"', strict=True)}


class _Quoted(dict[int, str]):
    """The text that %q prints for each character, by its code point."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        if char.isprintable():
            return char
        return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


_QUOTED = _Quoted({code: chr(code) if chr(code).isprintable() else f"\\x{code:02x}" for code in range(0x80)})
_QUOTED.update({ord(char): escape for char, escape in _SHORT_ESCAPES.items()})


class GoValue(NamedTuple):
    """A Go value that JSON cannot represent: its texts with %v (`plain`), %#v (`literal`) and %T (`type`)."""

    plain: str
    literal: str
    type: str

    def __str__(self) -> str:
        return self.plain


def go_type(value: Any) -> str:
    """Return the Go type of a decoded JSON value, as %T prints it."""
    if type(value) is GoValue:
        return value.type
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


def go_literal(value: Any) -> str:
    """Return a JSON value as %#v prints it inside another value."""
    if isinstance(value, dict):
        fields = ", ".join(f"{go_quote(key)}:{go_literal(value[key])}" for key in sorted(value))
        return f"map[string]interface {{}}{{{fields}}}"
    if isinstance(value, list):
        return f"[]interface {{}}{{{', '.join(map(go_literal, value))}}}"
    if isinstance(value, str):
        return go_quote(value)
    if isinstance(value, GoValue):
        return value.literal
    return "interface {}(nil)" if value is None else go_print(value)


def go_quote(text: str) -> str:
    """Return a string as %q prints it."""
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return f'"{text.translate(_QUOTED)}"'


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
