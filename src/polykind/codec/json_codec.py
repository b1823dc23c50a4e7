"""JSON decoding and encoding with kube-apiserver's rules for numbers, the order of keys and escapes.

As in kube-apiserver, a whole number that fits 64 bits becomes an int, even if it is written `42.0` or `1e3`. Any other
number becomes a float. If `keep_fractions` is true, `42.0` becomes a float, because the schema validation of custom
objects distinguishes it from `42`.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from typing import Any

import msgspec
import orjson

from polykind.codec import json_syntax
from polykind.contract import JsonObject
from polykind.errors import BadRequestError, RequestTooLargeError
from polykind.golang.fmt import go_quote
from polykind.golang.json import NumberLiteral, encode_json, json_type_name
from polykind.golang.strconv import shortest_int
from polykind.golang.utf8 import decode_utf8

_LOW, _HIGH = -(1 << 63), 1 << 63
_DIGITS_TO_ZERO = bytes(0x30 if 0x30 <= b <= 0x39 else b for b in range(256))
_LONG_NUMBER = b"0" * 19
_LONE_SURROGATE = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}(\\u[dD][c-fC-F][0-9a-fA-F]{2})|"
    rb"(\\(?:[^u]|u(?![dD][89a-fA-F])[0-9a-fA-F]{4}))|\\u[dD][89a-fA-F][0-9a-fA-F]{2}"
)


class MalformedJSONError(BadRequestError):
    """A body that is not JSON. `text` is the parser's error. `syntax` is false if a number is out of range."""

    def __init__(self, text: str, *, syntax: bool = True) -> None:
        super().__init__(f"couldn't get version/kind; json parse error: {text}" if syntax else text)
        self.text = text
        self.syntax = syntax


class RangeError(Exception):
    """A number beyond the range of float64."""


def parse_number(text: str) -> int | float:
    value = float(text)
    if value - value != 0.0:
        raise RangeError(text.removesuffix(_HUGE_MARK))
    return normalize_float(value)


def _parse_fraction(text: str) -> float:
    value = float(text)
    if value - value != 0.0:
        raise RangeError(text.removesuffix(_HUGE_MARK))
    return value


def _parse_literal(text: str) -> NumberLiteral:
    return NumberLiteral(text.removesuffix(_HUGE_MARK))


_HUGE_MARK = "E+000"
_HUGE_DIGITS = b"0" * 400
# A string that is not closed ends with the text, so that the search takes linear time.
_strings_and_huge_numbers = re.compile(
    rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)|-?\d{400,}+([.eE][\d.eE+-]*+)?', re.DOTALL
).sub


_MAX_SMALL_BYTES = 16 * 1024


def _prepare(body: bytes) -> bytes:
    """Return a long body in a form that takes bounded time and memory to decode.

    Raise RequestTooLargeError if it has so many objects and lists that decoding would fill the memory.
    """
    _check_density(body)
    return _mark_huge_integers(body)


def _mark_integer(match: re.Match[bytes]) -> bytes:
    text, start = match[0], match.start()
    is_part = start > 0 and match.string[start - 1] in b".eE+"  # the digits of a fraction or an exponent
    return text if text.startswith(b'"') or match[1] or is_part else text + _HUGE_MARK.encode()


def _mark_huge_integers(body: bytes) -> bytes:
    """Append an exponent to integers of more than 400 digits, so that the decoder passes them to the float hook.

    Their conversion to an int would take a time that is quadratic in the number of digits.
    """
    if _HUGE_DIGITS not in body.translate(_DIGITS_TO_ZERO):
        return body
    return _strings_and_huge_numbers(_mark_integer, body)


def normalize_float(value: float) -> int | float:
    """Return a finite float as it is after encoding and decoding: an int if it is integral and fits 64 bits."""
    if value.is_integer():
        # Use the integer of the shortest decimal text, because kube-apiserver stores that text and reads it back.
        integer = shortest_int(value)
        return integer if _LOW <= integer < _HIGH else value
    return value


class _FractionError(Exception):
    """The body contains a number with a fraction or an exponent."""


def _reject_fraction(text: str) -> float:
    raise _FractionError


_decode = msgspec.json.Decoder(float_hook=parse_number).decode
_decode_fractions = msgspec.json.Decoder(float_hook=_parse_fraction).decode
_decode_literal = msgspec.json.Decoder(float_hook=_parse_literal).decode
_decode_integers_only = msgspec.json.Decoder(float_hook=_reject_fraction).decode


def _check_density(body: bytes) -> None:
    """Raise RequestTooLargeError if the text has so many objects and lists that decoding would fill the memory."""
    if body.count(b"{") > _MAX_OBJECTS or body.count(b"[") > _MAX_LISTS:
        if error_text := json_syntax.syntax_error(body):
            raise MalformedJSONError(error_text)
        limit = f"{_MAX_OBJECTS} objects and {_MAX_LISTS} lists"
        raise RequestTooLargeError(f"Request entity too large: limit is {limit}")


_MAX_OBJECTS, _MAX_LISTS = 200_000, 400_000
_MAX_REPAIRED_VALUES = 280_000
"""The number of keys and values in a body with invalid UTF-8. Each repaired string takes 80 bytes."""


def _check_text(body: bytes) -> None:
    """Raise RequestTooLargeError if a body with very many keys and values is not valid UTF-8."""
    try:
        body.decode()
    except UnicodeDecodeError:
        limit = f"{_MAX_REPAIRED_VALUES} keys and values of invalid UTF-8"
        raise RequestTooLargeError(f"Request entity too large: limit is {limit}") from None


def check_object_count(value: Any, limit: int) -> None:
    """Raise RequestTooLargeError if a decoded body has more than `limit` objects."""
    count, stack = 0, [value]
    while stack:
        value = stack.pop()
        if type(value) is dict:
            count += 1
            if count > limit:
                raise RequestTooLargeError(f"Request entity too large: limit is {limit} objects")
            stack.extend(value.values())
        elif type(value) is list:
            stack.extend(value)


_MAX_DEPTH = 900
"""The maximum nesting of a decoded text. Python functions that walk a deeper value would exceed the recursion limit."""
_DECODER_LIMITS_DEPTH = sys.version_info < (3, 12)
"""True if the C decoder obeys Python's recursion limit. Since Python 3.12, C code has its own, higher limit."""


def _check_depth(body: bytes, value: Any) -> None:
    """Raise MalformedJSONError if the value that was decoded from a text is nested too deeply."""
    if _DECODER_LIMITS_DEPTH or body.count(b"{") + body.count(b"[") <= _MAX_DEPTH:
        return
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(_MAX_DEPTH):
        level = [
            child
            for parent in level
            for child in (parent.values() if isinstance(parent, dict) else parent)
            if isinstance(child, dict | list)
        ]
        if not level:
            return
    raise _too_deep()


def decode(body: bytes, *, keep_fractions: bool = False) -> Any:
    """Decode JSON. If `keep_fractions` is true, a number that is written with a fraction becomes a float.

    Raise MalformedJSONError if the body is not JSON.
    """
    if len(body) > _MAX_SMALL_BYTES:
        body = _prepare(body)
    decoder = _decode_fractions if keep_fractions else _decode
    try:
        value = decoder(body)
    except (ValueError, RecursionError, RangeError):
        value = _decode_leniently(body, decoder)
    _check_depth(body, value)
    if _LONG_NUMBER in body.translate(_DIGITS_TO_ZERO):
        return narrow_ints(value)
    return value


def decode_flagged(body: bytes, *, keep_fractions: bool = False) -> tuple[Any, bool]:
    """Decode like `decode`. Also return True if all numbers are known to be ints: encoding the value is then faster."""
    if len(body) > _MAX_SMALL_BYTES:
        body = _prepare(body)
    try:
        value = _decode_integers_only(body)
    except (ValueError, RecursionError, _FractionError):
        return decode(body, keep_fractions=keep_fractions), False
    _check_depth(body, value)
    if _LONG_NUMBER in body.translate(_DIGITS_TO_ZERO):
        return narrow_ints(value), False
    return value, True


def decode_strict(body: bytes) -> tuple[Any, bool, list[str]]:
    """Decode like `decode_flagged(body, keep_fractions=True)`, and also return errors about duplicate fields."""
    if len(body) > _MAX_SMALL_BYTES:
        body = _prepare(body)
    if b"\\" not in body:
        try:
            value = _decode_integers_only(body)
            _check_depth(body, value)
            # If the body repeats a key, the encoded value has fewer colons than the body. orjson raises TypeError for
            # ints above 53 bits.
            if body.count(b":") == orjson.dumps(value, option=orjson.OPT_STRICT_INTEGER).count(b":"):
                return value, True, []
        except (ValueError, RecursionError, TypeError, _FractionError):
            pass
    value, integers_only = decode_flagged(body, keep_fractions=True)
    return value, integers_only, duplicate_field_errors(body, value)


def decode_literal(body: bytes) -> tuple[Any, bool]:
    """Decode like `decode_flagged`, for decoders of built-in types, which quote numbers in error messages.

    A number with a fraction becomes a NumberLiteral. An int that does not fit 64 bits stays an int.
    """
    if len(body) > _MAX_SMALL_BYTES:
        body = _prepare(body)
    try:
        value = _decode_integers_only(body)
    except (ValueError, RecursionError, _FractionError):
        pass
    else:
        _check_depth(body, value)
        return value, _LONG_NUMBER not in body.translate(_DIGITS_TO_ZERO)
    try:
        value = _decode_literal(body)
    except (ValueError, RecursionError):
        value = _decode_leniently(body, _decode_literal)
    _check_depth(body, value)
    return value, False


def _decode_leniently(body: bytes, decoder: Callable[[bytes], Any]) -> Any:
    """Decode a body that the fast parser rejected, as Go does: replace invalid UTF-8 and lone surrogates.

    Raise MalformedJSONError with the text of Go's error if the body is not JSON.
    """
    if len(body) > _MAX_REPAIRED_VALUES and body.count(b",") + body.count(b":") > _MAX_REPAIRED_VALUES:
        _check_text(body)
    if error_text := json_syntax.syntax_error(body):
        raise MalformedJSONError(error_text)
    try:
        return decoder(_replace_invalid_text(body))
    except RangeError as error:
        raise _out_of_range(str(error)) from None
    except RecursionError:
        raise _too_deep() from None
    except ValueError as error:
        raise MalformedJSONError(str(error)) from None


def _replace_invalid_text(body: bytes) -> bytes:
    text = decode_utf8(body).encode()
    if b"\\ud" not in text and b"\\uD" not in text:
        return text
    return _LONE_SURROGATE.sub(lambda m: m[0] if m[1] or m[2] else rb"\ufffd", text)


def _too_deep() -> MalformedJSONError:
    return MalformedJSONError("invalid character '{' exceeded max depth")


def _out_of_range(text: str) -> MalformedJSONError:
    return MalformedJSONError(f"json: cannot unmarshal number {text} into Go value of type float64", syntax=False)


def narrow_ints(root: Any) -> Any:
    """Convert ints beyond 64 bits to floats, in place."""
    if type(root) is int:
        return _narrow_int(root)
    stack: list[Any] = [root]
    while stack:
        value = stack.pop()
        members = value.items() if type(value) is dict else enumerate(value) if type(value) is list else ()
        for key, item in members:
            if type(item) is int:
                value[key] = _narrow_int(item)
            elif type(item) in (dict, list):
                stack.append(item)
    return root


def _narrow_int(value: int) -> int | float:
    if _LOW <= value < _HIGH:
        return value
    try:
        return float(value)
    except OverflowError:
        raise _out_of_range(str(value)) from None


def encode(value: Any, *, no_floats: bool = False) -> bytes:
    """Encode a value as Go does: with sorted keys and escaped HTML characters, without a trailing newline.

    If `no_floats` is true, the caller guarantees that the value contains no floats, and encoding is faster.
    """
    return encode_json(value, no_floats=no_floats)


def encode_ordered(value: Any) -> bytes:
    """Encode a value without sorting its keys, for Status, Table and other kinds with a fixed field order."""
    return encode_json(value, sort_keys=False)


def encode_line(value: Any) -> bytes:
    """Encode a value with a trailing newline, for a response body or a watch event."""
    return encode(value) + b"\n"


def duplicate_keys(body: bytes, value: Any) -> list[str]:
    """Return the paths, such as spec.list[0].x, of duplicate keys in `body`, which was decoded to `value`."""
    # Without duplicate keys, both texts have the same number of colons, unless the body writes a colon as \\u003a.
    if b"\\" not in body or b"\\u00" not in body:
        try:
            if body.count(b":") == orjson.dumps(value).count(b":"):
                return []
        except TypeError:
            pass
    return json_syntax.duplicate_keys(_replace_invalid_text(body))


def duplicate_field_errors(body: bytes, value: Any) -> list[str]:
    """Return the errors of kube-apiserver's strict decoder about duplicate keys."""
    return [f"duplicate field {go_quote(path)}" for path in duplicate_keys(body, value)]


def decode_merging(body: bytes) -> Any:
    """Decode a body with duplicate keys as Go decodes it into a struct: if a key repeats, its objects are merged.

    `body` has been decoded before, so its syntax is valid. Fractions become NumberLiterals.
    """
    return json.loads(_replace_invalid_text(body), object_pairs_hook=_merge_pairs, parse_float=NumberLiteral)


def _merge_pairs(pairs: list[tuple[str, Any]]) -> JsonObject:
    merged: JsonObject = {}
    for key, value in pairs:
        before = merged.get(key)
        both = isinstance(before, dict) and isinstance(value, dict)
        merged[key] = _merge_pairs([*(before or {}).items(), *value.items()]) if both else value
    return merged


def sort_strict_errors(strict_errors: list[str], body: bytes, *, prefix: str = "") -> list[str]:
    """Sort strict-decoding errors about unknown and duplicate keys by position in the body. Return at most 100.

    `prefix` is the text with which each error begins.
    """
    positions: dict[str, int] = {}
    remaining = set(strict_errors)
    for position, key in enumerate(json_syntax.iter_keys(_replace_invalid_text(body))):
        text = f"{prefix}{'duplicate' if key.duplicate else 'unknown'} field {go_quote(key.path())}"
        if text in remaining:
            positions.setdefault(text, position)
            if len(positions) == len(remaining):
                break
    return sorted(strict_errors, key=lambda error: positions.get(error, 0))[: json_syntax.MAX_STRICT_ERRORS]


_TYPE_META_STRUCT = (
    'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
)
_TYPE_META_FIELDS = {"apiversion": "apiVersion", "kind": "kind"}


def read_type_meta(value: Any) -> tuple[str, str]:
    """Return a body's apiVersion and kind, or "" for a missing one.

    Raise BadRequestError with kube-apiserver's text if the body or one of the two fields has a wrong type.
    """
    if value is None:
        return "", ""
    if type(value) is not dict:
        raise _type_meta_error(f"{json_type_name(value)} into Go value of type {_TYPE_META_STRUCT}")
    type_meta = {"apiVersion": "", "kind": ""}
    for key, item in value.items():
        # If several keys match, the last one is used.
        if item is not None and (name := type_meta_field(key)):
            if type(item) is not str:
                raise _type_meta_error(f"{json_type_name(item)} into Go struct field .{name} of type string")
            type_meta[name] = item
    version = type_meta["apiVersion"]
    if version.count("/") > 1:
        raise BadRequestError(f"unexpected GroupVersion string: {version}")
    # Go parses "/v1" as the version v1 of the core group, and "/" as no version.
    return version.removeprefix("/"), type_meta["kind"]


def type_meta_field(key: str) -> str | None:
    """Return `apiVersion` or `kind` if the key equals it, ignoring case, else None. Go ignores case only for these
    keys.
    """
    return _TYPE_META_FIELDS.get(_fold_case(key)) if len(key) in (4, 10) else None


def _fold_case(key: str) -> str:
    """Fold a key's case as Go does: the long s and the Kelvin sign fold to s and k."""
    return key.replace("\u017f", "s").replace("\u212a", "k").lower()


def _type_meta_error(reason: str) -> BadRequestError:
    return BadRequestError(f"couldn't get version/kind; json parse error: json: cannot unmarshal {reason}")
