"""Query strings, read as Go's url package reads them."""

from __future__ import annotations

import re
from urllib.parse import unquote_to_bytes

from polykind.errors import BadRequestError
from polykind.golang.fmt import go_quote
from polykind.golang.utf8 import decode_utf8
from polykind.selectors.requirement import parse_int64

Query = dict[str, list[str]]
bad_escape = re.compile(r"%(?![0-9A-Fa-f]{2})").search
_integer = re.compile(r"[+-]?[0-9]+").fullmatch


def parse_query(raw: bytes | str) -> Query:
    """The parameters by name. A pair that cannot be read (a bad escape, a semicolon) is left out."""
    if not raw:
        return {}
    text = raw.decode("latin-1") if isinstance(raw, bytes) else raw
    out: Query = {}
    for pair in text.split("&"):
        if not pair or ";" in pair:
            continue
        name, _, value = pair.partition("=")
        if "%" in pair or "+" in pair or not pair.isascii():
            if bad_escape(name) or bad_escape(value):
                continue
            name, value = _unescaped(name, raw), _unescaped(value, raw)
        out.setdefault(name, []).append(value)
    return out


def _unescaped(text: str, raw: bytes | str) -> str:
    encoded = text.replace("+", " ").encode("latin-1" if isinstance(raw, bytes) else "utf-8")
    return decode_utf8(unquote_to_bytes(encoded))


def first(query: Query, name: str) -> str:
    """A parameter's first value; "" if it was not given."""
    values = query.get(name)
    return values[0] if values else ""


def truth(query: Query, name: str) -> bool | None:
    """A parameter as a boolean, of which 0 and false alone are false; None if it was not given."""
    values = query.get(name)
    return values[0] != "0" and values[0].lower() != "false" if values else None


def integer(query: Query, name: str) -> int | None:
    """A parameter as an int64; None if it was not given. Raises BadRequest."""
    values = query.get(name)
    if not values:
        return None
    value = parse_int64(values[0])
    if value is None:
        why = "value out of range" if _integer(values[0]) else "invalid syntax"
        raise BadRequestError(f"strconv.ParseInt: parsing {go_quote(values[0])}: {why}")
    return value
