"""The Huffman code of HPACK."""

from __future__ import annotations

import pytest
from hpack.huffman import HuffmanEncoder
from hpack.huffman_constants import REQUEST_CODES, REQUEST_CODES_LENGTH
from hypothesis import given
from hypothesis import strategies as st

from polykind.http2.huffman import MalformedHeadersError, decode_huffman


@pytest.mark.parametrize(
    ("packed", "text"),
    [
        ("f1e3c2e5f23a6ba0ab90f4ff", b"www.example.com"),
        ("a8eb10649cbf", b"no-cache"),
        ("25a849e95ba97d7f", b"custom-key"),
        ("25a849e95bb8e8b4bf", b"custom-value"),
        ("d07abe941054d444a8200595040b8166e082a62d1bff", b"Mon, 21 Oct 2013 20:13:21 GMT"),
        ("", b""),
    ],
)
def test_examples_of_the_rfc(packed: str, text: bytes) -> None:
    assert decode_huffman(bytes.fromhex(packed)) == text


@given(st.binary(max_size=200))
def test_strings_of_another_encoder(text: bytes) -> None:
    encoded = HuffmanEncoder(REQUEST_CODES, REQUEST_CODES_LENGTH).encode(text)
    assert decode_huffman(encoded) == text


@pytest.mark.parametrize(
    "packed",
    [
        "f1e3c2e5f23a6ba0ab90f4ffff",  # eight bits of padding
        "f1e3c2e5f23a6ba0ab90f4fe",  # padding with a zero
        "ffffffff",  # the end symbol
        "00",  # an incomplete code
    ],
)
def test_malformed_strings(packed: str) -> None:
    with pytest.raises(MalformedHeadersError):
        decode_huffman(bytes.fromhex(packed))


@given(st.binary(max_size=80))
def test_arbitrary_bytes_decode_or_raise(packed: bytes) -> None:
    try:
        text = decode_huffman(packed)
    except MalformedHeadersError:
        return
    assert HuffmanEncoder(REQUEST_CODES, REQUEST_CODES_LENGTH).encode(text) == packed
