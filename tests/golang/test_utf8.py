"""UTF-8 as Go reads it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polykind.golang.utf8 import decode_utf8


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"\xff\xfea", "\ufffd\ufffda"),
        (b"\xe2\x82", "\ufffd\ufffd"),
        (b"\xed\xa0\x80", "\ufffd\ufffd\ufffd"),
        ("€".encode() + b"\xff", "€\ufffd"),
        (b"\xff" * 70_000, "\ufffd" * 70_000),
    ],
)
def test_each_invalid_byte_is_replaced(data: bytes, text: str) -> None:
    assert decode_utf8(data) == text


@given(st.text())
def test_valid_text_is_unchanged(text: str) -> None:
    encoded = text.encode(errors="replace")
    assert decode_utf8(encoded) == encoded.decode()
