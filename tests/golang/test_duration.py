from __future__ import annotations

import pytest

from polykind.golang import duration


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "<invalid>"),
        (-1.9, "0s"),
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (125, "2m5s"),
        (600, "10m"),
        (10799, "179m"),
        (10800, "3h"),
        (11000, "3h3m"),
        (8 * 3600, "8h"),
        (48 * 3600, "2d"),
        (50 * 3600, "2d2h"),
        (8 * 86400, "8d"),
        (729 * 86400, "729d"),
        (730 * 86400, "2y"),
        (800 * 86400, "2y70d"),
        (9 * 365 * 86400, "9y"),
        (1e12, "292y"),
    ],
)
def test_human_duration(seconds: float, text: str) -> None:
    assert duration.human_duration(seconds) == text


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("0", 0),
        ("5s", 5 * 10**9),
        ("1m30.5s", 905 * 10**8),
        ("-1h", -3600 * 10**9),
        ("+2ms", 2 * 10**6),
        (".5s", 5 * 10**8),
        ("-9223372036854775808ns", -(1 << 63)),
    ],
)
def test_parse_duration(text: str, nanoseconds: int) -> None:
    assert duration.parse_duration(text) == nanoseconds


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", 'time: invalid duration ""'),
        ("later", 'time: invalid duration "later"'),
        ("5", 'time: missing unit in duration "5"'),
        ("5é", 'time: unknown unit "\\xc3\\xa9" in duration "5\\xc3\\xa9"'),
        ("9999999999h", 'time: invalid duration "9999999999h"'),
        ("9223372036854775808", 'time: missing unit in duration "9223372036854775808"'),
        ("9223372036854775809", 'time: invalid duration "9223372036854775809"'),
        ("9223372036854775808ns", 'time: invalid duration "9223372036854775808ns"'),
        ('"5s', 'time: invalid duration "\\"5s"'),
    ],
)
def test_parse_duration_rejects_with_go_message(text: str, says: str) -> None:
    with pytest.raises(ValueError, match="time: ") as refused:
        duration.parse_duration(text)
    assert str(refused.value) == says


@pytest.mark.parametrize(
    ("nanoseconds", "expected"),
    [
        (0, "0s"),
        (1, "1ns"),
        (1_500, "1.5µs"),
        (250 * 10**6, "250ms"),
        (2 * 10**9, "2s"),
        (90_500 * 10**6, "1m30.5s"),
        (3600 * 10**9, "1h0m0s"),
        (-61 * 10**9, "-1m1s"),
    ],
)
def test_durations_are_formatted_as_in_go(nanoseconds: int, expected: str) -> None:
    assert duration.format_duration(nanoseconds) == expected
