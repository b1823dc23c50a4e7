"""Times and IP addresses as Go parses them."""

from __future__ import annotations

import pytest

from polykind.golang.netip import AddressError, parse_addr
from polykind.golang.time import Time, is_date, normalize_time, parse_rfc3339


@pytest.mark.parametrize(
    ("text", "normalized"),
    [
        ("2024-02-29T23:59:59Z", "2024-02-29T23:59:59Z"),
        ("2024-03-01T01:30:00.999+02:00", "2024-02-29T23:30:00Z"),
        ("0000-01-01T00:00:00Z", "0000-01-01T00:00:00Z"),
        ("9999-12-31T23:59:59+01:00", "9999-12-31T22:59:59Z"),
        ("0001-01-01T00:00:00Z", None),
        ("0001-01-01T01:00:00+01:00", None),
    ],
)
def test_normalize_time(text: str, normalized: str | None) -> None:
    assert normalize_time(text) == normalized


def test_parse_rfc3339_keeps_nanoseconds_and_offset() -> None:
    assert parse_rfc3339("1970-01-01T01:00:00.5+01:00") == Time(0, 500_000_000, 3600)
    assert parse_rfc3339("1969-12-31T23:59:59Z") == Time(-1, 0, 0)


@pytest.mark.parametrize(("text", "valid"), [("2024-02-29", True), ("2023-02-29", False), ("2024-13-01", False)])
def test_is_date(text: str, valid: bool) -> None:
    assert is_date(text) is valid


def test_parse_addr() -> None:
    assert parse_addr("1.2.3.4") == (4, 0x01020304, "")
    assert parse_addr("fe80::1%eth0") == (6, (0xFE80 << 112) + 1, "eth0")
    with pytest.raises(AddressError, match="IPv4 field has octet with leading zero"):
        parse_addr("1.2.3.04")
