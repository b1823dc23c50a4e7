"""Values of users as JSON bytes, however strange they are."""

from __future__ import annotations

import json
from typing import Any

import orjson


def encode(value: Any) -> bytes:
    """JSON bytes; what the fast encoder refuses (lone surrogates, nesting beyond 254 levels) goes the slow way."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return json.dumps(value, separators=(",", ":"), allow_nan=False).encode()
