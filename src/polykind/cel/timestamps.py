"""Timestamps and durations: parsing, formatting and accessors."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, tzinfo
from decimal import Decimal
from zoneinfo import ZoneInfo

from polykind.cel.evaluation_errors import EvalError
from polykind.cel.runtime_values import Duration, Timestamp
from polykind.golang import time as gotime
from polykind.golang.duration import parse_duration as parse_nanoseconds
from polykind.golang.fmt import go_quote

_SECOND = 10**9
_UNIT_WORDS = (
    (1, ("ns", "nano")),
    (1000, ("us", "µs", "micro")),
    (10**6, ("ms", "milli")),
    (_SECOND, ("s", "sec")),
    (60 * _SECOND, ("m", "min")),
    (3600 * _SECOND, ("h", "hr", "hour")),
    (24 * 3600 * _SECOND, ("d", "day")),
    (7 * 24 * 3600 * _SECOND, ("w", "wk", "week")),
)
_CALENDAR_CYCLE_YEARS = 400
_CALENDAR_CYCLE = 146097 * 86400
"""Seconds in 400 years, after which the Gregorian calendar repeats with the same weekdays."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MIN_SECONDS = -62135596800
_MAX_SECONDS = 253402300799
# The lookbehind keeps the search linear: a match never begins inside a number.
_word_durations = re.compile(r"(?<!\d)(\d+)[\t\n\f\r ]*([A-Za-zµ]+)", re.ASCII).findall
_is_integer = re.compile(r"[+-]?\d+", re.ASCII).fullmatch


def parse_rfc3339(text: str) -> Timestamp | None:
    """Parse a time as Go does. Return None if the text is not a valid time in the years 1 to 9999."""
    try:
        time = gotime.parse_rfc3339(text)
    except ValueError:
        return None
    return None if text.startswith("0000") else Timestamp(time.seconds * _SECOND + time.nanoseconds, time.offset)


def parse_timestamp(text: str) -> Timestamp:
    timestamp = parse_rfc3339(text)
    if timestamp is None:
        raise EvalError("type conversion error from 'string' to 'google.protobuf.Timestamp'")
    return check_range(timestamp)


def check_range(time: Timestamp) -> Timestamp:
    if not _MIN_SECONDS <= time.ns // _SECOND <= _MAX_SECONDS:
        raise EvalError("timestamp overflow")
    return time


def parse_go_duration(text: str) -> int | None:
    """Return the nanoseconds of a duration such as 1h30m. Return None if the text is not a duration."""
    try:
        return parse_nanoseconds(text)
    except ValueError:
        return None


def parse_duration_format(text: str) -> int | None:
    """Parse a string of the OpenAPI format duration: a Go duration, or words such as `3 days`."""
    nanoseconds = parse_go_duration(text)
    if nanoseconds is not None:
        return nanoseconds
    total: int | None = None
    for number, word in _word_durations(text):
        unit = word.lower()
        for factor, names in _UNIT_WORDS:
            if unit in names or unit.startswith(names[-1]):
                total = (total or 0) + int(number[:19]) * factor
    return None if total is None else (total + 2**63) % 2**64 - 2**63


def parse_duration(text: str) -> Duration:
    nanoseconds = parse_go_duration(text)
    if nanoseconds is None:
        raise EvalError("type conversion error from 'string' to 'google.protobuf.Duration'")
    return Duration(nanoseconds)


def format_duration(duration: Duration) -> str:
    """Format a duration as a number of seconds, such as 5400s."""
    seconds = format(Decimal(repr(duration.ns / _SECOND)), "f")
    return f"{seconds.rstrip('0').rstrip('.') if '.' in seconds else seconds}s"


def format_timestamp(time: Timestamp) -> str:
    """Format a timestamp in RFC 3339, at its own UTC offset and with as many fractional digits as needed."""
    seconds, fraction = divmod(time.ns, _SECOND)
    when = _EPOCH + timedelta(seconds=seconds + time.offset)
    digits = f".{fraction:09d}".rstrip("0") if fraction else ""
    sign = "-" if time.offset < 0 else "+"
    hours, minutes = divmod(abs(time.offset) // 60, 60)
    zone = f"{sign}{hours:02d}:{minutes:02d}" if time.offset else "Z"
    return f"{when.year:04d}-{when.strftime('%m-%dT%H:%M:%S')}{digits}{zone}"


def timestamp_part(name: str, time: Timestamp, zone: str = "UTC") -> int:
    """Return one component of a timestamp in a time zone."""
    seconds, fraction = divmod(time.ns, _SECOND)
    years = 0
    try:
        when = _local_time(seconds, zone)
    except OverflowError:
        # The local year may be outside Python's range. The calendar repeats, so shift it by 400 years.
        years = _CALENDAR_CYCLE_YEARS if seconds > 0 else -_CALENDAR_CYCLE_YEARS
        when = _local_time(seconds - years // _CALENDAR_CYCLE_YEARS * _CALENDAR_CYCLE, zone)
    if name == "milliseconds":
        return fraction // 10**6
    return _TIMESTAMP_PARTS[name](when) + (years if name == "year" else 0)


_TIMESTAMP_PARTS: dict[str, Callable[[datetime], int]] = {
    "year": lambda time: time.year,
    "month": lambda time: time.month - 1,
    "day_of_year": lambda time: time.timetuple().tm_yday - 1,
    "day_of_month": lambda time: time.day - 1,
    "day_of_month_1_based": lambda time: time.day,
    "day_of_week": lambda time: time.isoweekday() % 7,
    "hours": lambda time: time.hour,
    "minutes": lambda time: time.minute,
    "seconds": lambda time: time.second,
}


def _local_time(seconds: int, zone: str) -> datetime:
    if ":" in zone:
        return _EPOCH + timedelta(seconds=seconds, minutes=_offset_minutes(zone))
    return (_EPOCH + timedelta(seconds=seconds)).astimezone(_time_zone(zone))


def _time_zone(name: str) -> tzinfo:
    if name in ("UTC", "", "Local"):
        return UTC
    if ".." in name or name[0] in "/\\":
        raise EvalError("time: invalid location name")
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, KeyError):
        raise EvalError(f"unknown time zone {name}") from None


def _offset_minutes(zone: str) -> int:
    """Return the minutes of a UTC offset such as +02:30. As in cel-go, the offset may exceed a day."""
    hours, _, minutes = zone.partition(":")
    for number in (hours, minutes):
        if _is_integer(number) is None:
            raise EvalError(f"strconv.Atoi: parsing {go_quote(number)}: invalid syntax")
    return int(hours) * 60 + (-int(minutes) if zone[0] == "-" else int(minutes))


def duration_part(name: str, duration: Duration) -> int:
    """Return a duration in whole hours, minutes, seconds or milliseconds, truncated towards zero."""
    if name == "milliseconds":
        return _truncate(duration.ns, 10**6)
    return _truncate(duration.ns, {"hours": 3600, "minutes": 60, "seconds": 1}[name] * _SECOND)


def _truncate(value: int, unit: int) -> int:
    return value // unit if value >= 0 else -(-value // unit)
