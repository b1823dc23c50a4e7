"""Indented JSON."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from polykind.codec import json_codec, json_indent
from polykind.codec.json_indent import indent
from tests.codec.test_json_codec import values


def test_indent() -> None:
    encoded = b'{"a":[1,{"b":{},"c":[]}],"d":"x{,:}"}'
    assert indent(encoded).decode() == json.dumps(json.loads(encoded), indent=2)


@given(values, st.integers(0, 3), st.booleans())
def test_both_ways_to_indent_agree(value: Any, level: int, ascii_only: bool) -> None:
    encoded = json.dumps(value, separators=(",", ":"), ensure_ascii=ascii_only).encode()
    assert indent(encoded, level) == json_indent._indent_by_pieces(encoded, level)


def test_many_brackets_are_indented() -> None:
    encoded = json_codec.encode([{"a": [1, {}]}] * 10_000)
    assert indent(encoded).decode() == json.dumps(json.loads(encoded), indent=2)


def test_deep_nesting_is_not_indented() -> None:
    encoded = b"[" * 9000 + b"]" * 9000
    assert indent(encoded) == encoded
