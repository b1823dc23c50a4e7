"""Dates in HTTP headers (RFC 9110, section 5.6.7)."""

from __future__ import annotations

from time import gmtime

_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def format_http_date(seconds: float) -> bytes:
    """Format a Unix time for a header. strftime would use the names of days and months of the process's locale."""
    year, month, day, hour, minute, second, weekday = gmtime(seconds)[:7]
    date = f"{_DAYS[weekday]}, {day:02d} {_MONTHS[month - 1]} {year:04d}"
    return f"{date} {hour:02d}:{minute:02d}:{second:02d} GMT".encode()


def parse_http_date(date: str) -> int | None:
    """Parse an HTTP date into a Unix time. Return None if it is malformed."""
    # Few requests have such a header, and the module takes longer to import than the rest of this package.
    from email.utils import parsedate_to_datetime

    try:
        return int(parsedate_to_datetime(date).timestamp())
    except (ValueError, OverflowError):
        return None
