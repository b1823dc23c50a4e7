"""Times as Go's time package parses and prints them: RFC 3339, with Go's error messages."""

from __future__ import annotations

import re
from datetime import date, datetime
from typing import NamedTuple

from polykind.golang.utf8 import replace_lone_surrogates

RFC3339 = "2006-01-02T15:04:05Z07:00"
RFC3339_MICRO = "2006-01-02T15:04:05.000000Z07:00"
LOCAL_TIME = "2006-01-02T15:04:05"
DATE = "2006-01-02"

_ELEMENTS = (
    ("2006", re.compile(r"\d{4}", re.ASCII)),
    ("-", re.compile("-")),
    ("01", re.compile(r"\d\d", re.ASCII)),
    ("-", re.compile("-")),
    ("02", re.compile(r"\d\d", re.ASCII)),
    ("T", re.compile("T")),
    ("15", re.compile(r"\d\d?", re.ASCII)),
    (":", re.compile(":")),
    ("04", re.compile(r"\d\d", re.ASCII)),
    (":", re.compile(":")),
    ("05", re.compile(r"\d\d(?:[.,]\d+)?", re.ASCII)),
    ("Z07:00", re.compile(r"Z|[+-]\d\d:\d\d", re.ASCII)),
)
_MICRO_ELEMENTS = (
    *_ELEMENTS[:-2],
    ("05", re.compile(r"\d\d", re.ASCII)),
    (".000000", re.compile(r"[.,]\d{6}", re.ASCII)),
    _ELEMENTS[-1],
)
_date = re.compile(r"(\d{4})-(\d\d)-(\d\d)", re.ASCII).fullmatch
_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_YEARS_PER_CYCLE, _DAYS_PER_CYCLE = 400, 146097
"""The number of years and days after which the Gregorian calendar repeats. Dates are shifted by this, because Python's
date supports only years from 1 to 9999.
"""
_UNIX_EPOCH = date(1970, 1, 1).toordinal()
_ZERO_TIME = "0001-01-01T00:00:00Z"


class Time(NamedTuple):
    """An instant: seconds since 1970 in UTC, nanoseconds within the second, and the time zone offset of its text."""

    seconds: int
    nanoseconds: int
    offset: int

    @property
    def is_zero(self) -> bool:
        """True for the first instant of year 1, Go's zero time."""
        return self.seconds == -62135596800 and not self.nanoseconds


def parse_rfc3339(text: str) -> Time:
    """Parse an RFC 3339 time. Raise ValueError with Go's message if it is invalid."""
    return _to_time(parse_time(text, RFC3339))


def _to_time(parts: list[str]) -> Time:
    """Convert the elements of an RFC 3339 time, such as year and month, to a Time."""
    year, month, day = int(parts[0]), int(parts[2]), int(parts[4])
    equivalent_year = 2000 + year % _YEARS_PER_CYCLE
    cycles = (year - equivalent_year) // _YEARS_PER_CYCLE
    days = date(equivalent_year, month, day).toordinal() + cycles * _DAYS_PER_CYCLE - _UNIX_EPOCH
    zone, second = parts[11], parts[10]
    offset = 0
    if zone != "Z":
        offset = (int(zone[1:3]) * 3600 + int(zone[4:6]) * 60) * (-1 if zone[0] == "-" else 1)
    seconds = days * 86400 + int(parts[6]) * 3600 + int(parts[8]) * 60 + int(second[:2]) - offset
    return Time(seconds, int(second[3:12].ljust(9, "0")), offset)


def normalize_time(text: str) -> str | None:
    """Return a time as Kubernetes writes it: in UTC, to the second. Return None for Go's zero time.

    Raise ValueError with Go's message if the time is invalid.
    """
    if is_normalized_time(text):
        return text
    normalized = _utc_text(parse_rfc3339(text).seconds) + "Z"
    return None if normalized == _ZERO_TIME else normalized


def normalize_micro_time(text: str) -> str | None:
    """Return a time with microseconds as Kubernetes writes it: in UTC. Return None for Go's zero time.

    Raise ValueError with Go's message if the time is invalid or does not have exactly six digits after the second.
    """
    parts = parse_time(text, RFC3339_MICRO)
    time = _to_time([*parts[:10], parts[10] + parts[11], parts[12]])
    return None if time.is_zero else f"{_utc_text(time.seconds)}.{time.nanoseconds // 1000:06d}Z"


def _utc_text(seconds: int) -> str:
    """Return the date and the time of day of an instant in UTC."""
    days, second = divmod(seconds, 86400)
    cycles, day_in_cycle = divmod(days + _UNIX_EPOCH - 1, _DAYS_PER_CYCLE)
    day = date.fromordinal(day_in_cycle + 1)
    year = day.year + cycles * _YEARS_PER_CYCLE
    clock = f"{second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}"
    return f"{year:04d}-{day.month:02d}-{day.day:02d}T{clock}"


def is_normalized_time(text: str) -> bool:
    """True if a time is written exactly as Kubernetes writes it, so that `normalize_time` would not change it."""
    if len(text) != 20 or text[19] != "Z" or text[10] != "T" or text[4] != "-" or text[7] != "-":
        return False
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return text[13] == text[16] == ":" and text != _ZERO_TIME


def is_date(text: str) -> bool:
    """True for a valid calendar date such as 2006-01-02."""
    match = _date(text)
    return match is not None and 1 <= int(match[2]) <= 12 and _is_day(int(match[1]), int(match[2]), int(match[3]))


def _is_day(year: int, month: int, day: int) -> bool:
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return 1 <= day <= _DAYS[month - 1] + (month == 2 and leap)


def parse_time(text: str, layout: str) -> list[str]:
    """Split a time into the elements of `layout`. `layout` is RFC3339_MICRO, RFC3339 or a prefix of RFC3339.

    Raise ValueError if the time does not match the layout.
    """
    parts: list[str] = []
    rest, missing = text, layout
    for element, pattern in _MICRO_ELEMENTS if layout == RFC3339_MICRO else _ELEMENTS:
        if not missing:
            break
        missing = missing[len(element) :]
        match = pattern.match(rest)
        if not match:
            unparsed = f'cannot parse {quote_for_error(rest)} as "{element}"'
            raise ValueError(f'parsing time {quote_for_error(text)} as "{layout}": {unparsed}')
        field = _out_of_range_field(element, match.group())
        if field:
            raise ValueError(f"parsing time {quote_for_error(text)}: {field} out of range")
        parts.append(match.group())
        rest = rest[match.end() :]
    if rest:
        raise ValueError(f"parsing time {quote_for_error(text)}: extra text: {quote_for_error(rest)}")
    if not _is_day(int(parts[0]), int(parts[2]), int(parts[4])):
        raise ValueError(f"parsing time {quote_for_error(text)}: day out of range")
    return parts


def _out_of_range_field(element: str, text: str) -> str:
    if element == "01" and not 1 <= int(text) <= 12:
        return "month"
    if element == "15" and int(text) > 23:
        return "hour"
    if element == "04" and int(text) > 59:
        return "minute"
    if element == "05" and int(text[:2]) > 59:
        return "second"
    if element == "Z07:00" and text != "Z":
        if int(text[1:3]) > 24:
            return "time zone offset hour"
        if int(text[4:6]) > 60:
            return "time zone offset minute"
    return ""


def quote_for_error(text: str) -> str:
    """Quote a text as Go's time package does in errors. Non-ASCII characters are escaped byte by byte."""
    escaped = _escaped_in_error(_escape, replace_lone_surrogates(text).encode())
    return f'"{escaped.decode("ascii")}"'


_escaped_in_error = re.compile(rb"[\x00-\x1f\x80-\xff\"\\]").sub


def _escape(found: re.Match[bytes]) -> bytes:
    character = found[0]
    return b"\\" + character if character in (b'"', b"\\") else b"\\x%02x" % character[0]
