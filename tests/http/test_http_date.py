"""Dates in HTTP headers."""

from __future__ import annotations

import pytest

from polykind.http.http_date import format_http_date, parse_http_date


@pytest.mark.parametrize(
    ("seconds", "date"),
    [
        (784111777, b"Sun, 06 Nov 1994 08:49:37 GMT"),
        (0.9, b"Thu, 01 Jan 1970 00:00:00 GMT"),
        (1709164800, b"Thu, 29 Feb 2024 00:00:00 GMT"),
    ],
)
def test_dates_are_written_and_read(seconds: float, date: bytes) -> None:
    assert format_http_date(seconds) == date
    assert parse_http_date(date.decode()) == int(seconds)


def test_a_malformed_date_is_none() -> None:
    assert parse_http_date("yesterday") is None
