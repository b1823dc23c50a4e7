"""Lists of indexes of an Indexed Job, such as 1,3-5,7."""

from __future__ import annotations

from typing import NamedTuple

from polykind.golang.fmt import go_quote
from polykind.golang.strconv import parse_int64


class IndexesError(ValueError):
    """A list of indexes that cannot be parsed."""


class _Interval(NamedTuple):
    """The first and the last index of an interval."""

    first: int
    last: int


def count_indexes(text: str, completions: int) -> int:
    """Return the number of indexes in a list such as 1,3-5,7. `completions` is one more than the highest valid index.

    Raise IndexesError if the list is invalid or not in increasing order.
    """
    total, previous = 0, None
    for part in text.split(",") if text else ():
        interval = _parse_interval(part, completions)
        if previous is not None and previous >= interval.first:
            raise IndexesError(f"non-increasing order, previous: {previous}, current: {interval.first}")
        total += interval.last - interval.first + 1
        previous = interval.last
    return total


def overlapping_index(completed: str, failed: str, completions: int) -> int | None:
    """Return the first index that is in both lists. Return None if there is no such index.

    Invalid intervals in the lists are ignored.
    """
    completed_intervals = _valid_intervals(completed, completions)
    failed_intervals = _valid_intervals(failed, completions)
    while completed_intervals and failed_intervals:
        one, other = completed_intervals[0], failed_intervals[0]
        if one.first <= other.last and other.first <= one.last:
            return max(one.first, other.first)
        (completed_intervals if one.first <= other.first else failed_intervals).pop(0)
    return None


def _valid_intervals(text: str, completions: int) -> list[_Interval]:
    found = []
    for part in text.split(",") if text else ():
        try:
            found.append(_parse_interval(part, completions))
        except IndexesError:
            continue
    return found


def _parse_interval(text: str, completions: int) -> _Interval:
    limits = text.split("-")
    if len(limits) > 2:
        raise IndexesError(
            f"the fragment {go_quote(text)} violates the requirement that an index interval can have "
            "at most two parts separated by '-'"
        )
    first = _parse_index(limits[0], completions)
    if len(limits) == 1:
        return _Interval(first, first)
    last = _parse_index(limits[1], completions)
    if first >= last:
        raise IndexesError(f"non-increasing order, previous: {first}, current: {last}")
    return _Interval(first, last)


def _parse_index(text: str, completions: int) -> int:
    index = parse_int64(text)
    if index is None:
        raise IndexesError(f"cannot convert string to integer for index: {go_quote(text)}")
    if index >= completions:
        raise IndexesError(f"too large index: {go_quote(text)}")
    return index
