"""Values of users as JSON bytes, however strange they are."""

from __future__ import annotations

import json
from typing import Any

import orjson

from polykind.gotext import escape_html


def encode(value: Any) -> bytes:
    """JSON bytes; what the fast encoder refuses (lone surrogates, deep values) goes the slow way.

    Raises RecursionError if even that way is too short.
    """
    try:
        return orjson.dumps(value)
    except TypeError:
        return json.dumps(value, separators=(",", ":"), allow_nan=False).encode()


def encode_html(value: Any) -> bytes:
    """The same with the characters escaped that HTML gives a meaning to."""
    return escape_html(encode(value))
