"""JSON as Go's encoding/json writes it, and the type names in the error messages of its decoder."""

from __future__ import annotations

from typing import Any

import orjson
import re2

from polykind.golang.strconv import fixed_point, scientific, shortest_decimal

# Finds numbers that orjson writes differently from Go. It may also match inside strings, which only costs time.
_differing_number = re2.compile(rb"(?:^|[:,\[])-?[0-9][0-9.]*(?:e|\.0(?:[,\]}]|$))").search


class NumberLiteral(float):
    """A JSON number, possibly out of range, with its source text. Decoders quote the text in error messages."""

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
    """Encode a value as json.Marshal does. `no_floats` saves a check if the caller knows that there are no floats."""
    try:
        encoded = orjson.dumps(value, option=orjson.OPT_SORT_KEYS if sort_keys else None)
    except TypeError:
        encoded = _encode_exactly(value, sort_keys)
    else:
        if not no_floats and _differing_number(encoded):
            encoded = _encode_exactly(value, sort_keys)
    return escape_html(encoded)


def _encode_exactly(root: Any, sort_keys: bool) -> bytes:
    """Encode values that orjson cannot encode as Go does: deep nesting, lone surrogates, long ints, some floats."""
    out: list[bytes] = []
    stack: list[Any] = [_Pending(root)]
    while stack:
        item = stack.pop()
        if type(item) is bytes:
            out.append(item)
            continue
        value = item.value
        if isinstance(value, dict):
            stack.append(b"}")
            for key in sorted(value, reverse=True) if sort_keys else reversed(value):
                stack += (_Pending(value[key]), b":", _encode_string(key), b",")
            if value:
                stack.pop()
            stack.append(b"{")
        elif isinstance(value, (list, tuple)):
            stack.append(b"]")
            for member in reversed(value):
                stack += (_Pending(member), b",")
            if value:
                stack.pop()
            stack.append(b"[")
        elif isinstance(value, str):
            out.append(_encode_string(value))
        elif isinstance(value, float) and value - value == 0.0:
            out.append(json_float(value).encode())
        elif isinstance(value, int) and not isinstance(value, bool):
            out.append(str(value).encode())
        else:
            out.append(orjson.dumps(value))
    return b"".join(out)


class _Pending:
    """A value on the encoder's stack that is not encoded yet, in contrast to encoded bytes."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


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
