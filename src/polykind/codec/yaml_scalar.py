"""The types of YAML scalars in kube-apiserver: YAML 1.1 without base-60 numbers, and with timestamps as strings."""

from __future__ import annotations

import base64
import binascii
import re
from datetime import date, time
from typing import Any, Final

from polykind.golang.utf8 import decode_utf8

_TAG_PREFIX = "tag:yaml.org,2002:"
_NAMED_VALUES: Final[dict[str, Any]] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), float("inf")),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), float("-inf")),
}
_FIRST_CHARACTERS = frozenset("+-0123456789yYnNtTfFoO~.")
_integer = re.compile(r"([+-]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|(0|[1-9][0-9]*))").fullmatch
_float = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?").fullmatch
_timestamp = re.compile(
    r"(\d{4})-(\d\d?)-(\d\d?)(?:[Tt](\d\d?):(\d\d?):(\d\d?)(?:[.,]\d+)?(?:Z|[+-](\d\d):(\d\d))"
    r"| (\d\d?):(\d\d?):(\d\d?)(?:[.,]\d+)?)?",
    re.ASCII,
).fullmatch
_match_base60 = re.compile(r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?").fullmatch
_TAG_BY_TYPE = {str: "!!str", bool: "!!bool", int: "!!int", float: "!!float", type(None): "!!null"}


class ScalarError(ValueError):
    """A scalar whose text does not match its tag."""


def resolve_plain(text: str) -> Any:
    """Return the value of a plain scalar without a tag: str, bool, int, float or None."""
    if not text:
        return None
    if text[0] not in _FIRST_CHARACTERS:
        return text
    if text in _NAMED_VALUES:
        return _NAMED_VALUES[text]
    if text[0] == ".":
        return _parse_float(text) if _float(text) else text
    if text[0] not in "+-0123456789":
        return text
    plain = text.replace("_", "")
    if match := _integer(plain):
        return _parse_int(match, text)
    return _parse_float(plain) if _float(plain) else text


def _parse_int(match: re.Match[str], text: str) -> Any:
    sign, hexadecimal, binary, octal, decimal = match.groups()
    if len(decimal or "") > 400:
        return text
    size = (
        int(hexadecimal, 16) if hexadecimal else int(binary, 2) if binary else int(octal, 8) if octal else int(decimal)
    )
    value = -size if sign == "-" else size
    if -(1 << 63) <= value < 1 << 63 or (not sign and value < 1 << 64):
        return value
    return _parse_float(match[0]) if decimal else text


def _parse_float(text: str) -> Any:
    value = float(text)
    return value if value - value == 0.0 else text


def resolve_tagged(tag: str, text: str) -> Any:
    """Return the value of a scalar with an explicit tag. Raise ScalarError if the text does not match the tag."""
    short = f"!!{tag.removeprefix(_TAG_PREFIX)}" if tag.startswith(_TAG_PREFIX) else tag
    if short == "!!binary":
        try:
            return decode_utf8(base64.b64decode(text.replace("\n", "").replace("\r", ""), validate=True))
        except (binascii.Error, ValueError):
            raise ScalarError("!!binary value contains invalid base64 data") from None
    if short == "!!timestamp":
        if is_timestamp(text):
            return text
    elif short not in ("!!bool", "!!int", "!!float", "!!null"):
        return text
    value = resolve_plain(text)
    is_time = short == "!!timestamp" and isinstance(value, str) and is_timestamp(text)
    actual = "!!timestamp" if is_time else _TAG_BY_TYPE[type(value)]
    if actual == short:
        return value
    if short == "!!float" and actual == "!!int":
        return float(value)
    raise ScalarError(f"cannot decode {actual} `{text}` as a {short}")


def is_timestamp(text: str) -> bool:
    """True if a plain scalar is a valid YAML timestamp."""
    match = _timestamp(text)
    if match is None:
        return False
    year, month, day = (int(match[i]) for i in (1, 2, 3))
    hour, minute, second = (int(part or 0) for part in (match.groups()[3:6] if match[4] else match.groups()[8:11]))
    if match[7] and (int(match[7]) > 24 or int(match[8]) > 60):
        return False
    try:
        date(year or 4, month, day)
        time(hour, minute, second)
    except ValueError:
        return False
    return True


def needs_quotes(text: str) -> bool:
    """True if a string, written without quotes, would be decoded as another type."""
    if not text or text[0] not in _FIRST_CHARACTERS:
        return not text
    return not isinstance(resolve_plain(text), str) or is_timestamp(text) or _match_base60(text) is not None
