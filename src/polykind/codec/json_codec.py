"""JSON bytes to values and back, with the numbers, the order and the escapes of the reference.

Values are what `json` gives, with two of Go's habits: a number without a fraction that fits 64 bits is an int
(`42.0` and `1e3` too), any other is a float, however long. The body of a custom object is read as it is spelled until
it is written: there `42.0` is a float, and judged as one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import msgspec
import orjson

from polykind.codec import json_syntax
from polykind.errors import BadRequestError
from polykind.golang.fmt import go_quote
from polykind.golang.json import NumberLiteral, encode_json, json_type_name
from polykind.golang.strconv import shortest_int
from polykind.golang.utf8 import decode_utf8

_LOW, _HIGH = -(1 << 63), 1 << 63
_DIGITS = bytes(0x30 if 0x30 <= b <= 0x39 else b for b in range(256))
_LONG = b"0" * 19
_LONE = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}(\\u[dD][c-fC-F][0-9a-fA-F]{2})|"
    rb"(\\(?:[^u]|u(?![dD][89a-fA-F])[0-9a-fA-F]{4}))|\\u[dD][89a-fA-F][0-9a-fA-F]{2}"
)


class MalformedJSONError(BadRequestError):
    """A body that is no JSON: `text` is the parser's complaint; `syntax` is False if only a number is out of range."""

    def __init__(self, text: str, *, syntax: bool = True) -> None:
        super().__init__(f"couldn't get version/kind; json parse error: {text}" if syntax else text)
        self.text = text
        self.syntax = syntax


class _RangeError(Exception):
    """A number beyond float64."""


def _number(text: str) -> int | float:
    value = float(text)
    if value - value != 0.0:
        raise _RangeError(text)
    return normalize_float(value)


def _spelled(text: str) -> float:
    value = float(text)
    if value - value != 0.0:
        raise _RangeError(text)
    return value


def normalize_float(value: float) -> int | float:
    """A finite float as it is after it has been written and read: an int if it is whole and fits 64 bits."""
    if value.is_integer():
        # That of the shortest decimal: what the reference stores and reads back.
        whole = shortest_int(value)
        return whole if _LOW <= whole < _HIGH else value
    return value


class _FractionError(Exception):
    """A number that is not whole, or not spelled so."""


def _refuse(text: str) -> float:
    raise _FractionError


_decode = msgspec.json.Decoder(float_hook=_number).decode
_decode_spelled = msgspec.json.Decoder(float_hook=_spelled).decode
_decode_literal = msgspec.json.Decoder(float_hook=NumberLiteral).decode
_decode_whole = msgspec.json.Decoder(float_hook=_refuse).decode


def decode(body: bytes, *, spelled: bool = False) -> Any:
    """The value of a JSON text. Raises Malformed. `spelled`: what is spelled as a fraction is a float, whole or not."""
    reader = _decode_spelled if spelled else _decode
    try:
        value = reader(body)
    except (ValueError, RecursionError, _RangeError):
        value = _decode_after_all(body, reader)
    if _LONG in body.translate(_DIGITS):
        return _short_ints(value)
    return value


def decode_flagged(body: bytes, *, spelled: bool = False) -> tuple[Any, bool]:
    """As `decode`, and whether every number is known to be whole: such values are encoded with less trouble."""
    try:
        value = _decode_whole(body)
    except (ValueError, RecursionError, _FractionError):
        return decode(body, spelled=spelled), False
    if _LONG in body.translate(_DIGITS):
        return _short_ints(value), False
    return value, True


def decode_strict(body: bytes) -> tuple[Any, bool, list[str]]:
    """As `decode_noting`, with numbers as they are spelled, and what a strict reader has against the body."""
    if b"\\" not in body:
        try:
            value = _decode_whole(body)
            # What was repeated is written once, with fewer colons; an int that may be too long is not written at all.
            if body.count(b":") == orjson.dumps(value, option=orjson.OPT_STRICT_INTEGER).count(b":"):
                return value, True, []
        except (ValueError, RecursionError, TypeError, _FractionError):
            pass
    value, whole = decode_flagged(body, spelled=True)
    return value, whole, duplicate_field_errors(body, value)


def decode_literal(body: bytes) -> tuple[Any, bool]:
    """As `decode_noting`, but numbers that are not whole are Literals, and ints may be long: a type will judge them."""
    try:
        value = _decode_whole(body)
    except (ValueError, RecursionError, _FractionError):
        pass
    else:
        return value, _LONG not in body.translate(_DIGITS)
    try:
        return _decode_literal(body), False
    except (ValueError, RecursionError):
        return _decode_after_all(body, _decode_literal), False


def _decode_after_all(body: bytes, reader: Callable[[bytes], Any]) -> Any:
    """What a stricter parser refused: bad UTF-8 and half surrogates are replaced, the rest is explained."""
    if complaint := json_syntax.syntax_error(body):
        raise MalformedJSONError(complaint)
    try:
        return reader(_repaired(body))
    except _RangeError as error:
        raise _out_of_range(str(error)) from None
    except RecursionError:
        raise MalformedJSONError("invalid character '{' exceeded max depth") from None
    except ValueError as error:
        raise MalformedJSONError(str(error)) from None


def _repaired(body: bytes) -> bytes:
    text = decode_utf8(body).encode()
    return _LONE.sub(lambda m: m[0] if m[1] or m[2] else rb"\ufffd", text)


def _out_of_range(text: str) -> MalformedJSONError:
    return MalformedJSONError(f"json: cannot unmarshal number {text} into Go value of type float64", syntax=False)


def _short_ints(root: Any) -> Any:
    """The value with ints beyond 64 bits as floats, changed in place."""
    if type(root) is int:
        return _short(root)
    stack: list[Any] = [root]
    while stack:
        value = stack.pop()
        if type(value) is dict:
            for key, item in value.items():
                if type(item) is int:
                    value[key] = _short(item)
                elif type(item) in (dict, list):
                    stack.append(item)
        elif type(value) is list:
            for index, item in enumerate(value):
                if type(item) is int:
                    value[index] = _short(item)
                elif type(item) in (dict, list):
                    stack.append(item)
    return root


def _short(value: int) -> int | float:
    if _LOW <= value < _HIGH:
        return value
    try:
        return float(value)
    except OverflowError:
        raise _out_of_range(str(value)) from None


def encode(value: Any, *, whole: bool = False) -> bytes:
    """The value as Go's JSON encoder writes it: sorted keys, HTML characters escaped, no newline behind it.

    `whole`: it has no floats.
    """
    return encode_json(value, no_floats=whole)


def encode_ordered(value: Any) -> bytes:
    """As `encode`, with the keys as they come: for Status, Table and other kinds that have an order of their own."""
    return encode_json(value, sort_keys=False)


def encode_line(value: Any) -> bytes:
    """The value as a body or a watch frame: encoded, with a newline behind it."""
    return encode(value) + b"\n"


def indent(encoded: bytes) -> bytes:
    """JSON bytes laid out on lines, two blanks a level, as `?pretty` asks; no newline behind it."""
    out: list[bytes] = []
    level = 0
    for found in _pieces(encoded):
        piece = found[0]
        if piece in (b"{", b"["):
            level += 1
            out.append(piece + b"\n" + b"  " * level)
        elif piece in (b"}", b"]"):
            level -= 1
            out.append(b"\n" + b"  " * level + piece)
        elif piece == b",":
            out.append(b",\n" + b"  " * level)
        elif piece == b":":
            out.append(b": ")
        else:
            out.append(piece)
    return b"".join(out)


_pieces = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|\{\}|\[\]|[{}\[\],:]|[^\s{}\[\],:"]+').finditer


def duplicate_keys(body: bytes, value: Any) -> list[str]:
    """The paths, such as spec.list[0].x, of keys that `body`, which was decoded to `value`, has more than once."""
    # Each key has its colon, and the colons inside strings are the same: unless one of those is spelled by its number.
    if b"\\" not in body or b"\\u00" not in body:
        try:
            if body.count(b":") == orjson.dumps(value).count(b":"):
                return []
        except TypeError:
            pass
    return json_syntax.duplicate_keys(_repaired(body))


def duplicate_field_errors(body: bytes, value: Any) -> list[str]:
    """The duplicate keys of a body in the words of the reference's strict decoder."""
    return [f"duplicate field {go_quote(path)}" for path in duplicate_keys(body, value)]


def sort_strict_errors(complaints: list[str], body: bytes) -> list[str]:
    """A strict decoder's complaints about unknown and duplicate keys of a body, as that meets them, at most 100."""
    places: dict[str, int] = {}
    wanted = set(complaints)
    for place, (path, again) in enumerate(json_syntax.iter_keys(_repaired(body))):
        complaint = f"{'duplicate' if again else 'unknown'} field {go_quote(path)}"
        if complaint in wanted:
            places.setdefault(complaint, place)
            if len(places) == len(wanted):
                break
    return sorted(complaints, key=lambda complaint: places.get(complaint, 0))[: json_syntax.MAX_STRICT_ERRORS]


_TYPE_META_STRUCT = (
    'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
)
_TYPE_META_FIELDS = {"apiversion": "apiVersion", "kind": "kind"}


def read_type_meta(value: Any) -> tuple[str, str]:
    """apiVersion and kind, "" where the body has none. Raises BadRequest in the words of the reference's decoder."""
    if value is None:
        return "", ""
    if type(value) is not dict:
        raise _type_meta_error(f"{json_type_name(value)} into Go value of type {_TYPE_META_STRUCT}")
    found = {"apiVersion": "", "kind": ""}
    for key, item in value.items():
        # The last of several counts.
        if item is not None and (name := type_meta_field(key)):
            if type(item) is not str:
                raise _type_meta_error(f"{json_type_name(item)} into Go struct field .{name} of type string")
            found[name] = item
    version = found["apiVersion"]
    if version.count("/") > 1:
        raise BadRequestError(f"unexpected GroupVersion string: {version}")
    return version, found["kind"]


def type_meta_field(key: str) -> str | None:
    """Which of the two a key names; this reader alone does not mind its case."""
    return _TYPE_META_FIELDS.get(_folded(key)) if len(key) in (4, 10) else None


def _folded(key: str) -> str:
    """A key without its case, as Go takes it: two letters have a third form."""
    return key.replace("\u017f", "s").replace("\u212a", "k").lower()


def _type_meta_error(why: str) -> BadRequestError:
    return BadRequestError(f"couldn't get version/kind; json parse error: json: cannot unmarshal {why}")
