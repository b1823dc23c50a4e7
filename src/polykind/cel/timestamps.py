"""Times and durations as expressions read, write and take them apart."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, tzinfo
from decimal import Decimal
from zoneinfo import ZoneInfo

from polykind.cel.evaluation_errors import EvalError
from polykind.cel.runtime_values import Duration, Timestamp
from polykind.golang import time as gotime
from polykind.golang.duration import parse_duration as parse_nanoseconds
from polykind.golang.fmt import go_quote

_SECOND = 10**9
_WORDS = (
    (1, ("ns", "nano")),
    (1000, ("us", "µs", "micro")),
    (10**6, ("ms", "milli")),
    (_SECOND, ("s", "sec")),
    (60 * _SECOND, ("m", "min")),
    (3600 * _SECOND, ("h", "hr", "hour")),
    (24 * 3600 * _SECOND, ("d", "day")),
    (7 * 24 * 3600 * _SECOND, ("w", "wk", "week")),
)
_ERA_YEARS = 400
_ERA = 146097 * 86400
"""The seconds after which dates, and the days of the week with them, come again."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EARLIEST = -62135596800
_LATEST = 253402300799
_spoken = re.compile(r"(\d+)[\t\n\f\r ]*([A-Za-zµ]+)", re.ASCII).findall
_whole = re.compile(r"[+-]?\d+", re.ASCII).fullmatch


def parse_rfc3339(text: str) -> Timestamp | None:
    """Parse a time as Go does. Return None if the text is not a time of the years 1 to 9999."""
    try:
        time = gotime.parse_rfc3339(text)
    except ValueError:
        return None
    return None if text.startswith("0000") else Timestamp(time.seconds * _SECOND + time.nanoseconds, time.offset)


def parse_timestamp(text: str) -> Timestamp:
    found = parse_rfc3339(text)
    if found is None:
        raise EvalError("type conversion error from 'string' to 'google.protobuf.Timestamp'")
    return check_range(found)


def check_range(time: Timestamp) -> Timestamp:
    if not _EARLIEST <= time.ns // _SECOND <= _LATEST:
        raise EvalError("timestamp overflow")
    return time


def parse_go_duration(text: str) -> int | None:
    """Return the nanoseconds of a duration such as 1h30m. Return None if the text is not a duration."""
    try:
        return parse_nanoseconds(text)
    except ValueError:
        return None


def parse_duration_format(text: str) -> int | None:
    """What the format duration accepts: Go's, and texts such as `3 days`."""
    found = parse_go_duration(text)
    if found is not None:
        return found
    total: int | None = None
    for number, word in _spoken(text):
        unit = word.lower()
        for factor, names in _WORDS:
            if unit in names or unit.startswith(names[-1]):
                total = (total or 0) + int(number[:19]) * factor
    return None if total is None else (total + 2**63) % 2**64 - 2**63


def parse_duration(text: str) -> Duration:
    found = parse_go_duration(text)
    if found is None:
        raise EvalError("type conversion error from 'string' to 'google.protobuf.Duration'")
    return Duration(found)


def format_duration(duration: Duration) -> str:
    """Seconds, as 5400s."""
    seconds = format(Decimal(repr(duration.ns / _SECOND)), "f")
    return f"{seconds.rstrip('0').rstrip('.') if '.' in seconds else seconds}s"


def format_timestamp(time: Timestamp) -> str:
    """RFC 3339 with as many digits below the second as there are, at the offset the time was written with."""
    seconds, fraction = divmod(time.ns, _SECOND)
    when = _EPOCH + timedelta(seconds=seconds + time.offset)
    digits = f".{fraction:09d}".rstrip("0") if fraction else ""
    sign = "-" if time.offset < 0 else "+"
    hours, minutes = divmod(abs(time.offset) // 60, 60)
    zone = f"{sign}{hours:02d}:{minutes:02d}" if time.offset else "Z"
    return f"{when.year:04d}-{when.strftime('%m-%dT%H:%M:%S')}{digits}{zone}"


def timestamp_part(time: Timestamp, name: str, zone: str = "UTC") -> int:
    """One part of a time on the calendar of a zone."""
    seconds, fraction = divmod(time.ns, _SECOND)
    years = 0
    try:
        when = _local(seconds, zone)
    except OverflowError:
        # A zone can lead beyond the years that there are here; the calendar repeats itself.
        years = _ERA_YEARS if seconds > 0 else -_ERA_YEARS
        when = _local(seconds - years // _ERA_YEARS * _ERA, zone)
    match name:
        case "year":
            return when.year + years
        case "month":
            return when.month - 1
        case "day_of_year":
            return when.timetuple().tm_yday - 1
        case "day_of_month":
            return when.day - 1
        case "day_of_month_1_based":
            return when.day
        case "day_of_week":
            return when.isoweekday() % 7
        case "hours":
            return when.hour
        case "minutes":
            return when.minute
        case "seconds":
            return when.second
        case _:
            return fraction // 10**6


def _local(seconds: int, zone: str) -> datetime:
    if ":" in zone:
        return _EPOCH + timedelta(seconds=seconds, minutes=_minutes_east(zone))
    return (_EPOCH + timedelta(seconds=seconds)).astimezone(_zone(zone))


def _zone(name: str) -> tzinfo:
    if name in ("UTC", "", "Local"):
        return UTC
    if ".." in name or name[0] in "/\\":
        raise EvalError("time: invalid location name")
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, KeyError):
        raise EvalError(f"unknown time zone {name}") from None


def _minutes_east(zone: str) -> int:
    """How far a zone written as hours and minutes is from UTC, be it more than a day."""
    hours, _, minutes = zone.partition(":")
    for part_ in (hours, minutes):
        if _whole(part_) is None:
            raise EvalError(f"strconv.Atoi: parsing {go_quote(part_)}: invalid syntax")
    east = int(minutes)
    return int(hours) * 60 + (-east if zone[0] == "-" else east)


def duration_part(duration: Duration, name: str) -> int:
    """Whole hours, minutes, seconds or milliseconds, cut towards zero."""
    if name == "milliseconds":
        return _cut(duration.ns, 10**6)
    return _cut(duration.ns, {"hours": 3600, "minutes": 60, "seconds": 1}[name] * _SECOND)


def _cut(value: int, unit: int) -> int:
    return value // unit if value >= 0 else -(-value // unit)
