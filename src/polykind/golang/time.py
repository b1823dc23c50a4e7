"""Times as Go reads and writes them: RFC 3339 with its parse errors, and durations."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone

RFC3339 = "2006-01-02T15:04:05Z07:00"
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
_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_UNITS = frozenset(("ns", "us", "µs", "μs", "ms", "s", "m", "h"))
_duration_part = re.compile(r"(\d*)(?:\.(\d*))?([^0-9.]+)", re.ASCII).match
_NANOSECONDS = {"ns": 1, "us": 1e3, "µs": 1e3, "μs": 1e3, "ms": 1e6, "s": 1e9, "m": 60e9, "h": 3600e9}


def is_normalized_time(text: str) -> bool:
    """Whether the text is a time exactly as Kubernetes writes one, so that reading and writing it gives it back."""
    if len(text) != 20 or text[19] != "Z" or text[10] != "T" or text[4] != "-" or text[7] != "-":
        return False
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return text[13] == text[16] == ":" and text != "0001-01-01T00:00:00Z"


def normalize_time(text: str) -> str | None:
    """The time in UTC to the second, None for Go's zero time. Raises ValueError in Go's words."""
    parts = parse_time(text, RFC3339)
    year, month, day = int(parts[0]), int(parts[2]), int(parts[4])
    return _written(year, month, day, int(parts[6]), int(parts[8]), int(parts[10][:2]), parts[11])


def parse_time(text: str, layout: str) -> list[str]:
    """The parts of a time by RFC 3339, or a layout that ends before. Raises ValueError in Go's words."""
    parts: list[str] = []
    rest, left = text, layout
    for element, pattern in _ELEMENTS:
        if not left:
            break
        left = left[len(element) :]
        found = pattern.match(rest)
        if not found:
            raise ValueError(f'parsing time {_quote(text)} as "{layout}": cannot parse {_quote(rest)} as "{element}"')
        problem = _range_problem(element, found.group())
        if problem:
            raise ValueError(f"parsing time {_quote(text)}: {problem} out of range")
        parts.append(found.group())
        rest = rest[found.end() :]
    if rest:
        raise ValueError(f"parsing time {_quote(text)}: extra text: {_quote(rest)}")
    year, month, day = int(parts[0]), int(parts[2]), int(parts[4])
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    if not 1 <= day <= _DAYS[month - 1] + (month == 2 and leap):
        raise ValueError(f"parsing time {_quote(text)}: day out of range")
    return parts


def _written(year: int, month: int, day: int, hour: int, minute: int, second: int, zone: str) -> str | None:
    offset = timedelta()
    if zone != "Z":
        offset = timedelta(hours=int(zone[1:3]), minutes=int(zone[4:6])) * (-1 if zone[0] == "-" else 1)
    try:
        # A year of zero has no datetime; four hundred years later the calendar is the same.
        moved = datetime(year + 400, month, day, hour, minute, second, tzinfo=timezone(offset)).astimezone(UTC)
        when = moved.replace(year=moved.year - 400) if moved.year > 400 else None
    except (ValueError, OverflowError):
        return f"{year:04d}-{month:02d}-{day:02d}T{hour:02d}:{minute:02d}:{second:02d}Z"
    if when is None:
        return f"{moved.year - 400:04d}-{moved.strftime('%m-%dT%H:%M:%SZ')}"
    if when == datetime(1, 1, 1, tzinfo=UTC):
        return None
    return f"{when.year:04d}-{when.strftime('%m-%dT%H:%M:%SZ')}"


def _range_problem(element: str, text: str) -> str:
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


def _quote(text: str) -> str:
    """Go's time package quotes by itself: only quotes, backslashes and what is not printable ASCII are escaped."""
    out = []
    for char in text:
        if char in '"\\':
            out.append("\\" + char)
        elif char < " " or char >= "\x7f":
            out.extend(f"\\x{byte:02x}" for byte in char.encode("utf-8", "replace"))
        else:
            out.append(char)
    return f'"{"".join(out)}"'


def is_date(text: str) -> bool:
    """Whether the text is a day of the calendar: 2006-01-02."""
    if len(text) != 10 or text[4] != "-" or text[7] != "-":
        return False
    year, month, day = text[:4], text[5:7], text[8:]
    if not (year + month + day).isascii() or not (year + month + day).isdigit():
        return False
    if not 1 <= int(month) <= 12:
        return False
    leap = int(year) % 4 == 0 and (int(year) % 100 != 0 or int(year) % 400 == 0)
    return 1 <= int(day) <= _DAYS[int(month) - 1] + (month == "02" and leap)


def is_go_duration(text: str) -> bool:
    """Whether time.ParseDuration takes the text: 1h30m, -1.5s, 0."""
    rest = text[1:] if text[:1] in ("-", "+") and text[:1] else text
    if rest == "0":
        return True
    if not rest:
        return False
    total = 0.0
    while rest:
        part = _duration_part(rest)
        if not part or not (part[1] or part[2]) or part[3] not in _UNITS:
            return False
        total += float(f"{(part[1] or '0')[:400]}.{part[2] or '0'}") * _NANOSECONDS[part[3]]
        if total > 2**63:
            return False
        rest = rest[part.end() :]
    return True
