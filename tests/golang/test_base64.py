from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polykind.golang.base64 import Base64Error, decode_base64, encode_base64


@given(st.binary(max_size=60))
def test_decoding_reverses_encoding(data: bytes) -> None:
    assert decode_base64(encode_base64(data)) == data
    assert encode_base64(data) == base64.b64encode(data).decode()


def test_decoding_skips_line_breaks() -> None:
    assert decode_base64("aG\nVs\r\nbG8=\n") == b"hello"


@pytest.mark.parametrize(
    ("text", "at"),
    [("b!", 1), ("bm9", 0), ("=", 0), ("b===", 1), ("bm==x", 4), ("bm=", 3), ("bm=x", 2), ("bm9=bm9=", 4), ("é", 0)],
)
def test_error_names_offending_byte(text: str, at: int) -> None:
    with pytest.raises(Base64Error, match=f"^illegal base64 data at input byte {at}$"):
        decode_base64(text)
