"""Spans of time: as tables show them (5m30s, 3d), and as Go's time.ParseDuration reads them."""

from __future__ import annotations

import re

_UNITS = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "μs": 1_000,
    "ms": 1_000_000,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
_part = re.compile(r"([0-9]*)(\.?)([0-9]*)([^0-9.]*)").match
_LONGEST = (1 << 63) - 1
_FURTHEST = 1 << 63
"""What may be counted before the sign is looked at: backwards there is one nanosecond more."""


def human_duration(span: float) -> str:
    """A span in seconds with at most two units, the coarser the longer it is; at most 292 years, as Go counts."""
    seconds = int(min(span, _LONGEST // 10**9))
    if seconds < -1:
        return "<invalid>"
    if seconds < 0:
        return "0s"
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86400
    years = days // 365
    if seconds < 120:
        return f"{seconds}s"
    if minutes < 10:
        return _two(minutes, "m", seconds % 60, "s")
    if minutes < 180:
        return f"{minutes}m"
    if hours < 8:
        return _two(hours, "h", minutes % 60, "m")
    if hours < 48:
        return f"{hours}h"
    if hours < 192:
        return _two(days, "d", hours % 24, "h")
    if days < 730:
        return f"{days}d"
    if years < 8:
        return _two(years, "y", days % 365, "d")
    return f"{years}y"


def _two(large: int, unit: str, small: int, fraction: str) -> str:
    return f"{large}{unit}{small}{fraction}" if small else f"{large}{unit}"


def parse_duration(text: str) -> int:
    """The nanoseconds that a text such as 1m30.5s means. Raises ValueError in Go's words."""
    quoted = _quoted(text)
    rest = text[1:] if text[:1] in ("+", "-") else text
    if rest == "0":
        return 0
    if not rest:
        raise ValueError(f"time: invalid duration {quoted}")
    total = 0
    while rest:
        found = _part(rest)
        if found is None or not (found[1] or found[3]):
            raise ValueError(f"time: invalid duration {quoted}")
        whole, _, fraction, unit = found.groups()
        if int(whole[:21] or 0) > _FURTHEST:
            raise ValueError(f"time: invalid duration {quoted}")
        if not unit:
            raise ValueError(f"time: missing unit in duration {quoted}")
        if unit not in _UNITS:
            raise ValueError(f"time: unknown unit {_quoted(unit)} in duration {quoted}")
        total += int(whole or 0) * _UNITS[unit]
        total += int(int(fraction[:18] or 0) * _UNITS[unit] / 10 ** len(fraction[:18]))
        rest = rest[found.end() :]
        if total > _FURTHEST:
            raise ValueError(f"time: invalid duration {quoted}")
    if text[0] == "-":
        return -total
    if total > _LONGEST:
        raise ValueError(f"time: invalid duration {quoted}")
    return total


def _quoted(text: str) -> str:
    """As Go's time package quotes, which writes all but ASCII byte by byte."""
    shown = (
        f"\\x{b:02x}" if b < 0x20 or b >= 0x80 else f"\\{chr(b)}" if b in b'"\\' else chr(b)
        for b in text.encode(errors="replace")
    )
    return f'"{"".join(shown)}"'
