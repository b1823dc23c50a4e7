"""Columns of `kubectl get` for the kinds of the batch group."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from polykind.apis.batch import types
from polykind.apis.machinery.columns import AGE, condition_of, container_columns, count, selector_at, since, value_at
from polykind.apis.machinery.kinds import Columns, Kind
from polykind.codec.table import Column, age
from polykind.contract import JsonObject


def _completions(job: JsonObject) -> str:
    succeeded, wanted = job["status"].get("succeeded", 0), job["spec"].get("completions")
    if wanted is not None:
        return f"{succeeded}/{wanted}"
    parallelism = job["spec"].get("parallelism", 0)
    return f"{succeeded}/1 of {parallelism}" if parallelism > 1 else f"{succeeded}/1"


def _duration(job: JsonObject, now: datetime) -> str:
    start, end = job["status"].get("startTime"), job["status"].get("completionTime")
    if not start:
        return ""
    return age(start, datetime.fromisoformat(end) if end else now)


def _status(job: JsonObject) -> str:
    def has(condition: str) -> bool:
        return (condition_of(job["status"].get("conditions"), condition) or {}).get("status") == "True"

    if final := next(filter(has, ("Complete", "Failed")), ""):
        return final
    if "deletionTimestamp" in job["metadata"]:
        return "Terminating"
    return next(filter(has, ("Suspended", "FailureTarget", "SuccessCriteriaMet")), "Running")


JOB = (
    Column("Status", "string", "The state of the job in short", _status),
    Column("Completions", "string", "The number of succeeded pods and of wanted pods", _completions),
    Column("Duration", "string", "The time that the job has taken", at_time=_duration),
    AGE,
    *container_columns("spec", "template"),
    Column("Selector", "string", "The labels of the pods of the job", selector_at("spec", "selector"), priority=1),
)


def _suspended(obj: JsonObject) -> str:
    return {None: "<unset>", True: "True", False: "False"}[obj["spec"].get("suspend")]


CRON_JOB = (
    Column("Schedule", "string", "The schedule in cron's syntax", value_at("spec", "schedule", default="")),
    Column("Timezone", "string", "The time zone of the schedule", value_at("spec", "timeZone", default="<none>")),
    Column("Suspend", "boolean", "True if no jobs are started", _suspended),
    Column("Active", "integer", "The number of running jobs", count("status.active")),
    Column(
        "Last Schedule",
        "string",
        "The time since the last job was started",
        at_time=since("status", "lastScheduleTime", default="<none>"),
    ),
    AGE,
    *container_columns("spec", "jobTemplate", "spec", "template"),
    Column(
        "Selector",
        "string",
        "The labels of the pods of the jobs",
        selector_at("spec", "jobTemplate", "spec", "selector"),
        priority=1,
    ),
)

COLUMNS: Mapping[Kind, Columns] = {
    types.JOB: JOB,
    types.CRON_JOB: CRON_JOB,
}
