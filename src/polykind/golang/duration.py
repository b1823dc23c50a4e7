"""Durations: parsed and formatted as in Go, and printed like ages in kubectl's tables."""

from __future__ import annotations

import re

from polykind.golang.fmt import go_float
from polykind.golang.strconv import MAX_INT64
from polykind.golang.time import quote_for_error

_NANOSECONDS = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "μs": 1_000,
    "ms": 1_000_000,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
_component = re.compile(r"([0-9]*)\.?([0-9]*)([^0-9.]*)").match
_MAX_MAGNITUDE = 1 << 63
"""The maximum absolute value of a duration in nanoseconds. Only a negative duration can reach it."""


def parse_duration(text: str) -> int:
    """Return the nanoseconds of a duration such as 1m30.5s. Raise ValueError with Go's message if it is invalid."""
    start = 1 if text[:1] in ("+", "-") else 0
    if text[start:] == "0":
        return 0
    if start == len(text):
        raise _invalid_duration(text)
    total, at, end = 0, start, len(text)
    while at < end:
        span, at = _component_at(text, at)
        total += span
        if total > _MAX_MAGNITUDE:
            raise _invalid_duration(text)
    if text[0] == "-":
        return -total
    if total > MAX_INT64:
        raise _invalid_duration(text)
    return total


def _component_at(text: str, at: int) -> tuple[int, int]:
    """Return the nanoseconds of the component of a duration that begins at `at`, and the position after it."""
    component = _component(text, at)
    if component is None or not (component[1] or component[2]):
        raise _invalid_duration(text)
    whole, fraction, unit = component.groups()
    digits = whole.lstrip("0")
    if int(digits[:21] or 0) > _MAX_MAGNITUDE:
        raise _invalid_duration(text)
    if not unit:
        raise ValueError(f"time: missing unit in duration {quote_for_error(text)}")
    nanoseconds = _NANOSECONDS.get(unit)
    if nanoseconds is None:
        raise ValueError(f"time: unknown unit {quote_for_error(unit)} in duration {quote_for_error(text)}")
    # Compute fractions in float64, which rounds as Go does.
    part = int(float(fraction[:18] or 0) * (nanoseconds / 10 ** len(fraction[:18])))
    return int(digits or 0) * nanoseconds + part, component.end()


def _invalid_duration(text: str) -> ValueError:
    return ValueError(f"time: invalid duration {quote_for_error(text)}")


def format_duration(nanoseconds: int) -> str:
    """Format a duration as Go's Duration.String() does, such as 1m30.5s."""
    for unit, name in ((1, "ns"), (10**3, "µs"), (10**6, "ms")):
        if abs(nanoseconds) < unit * 1000:
            return "0s" if not nanoseconds else f"{go_float(nanoseconds / unit)}{name}"
    minutes, rest = divmod(abs(nanoseconds), 60 * 10**9)
    seconds = f"{rest // 10**9}.{rest % 10**9:09d}".rstrip("0").rstrip(".")
    hours, minutes = divmod(minutes, 60)
    larger_units = f"{hours}h{minutes}m" if hours else f"{minutes}m" if minutes else ""
    return f"{'-' if nanoseconds < 0 else ''}{larger_units}{seconds}s"


def is_duration(text: str) -> bool:
    """True if time.ParseDuration accepts the text."""
    try:
        parse_duration(text)
    except ValueError:
        return False
    return True


def human_duration(span: float) -> str:
    """Format a number of seconds as apimachinery's HumanDuration does, such as 5m30s or 3d, at most 292 years."""
    seconds = int(min(span, MAX_INT64 // 10**9))
    if seconds < -1:
        return "<invalid>"
    if seconds < 0:
        return "0s"
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86400
    years = days // 365
    if seconds < 120:
        return f"{seconds}s"
    if minutes < 10:
        return _two_units(minutes, "m", seconds % 60, "s")
    if minutes < 180:
        return f"{minutes}m"
    if hours < 8:
        return _two_units(hours, "h", minutes % 60, "m")
    if hours < 48:
        return f"{hours}h"
    if hours < 192:
        return _two_units(days, "d", hours % 24, "h")
    if days < 730:
        return f"{days}d"
    if years < 8:
        return _two_units(years, "y", days % 365, "d")
    return f"{years}y"


def _two_units(large: int, large_unit: str, small: int, small_unit: str) -> str:
    return f"{large}{large_unit}{small}{small_unit}" if small else f"{large}{large_unit}"
