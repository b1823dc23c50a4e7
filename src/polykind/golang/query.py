"""Query strings, parsed as Go's net/url does, and the types of their parameters."""

from __future__ import annotations

import re
from urllib.parse import unquote_to_bytes

from polykind.golang.utf8 import decode_utf8

Query = dict[str, list[str]]
"""The values of each parameter, in order."""

bad_escape = re.compile(r"%(?![0-9A-Fa-f]{2})").search
_MAX_PARAMETERS = 10_000
"""The limit of Go's net/url. A longer query has no parameters."""


def parse_query(raw: bytes | str) -> Query:
    """Parse a query string as Go's net/url does: pairs with a bad escape or a semicolon are dropped."""
    if not raw:
        return {}
    text = raw.decode("latin-1") if isinstance(raw, bytes) else raw
    out: Query = {}
    if len(text) > _MAX_PARAMETERS and text.count("&") >= _MAX_PARAMETERS:
        return out
    for pair in text.split("&"):
        if not pair or ";" in pair:
            continue
        name, _, value = pair.partition("=")
        if "%" in pair or "+" in pair or not pair.isascii():
            if bad_escape(name) or bad_escape(value):
                continue
            name, value = _unescape(name, raw), _unescape(value, raw)
        out.setdefault(name, []).append(value)
    return out


def _unescape(text: str, raw: bytes | str) -> str:
    if text.isascii() and "%" not in text:
        return text.replace("+", " ")
    encoded = text.replace("+", " ").encode("latin-1" if isinstance(raw, bytes) else "utf-8")
    return decode_utf8(unquote_to_bytes(encoded))


def first_value(query: Query, name: str) -> str:
    """Return a parameter's first value, or "" if the parameter is absent."""
    values = query.get(name)
    return values[0] if values else ""


def bool_value(query: Query, name: str) -> bool | None:
    """Return a boolean parameter. Every value except 0 and false is true. Return None if the parameter is absent."""
    values = query.get(name)
    return values[0] != "0" and values[0].lower() != "false" if values else None
