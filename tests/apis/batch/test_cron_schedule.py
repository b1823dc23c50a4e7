from __future__ import annotations

import pytest

from polykind.apis.batch.cron_schedule import ScheduleError, check_schedule
from polykind.apis.batch.time_zones import location_error, time_zones


@pytest.mark.parametrize(
    "schedule",
    [
        "* * * * *",
        "0 0 1 1 ?",
        "*/5 0-23/2 1,15 JAN-mar mon-FRI",
        "5/15 * * * *",
        "0 0 * * 0",
        ", * * * *",
        "*-3 * * * *",
        "@hourly",
        "@every 1h30m",
        "TZ=UTC 0 * * * *",
        "CRON_TZ=Asia/Tokyo @daily",
        "TZ= 0 * * * *",
    ],
)
def test_valid_schedules(schedule: str) -> None:
    check_schedule(schedule)


@pytest.mark.parametrize(
    ("schedule", "message"),
    [
        ("", "expected exactly 5 fields, found 0: []"),
        ("* * * *", "expected exactly 5 fields, found 4: [* * * *]"),
        ("60 * * * *", "end of range (60) above maximum (59): 60"),
        ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
        ("5-1 * * * *", "beginning of range (5) beyond end of range (1): 5-1"),
        ("*/0 * * * *", "step of range should be a positive number: */0"),
        ("1-2-3 * * * *", "too many hyphens: 1-2-3"),
        ("1/2/3 * * * *", "too many slashes: 1/2/3"),
        ("*/-5 * * * *", "negative number (-5) not allowed: -5"),
        ("x * * * *", 'failed to parse int from x: strconv.Atoi: parsing "x": invalid syntax'),
        ("\u0663 * * * *", 'failed to parse int from \u0663: strconv.Atoi: parsing "\u0663": invalid syntax'),
        ("5- * * * *", 'failed to parse int from : strconv.Atoi: parsing "": invalid syntax'),
        (
            f"{'9' * 20} * * * *",
            f'failed to parse int from {"9" * 20}: strconv.Atoi: parsing "{"9" * 20}": value out of range',
        ),
        ("* * * * jan", 'failed to parse int from jan: strconv.Atoi: parsing "jan": invalid syntax'),
        ("@never", "unrecognized descriptor: @never"),
        ("@every x", 'failed to parse duration @every x: time: invalid duration "x"'),
        ("TZ=Mars/Base * * * * *", "provided bad location Mars/Base: unknown time zone Mars/Base"),
        ("TZ=UTC", "invalid schedule format: runtime error: slice bounds out of range [:-1]"),
        ("TZ=UTC ", "expected exactly 5 fields, found 0: []"),
    ],
)
def test_invalid_schedules(schedule: str, message: str) -> None:
    with pytest.raises(ScheduleError) as raised:
        check_schedule(schedule)
    assert str(raised.value) == message


def test_time_zones() -> None:
    assert {"UTC", "Europe/Berlin", "America/Argentina/Salta", "Etc/GMT+1", "EST5EDT"} <= time_zones()


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("Asia/Tokyo", ""),
        ("Local", ""),
        ("local", "unknown time zone local"),
        ("America", "is a directory"),
        ("../etc", "time: invalid location name"),
        ("/etc", "time: invalid location name"),
    ],
)
def test_location_errors(name: str, error: str) -> None:
    assert location_error(name) == error
