"""JSON as Go's encoding/json writes it, and the type names in the error messages of its decoder."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import orjson
import re2

from polykind.golang.sorting import sorted_strings
from polykind.golang.strconv import fixed_point, scientific, shortest_decimal

# Finds numbers that orjson writes differently from Go. It may also match inside a string, which only costs time.
_differing_number = re2.compile(rb"(?:^|[:,\[])-?[0-9][0-9.]*(?:e|\.0(?:[,\]}]|$))").search


class NumberLiteral(float):
    """A float that a JSON number was decoded to, with the number's `text`, which error messages quote."""

    __slots__ = ("text",)
    text: str

    def __new__(cls, text: str) -> NumberLiteral:
        number = super().__new__(cls, text)
        number.text = text
        return number


_TYPE_NAMES: dict[type, str] = {
    dict: "object",
    list: "array",
    str: "string",
    bool: "bool",
    int: "number",
    float: "number",
    NumberLiteral: "number",
    type(None): "null",
}


def json_type_name(value: object) -> str:
    """Return the name of a value's JSON type in the error messages of Go's decoder."""
    return _TYPE_NAMES.get(type(value), "value")


def json_float(value: float) -> str:
    """Return a finite float64 as Go's encoder writes it: with an exponent below 1e-6 and from 1e21 on."""
    sign, digits, power = shortest_decimal(value)
    if -6 <= power < 21:
        return sign + fixed_point(digits, power)
    return f"{sign}{scientific(digits)}e{'+' if power > 0 else ''}{power}"


def go_json(value: Any) -> str:
    """Return a value as json.Marshal writes it: with sorted keys and HTML characters escaped."""
    return encode_json(value).decode()


def encode_json(value: Any, *, sort_keys: bool = True, no_floats: bool = False) -> bytes:
    """Encode a value as json.Marshal does. If `no_floats` is true, the caller guarantees that there are no floats."""
    try:
        # Copy the text: orjson leaves it in its buffer, which is about twelve times as large.
        encoded = b"%b" % orjson.dumps(value, option=orjson.OPT_SORT_KEYS if sort_keys else None)
    except TypeError:
        encoded = _encode_exactly(value, sort_keys)
    else:
        if not no_floats and _differing_number(encoded):
            encoded = _encode_exactly(value, sort_keys)
    return escape_html(encoded)


def _encode_exactly(root: Any, sort_keys: bool) -> bytes:
    """Encode values that orjson cannot encode as Go does: deep nesting, lone surrogates, long ints, some floats.

    The stack holds one iterator for each open bracket, so memory does not grow with the number of values.
    """
    out = bytearray()
    stack: list[tuple[Iterator[Any], bytes, dict[str, Any] | None]] = []
    value, first = root, True
    while True:
        kind = type(value)
        if kind is dict or isinstance(value, dict):
            stack.append((iter(sorted_strings(value) if sort_keys else value), b"}", value))
            out += b"{"
            first = True
        elif kind is list or isinstance(value, (list, tuple)):
            stack.append((iter(value), b"]", None))
            out += b"["
            first = True
        else:
            out += _encode_scalar(value)
            first = False
        while stack:
            members, closing, obj = stack[-1]
            member: Any = next(members, _END)
            if member is not _END:
                break
            stack.pop()
            out += closing
            first = False
        else:
            return bytes(out)
        if not first:
            out += b","
        if obj is not None:
            out += _encode_string(member)
            out += b":"
            value = obj[member]
        else:
            value = member


_END: Final = object()


def _encode_scalar(value: Any) -> bytes:
    if isinstance(value, str):
        return _encode_string(value)
    if isinstance(value, float) and value - value == 0.0:
        return json_float(value).encode()
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value).encode()
    return orjson.dumps(value)


def _encode_string(text: str) -> bytes:
    try:
        return orjson.dumps(text)
    except TypeError:
        return orjson.dumps(text.encode(errors="surrogatepass").decode(errors="replace"))


def escape_html(encoded: bytes) -> bytes:
    """Escape <, >, & and the two Unicode line separators in JSON. These characters occur only inside strings."""
    if b"<" in encoded:
        encoded = encoded.replace(b"<", b"\\u003c")
    if b">" in encoded:
        encoded = encoded.replace(b">", b"\\u003e")
    if b"&" in encoded:
        encoded = encoded.replace(b"&", b"\\u0026")
    # Searching for one byte first is ten times faster than searching for two, and most texts do not contain it.
    if b"\xe2" in encoded and b"\xe2\x80" in encoded:
        encoded = encoded.replace(b"\xe2\x80\xa8", b"\\u2028").replace(b"\xe2\x80\xa9", b"\\u2029")
    return encoded
