"""PEM blocks, found as Go finds them."""

from __future__ import annotations

import pytest

from polykind.golang.pem import decode_pem

BLOCK = b"-----BEGIN A-----\nYWJj\n-----END A-----\n"


def test_blocks_are_found_one_after_the_other() -> None:
    first, rest = decode_pem(b"text\n" + BLOCK + BLOCK)
    assert first is not None
    assert (first.type, first.headers, first.data) == ("A", {}, b"abc")
    assert rest == BLOCK
    assert decode_pem(b"") == (None, b"")


@pytest.mark.parametrize(
    "text",
    [
        b"x" + BLOCK,
        BLOCK.replace(b"END A", b"END B"),
        BLOCK.replace(b"YWJj", b"YWJ!"),
        BLOCK.replace(b"A-----\nY", b"A---\nY"),
        BLOCK.rstrip() + b"x",
        b"-----BEGIN A-----\n",
    ],
)
def test_malformed_blocks_are_skipped(text: bytes) -> None:
    assert decode_pem(text) == (None, text)
    block, _ = decode_pem(text + b"\n" + BLOCK)
    assert block is not None
    assert block.data == b"abc"


def test_headers_spaces_and_carriage_returns() -> None:
    block, rest = decode_pem(b"-----BEGIN A----- \r\nK: v\r\n\r\nYW Jj\r\n-----END A-----\t\r\nrest")
    assert block is not None
    assert (block.headers, block.data) == ({"K": "v"}, b"abc")
    assert rest == b"rest"


def test_an_empty_body() -> None:
    block, _ = decode_pem(b"-----BEGIN A-----\n-----END A-----")
    assert block is not None
    assert block.data == b""
