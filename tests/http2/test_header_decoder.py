"""Decoding of header blocks: the examples of RFC 7541, another encoder, limits, and malformed blocks."""

from __future__ import annotations

import hpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polykind.http2.header_decoder import HeaderDecoder, HeadersTooLargeError, static_fields
from polykind.http2.header_encoding import encode_header
from polykind.http2.huffman import MalformedHeadersError

Headers = list[tuple[bytes, bytes]]


def new_decoder(table_size: int = 4096) -> HeaderDecoder:
    return HeaderDecoder(static_fields(lambda name, value: 0), lambda name, value: 0, table_size)


def decode(decoder: HeaderDecoder, block: bytes, limit: int = 100_000) -> Headers:
    return [(name, value) for name, value, _, _ in decoder.decode(block, limit)]


FIRST: Headers = [
    (b":method", b"GET"),
    (b":scheme", b"http"),
    (b":path", b"/"),
    (b":authority", b"www.example.com"),
]


@pytest.mark.parametrize(
    "blocks",
    [
        (
            "828684410f7777772e6578616d706c652e636f6d",
            "828684be58086e6f2d6361636865",
            "828785bf400a637573746f6d2d6b65790c637573746f6d2d76616c7565",
        ),
        (
            "828684418cf1e3c2e5f23a6ba0ab90f4ff",
            "828684be5886a8eb10649cbf",
            "828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf",
        ),
    ],
    ids=["literals", "huffman"],
)
def test_requests_of_the_rfc(blocks: tuple[str, str, str]) -> None:
    decoder = new_decoder()
    first, second, third = (decode(decoder, bytes.fromhex(block)) for block in blocks)
    assert first == FIRST
    assert second == [*FIRST, (b"cache-control", b"no-cache")]
    assert third == [
        (b":method", b"GET"),
        (b":scheme", b"https"),
        (b":path", b"/index.html"),
        (b":authority", b"www.example.com"),
        (b"custom-key", b"custom-value"),
    ]


def test_responses_of_the_rfc_with_eviction() -> None:
    decoder = new_decoder(256)
    first = decode(
        decoder,
        bytes.fromhex(
            "4803333032580770726976617465611d4d6f6e2c203231204f637420323031332032303a31333a323120474d54"
            "6e1768747470733a2f2f7777772e6578616d706c652e636f6d"
        ),
    )
    assert first[0] == (b":status", b"302")
    assert decode(decoder, bytes.fromhex("4803333037c1c0bf")) == [(b":status", b"307"), *first[1:]]


names = st.sampled_from([b"a", b"b", b"accept", b":path", b"x-long-name"])
values = st.one_of(st.sampled_from([b"", b"1", b"gzip", b"x" * 900]), st.binary(max_size=20))


@given(st.lists(st.lists(st.tuples(names, values), max_size=8), max_size=12), st.booleans())
def test_blocks_of_another_encoder(blocks: list[Headers], huffman: bool) -> None:
    encoder, decoder = hpack.Encoder(), new_decoder()
    for number, headers in enumerate(blocks):
        if number == 5:
            encoder.header_table_size = 100
        assert decode(decoder, encoder.encode(headers, huffman=huffman)) == headers


@given(st.lists(st.tuples(names, values), max_size=8))
def test_another_decoder_reads_our_blocks(headers: Headers) -> None:
    block = b"".join(encode_header(name, value) for name, value in headers)
    decoded = [(bytes(name), bytes(value)) for name, value in hpack.Decoder().decode(block, raw=True)]
    assert decoded == headers
    assert decode(new_decoder(), block) == headers


def test_long_strings() -> None:
    for size in (126, 127, 128, 254, 255, 70_000):
        assert decode(new_decoder(), encode_header(b"x", b"y" * size)) == [(b"x", b"y" * size)]


def test_generation_changes_with_the_table_only() -> None:
    decoder = new_decoder()
    decode(decoder, b"\x40\x01a\x01b")
    before = decoder.generation
    assert decode(decoder, b"\xbe\x82" + encode_header(b"c", b"d")) == [
        (b"a", b"b"),
        (b":method", b"GET"),
        (b"c", b"d"),
    ]
    assert decoder.generation == before
    decode(decoder, b"\x40\x01a\x01c")
    assert decoder.generation > before


def test_bomb_ends_at_the_limit() -> None:
    decoder = new_decoder()
    decode(decoder, b"\x40\x01a\x7f\xa1\x1e" + b"x" * 4000)
    with pytest.raises(HeadersTooLargeError):
        decoder.decode(b"\xbe" * 1_000_000 + b"\x40\x01c\x01d", 256 * 1024)
    assert decode(decoder, b"\xbe") == [(b"c", b"d")]


@pytest.mark.parametrize(
    "block",
    [
        b"\x80",  # index 0
        b"\xbe",  # an empty dynamic table
        b"\x7f\x20\x01x",  # the name has an unknown index
        b"\x00\x05ab",  # an incomplete string
        b"\x00\x01",  # no value
        b"\x82\x20",  # a change of the table size after a header
        b"\x3f\xe2\x1f",  # a table size above the limit
        b"\xff\x80\x80\x80\x80\x80\x01",  # a long integer
        b"\xff",  # an incomplete integer
    ],
)
def test_malformed_blocks(block: bytes) -> None:
    with pytest.raises(MalformedHeadersError):
        new_decoder().decode(block, 100_000)


@given(st.lists(st.binary(max_size=80), max_size=4))
def test_arbitrary_blocks_decode_as_another_decoder_does(blocks: list[bytes]) -> None:
    ours, theirs = new_decoder(), hpack.Decoder()
    for block in blocks:
        try:
            headers = decode(ours, block)
        except MalformedHeadersError:
            with pytest.raises(hpack.HPACKError):
                theirs.decode(block, raw=True)
            return
        try:
            expected = theirs.decode(block, raw=True)
        except hpack.HPACKError:
            # Their decoder rejects some blocks by other limits.
            return
        assert headers == [(bytes(name), bytes(value)) for name, value in expected]
