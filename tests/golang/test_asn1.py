"""Errors of Go's ASN.1 decoder."""

from __future__ import annotations

import pytest

from polykind.golang.asn1 import struct_error


@pytest.mark.parametrize(
    ("data", "error"),
    [
        ("3000", ""),
        ("308180" + "00" * 128, ""),
        ("", "asn1: syntax error: sequence truncated"),
        ("1f", "asn1: syntax error: truncated base 128 integer"),
        ("30", "asn1: syntax error: truncated tag or length"),
        ("3080", "asn1: syntax error: indefinite length found (not DER)"),
        ("3082", "asn1: syntax error: truncated tag or length"),
        ("308400ffffff", "asn1: structure error: superfluous leading zeros in length"),
        ("3084ffffffff", "asn1: structure error: length too large"),
        ("30810100", "asn1: structure error: non-minimal length"),
        ("3001", "asn1: syntax error: data truncated"),
        ("300000", "asn1: syntax error: trailing data"),
        (
            "0400",
            "asn1: structure error: tags don't match (16 vs {class:0 tag:4 length:0 isCompound:false}) {optional:",
        ),
    ],
)
def test_struct_errors(data: str, error: str) -> None:
    found = struct_error(bytes.fromhex(data), "certificateRequest")
    assert found.startswith(error)
    assert bool(found) == bool(error)
