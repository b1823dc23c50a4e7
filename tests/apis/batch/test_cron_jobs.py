from __future__ import annotations

from typing import Any

import pytest

from polykind.apis.batch.types import CRON_JOB
from polykind.contract import JsonObject
from tests.support.strategies import StrategyRun, merged

CRON_JOBS = StrategyRun(CRON_JOB)
TEMPLATE: JsonObject = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
SPEC: JsonObject = {"schedule": "@hourly", "jobTemplate": {"spec": {"template": TEMPLATE}}}
NO_ZONE = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"


def spec(**fields: Any) -> JsonObject:
    return {"spec": merged(SPEC, fields)}


def test_defaults() -> None:
    stored = CRON_JOBS.created(spec())["spec"]
    assert stored["concurrencyPolicy"] == "Allow"
    assert (stored["successfulJobsHistoryLimit"], stored["failedJobsHistoryLimit"]) == (3, 1)
    assert "completions" not in stored["jobTemplate"]["spec"]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"timeZone": "Europe/Berlin"}, []),
        ({"schedule": None}, ["spec.schedule: Required value"]),
        ({"schedule": "x"}, ['spec.schedule: Invalid value: "x": expected exactly 5 fields, found 1: [x]']),
        ({"schedule": "TZ=UTC * * * * *"}, [f'spec.schedule: Invalid value: "TZ=UTC * * * * *": {NO_ZONE}']),
        ({"timeZone": "Mars/Base"}, ['spec.timeZone: Invalid value: "Mars/Base": unknown time zone Mars/Base']),
        ({"timeZone": "a//b"}, ['spec.timeZone: Invalid value: "a//b": unknown time zone a//b']),
        (
            {"timeZone": "Local"},
            [
                'spec.timeZone: Invalid value: "Local": '
                "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
            ],
        ),
        (
            {"concurrencyPolicy": "Odd"},
            ['spec.concurrencyPolicy: Unsupported value: "Odd": supported values: "Allow", "Forbid", "Replace"'],
        ),
        (
            {"jobTemplate": {"spec": {"selector": {}, "manualSelector": True}}},
            [
                "spec.jobTemplate.spec.selector: Invalid value: {}: `selector` will be auto-generated",
                'spec.jobTemplate.spec.manualSelector: Unsupported value: true: supported values: "nil", "false"',
            ],
        ),
    ],
)
def test_new_cron_job(fields: JsonObject, expected: list[str]) -> None:
    assert CRON_JOBS.create_errors(spec(**fields)) == expected


def test_name_leaves_room_for_the_names_of_jobs() -> None:
    name = "x" * 53
    assert CRON_JOBS.create_errors({**spec(), "metadata": {"name": name}}) == [
        f'metadata.name: Invalid value: "{name}": must be no more than 52 characters'
    ]
    stored = merged(CRON_JOBS.created(spec()), {"metadata": {"name": name}})
    assert CRON_JOBS.update_errors(stored, {"spec": {"suspend": True}}) == []


def test_old_schedules_may_keep_a_time_zone() -> None:
    zoned = "TZ=UTC * * * * *"
    stored = merged(CRON_JOBS.created(spec()), {"spec": {"schedule": zoned}})
    assert CRON_JOBS.update_errors(stored, {"spec": {"suspend": True}}) == []
    assert CRON_JOBS.update_errors(stored, {"spec": {"timeZone": "UTC"}}) == [
        f'spec.schedule: Invalid value: "{zoned}": cannot use both timeZone field and TZ or CRON_TZ in schedule'
    ]
    (warning,) = CRON_JOBS.strategy.warnings(stored, stored)
    assert warning.startswith("cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead")


def test_old_time_zones_stay_valid() -> None:
    stored = merged(CRON_JOBS.created(spec()), {"spec": {"timeZone": "Gone/Zone"}})
    assert CRON_JOBS.update_errors(stored, {"spec": {"suspend": True}}) == []
