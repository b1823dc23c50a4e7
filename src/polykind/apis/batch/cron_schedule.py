"""The syntax of a CronJob's schedule, with the messages of the Go library robfig/cron that kube-apiserver uses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from polykind.apis.batch.time_zones import location_error
from polykind.golang.duration import parse_duration
from polykind.golang.fmt import go_quote
from polykind.golang.strconv import parse_error, parse_int64

_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_DAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
_DESCRIPTORS = ("@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly")
_EVERY = "@every "


class ScheduleError(ValueError):
    """A schedule that cannot be parsed."""


class _Bounds(NamedTuple):
    """The lowest and the highest value of one field of a schedule, and the names of values, such as `jan`."""

    low: int
    high: int
    names: Mapping[str, int]


_FIELDS = (
    _Bounds(0, 59, {}),
    _Bounds(0, 23, {}),
    _Bounds(1, 31, {}),
    _Bounds(1, 12, {name: number for number, name in enumerate(_MONTHS, 1)}),
    _Bounds(0, 6, {name: number for number, name in enumerate(_DAYS)}),
)
"""The bounds of the fields of a schedule: minute, hour, day of the month, month, day of the week."""


def check_schedule(schedule: str) -> None:
    """Raise ScheduleError if a schedule is invalid."""
    if schedule.startswith(("TZ=", "CRON_TZ=")):
        schedule = _without_time_zone(schedule)
    if schedule.startswith("@"):
        _check_descriptor(schedule)
        return
    fields = schedule.split()
    if len(fields) != len(_FIELDS):
        count = len(_FIELDS)
        raise ScheduleError(f"expected exactly {count} fields, found {len(fields)}: [{' '.join(fields)}]")
    for field, bounds in zip(fields, _FIELDS, strict=True):
        for expression in filter(None, field.split(",")):
            _check_range(expression, bounds)


def _without_time_zone(schedule: str) -> str:
    """Return a schedule without the time zone at its start. Raise ScheduleError if the time zone is invalid."""
    assignment, space, rest = schedule.partition(" ")
    if not space:
        # The Go library panics on such a schedule, and kube-apiserver reports the panic as this error.
        raise ScheduleError("invalid schedule format: runtime error: slice bounds out of range [:-1]")
    zone = assignment.partition("=")[2]
    if error := location_error(zone):
        raise ScheduleError(f"provided bad location {zone}: {error}")
    return rest.strip()


def _check_descriptor(descriptor: str) -> None:
    if descriptor in _DESCRIPTORS:
        return
    if not descriptor.startswith(_EVERY):
        raise ScheduleError(f"unrecognized descriptor: {descriptor}")
    try:
        parse_duration(descriptor.removeprefix(_EVERY))
    except ValueError as error:
        raise ScheduleError(f"failed to parse duration {descriptor}: {error}") from None


def _check_range(expression: str, bounds: _Bounds) -> None:
    """Raise ScheduleError if an expression is not a value, a range or `*`, with an optional step, such as 0-30/5."""
    limits, *steps = expression.split("/")
    first, *others = limits.split("-")
    if first in ("*", "?"):
        start, end = bounds.low, bounds.high
    else:
        start = end = _value(first, bounds)
        if len(others) == 1:
            end = _value(others[0], bounds)
        elif others:
            raise ScheduleError(f"too many hyphens: {expression}")
    if len(steps) > 1:
        raise ScheduleError(f"too many slashes: {expression}")
    step = _integer(steps[0]) if steps else 1
    if steps and not others:
        end = bounds.high
    if start < bounds.low:
        raise ScheduleError(f"beginning of range ({start}) below minimum ({bounds.low}): {expression}")
    if end > bounds.high:
        raise ScheduleError(f"end of range ({end}) above maximum ({bounds.high}): {expression}")
    if start > end:
        raise ScheduleError(f"beginning of range ({start}) beyond end of range ({end}): {expression}")
    if step == 0:
        raise ScheduleError(f"step of range should be a positive number: {expression}")


def _value(text: str, bounds: _Bounds) -> int:
    named = bounds.names.get(text.lower())
    return _integer(text) if named is None else named


def _integer(text: str) -> int:
    number = parse_int64(text)
    if number is None:
        reason = f"strconv.Atoi: parsing {go_quote(text)}: {parse_error(text)}"
        raise ScheduleError(f"failed to parse int from {text}: {reason}")
    if number < 0:
        raise ScheduleError(f"negative number ({number}) not allowed: {text}")
    return number
