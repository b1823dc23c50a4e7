"""Validation of CronJobs."""

from __future__ import annotations

import re

from polykind import errors
from polykind.apis.batch.cron_schedule import ScheduleError, check_schedule
from polykind.apis.batch.job_validation import validate_job_template
from polykind.apis.batch.time_zones import location_error
from polykind.apis.meta.field_validation import validate_nonnegative
from polykind.apis.meta.validation import supported_errors
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.golang.utf8 import byte_length

_MAX_NAME = 52
"""The maximum length of a CronJob's name. The names of its Jobs are 11 characters longer."""
_POLICIES = ("Allow", "Forbid", "Replace")
_is_zone_part = re.compile(r"[A-Za-z.\-_0-9+]{1,14}").fullmatch


def validate_cron_job_name(name: str) -> list[FieldError]:
    """Validate that the name of a CronJob leaves room for the suffix in the names of its Jobs."""
    if byte_length(name) <= _MAX_NAME:
        return []
    return [errors.invalid("metadata.name", name, f"must be no more than {_MAX_NAME} characters")]


def validate_cron_job_spec(spec: JsonObject, old: JsonObject | None) -> list[FieldError]:
    """Validate the spec of a CronJob. `old` is the stored spec of an update, None for a create."""
    schedule, zone = spec.get("schedule") or "", spec.get("timeZone")
    if schedule:
        found = _validate_schedule(schedule, zone, allows_zone=old is not None and "TZ" in old.get("schedule", ""))
    else:
        found = [errors.required("spec.schedule")]
    found += validate_nonnegative(spec.get("startingDeadlineSeconds"), "spec.startingDeadlineSeconds")
    if zone is not None and (old is None or old.get("timeZone") != zone):
        found += _validate_time_zone(zone, "spec.timeZone")
    found += supported_errors(spec["concurrencyPolicy"], "spec.concurrencyPolicy", _POLICIES)
    found += validate_job_template(spec["jobTemplate"], old and old["jobTemplate"], "spec.jobTemplate")
    found += validate_nonnegative(spec["successfulJobsHistoryLimit"], "spec.successfulJobsHistoryLimit")
    return found + validate_nonnegative(spec["failedJobsHistoryLimit"], "spec.failedJobsHistoryLimit")


def _validate_schedule(schedule: str, zone: str | None, *, allows_zone: bool) -> list[FieldError]:
    """Validate a schedule. `allows_zone` is true if the stored schedule of an update already contains a time zone."""
    found, at = [], "spec.schedule"
    try:
        check_schedule(schedule)
    except ScheduleError as error:
        found.append(errors.invalid(at, schedule, str(error)))
    if "TZ" not in schedule:
        return found
    if not allows_zone:
        text = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
        found.append(errors.invalid(at, schedule, text))
    elif zone is not None:
        text = "cannot use both timeZone field and TZ or CRON_TZ in schedule"
        found.append(errors.invalid(at, schedule, text))
    return found


def _validate_time_zone(zone: str, at: str) -> list[FieldError]:
    if not zone:
        return [errors.invalid(at, zone, "timeZone must be nil or non-empty string")]
    for part in zone.split("/"):
        if part in (".", "..") or part.startswith("-") or not _is_zone_part(part):
            return [errors.invalid(at, zone, f"unknown time zone {zone}")]
    found = []
    if zone.lower() == "local":
        text = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
        found.append(errors.invalid(at, zone, text))
    if error := location_error(zone):
        found.append(errors.invalid(at, zone, error))
    return found
