"""Validation of the status of Jobs. Rules about a field apply only if an update changes the field."""

from __future__ import annotations

from collections.abc import Iterator

from polykind import errors
from polykind.apis.batch.job_indexes import IndexesError, count_indexes, overlapping_index
from polykind.apis.batch.job_validation import is_indexed
from polykind.apis.batch.types import BATCH_V1
from polykind.apis.machinery.internal_types import show_internal, show_json
from polykind.apis.meta.field_validation import validate_nonnegative_fields
from polykind.contract import JsonObject
from polykind.errors import OMITTED, FieldError

_TERMINAL_CONDITIONS = ("Failed", "Complete", "FailureTarget")


def has_condition(status: JsonObject, type_: str, value: str = "True") -> bool:
    """True if the status has a condition of the given type whose `status` is `value`."""
    return any(c.get("type") == type_ and c.get("status") == value for c in status.get("conditions") or ())


def validate_job_status(job: JsonObject, old: JsonObject) -> list[FieldError]:
    """Validate the new status of a Job."""
    return list(_StatusUpdate(job, old).errors())


class _StatusUpdate:
    """The validation of an update of a Job's status. `new` and `old` are the status after and before the update."""

    def __init__(self, job: JsonObject, old: JsonObject) -> None:
        self.spec: JsonObject = job["spec"]
        self.new: JsonObject = job.get("status") or {}
        self.old: JsonObject = old.get("status") or {}
        self.complete = has_condition(self.new, "Complete")
        self.failed = has_condition(self.new, "Failed")
        self.failing = has_condition(self.new, "FailureTarget")
        self.success = has_condition(self.new, "SuccessCriteriaMet")
        self.finished = self.complete or self.failed

    def errors(self) -> Iterator[FieldError]:
        """Return the errors in kube-apiserver's order."""
        yield from validate_nonnegative_fields(
            self.new, ("active", "succeeded", "failed", "ready", "terminating"), "status"
        )
        yield from self._uncounted_pods()
        yield from self._completion()
        yield from self._finished_job()
        yield from self._indexes()
        yield from self._pod_counts()
        yield from self._success_criteria()
        yield from self._transitions()

    def _changed(self, *fields: str) -> bool:
        return any(self.new.get(name) != self.old.get(name) for name in fields)

    def _condition_changed(self, *types: str) -> bool:
        return any(has_condition(self.new, type_) != has_condition(self.old, type_) for type_ in types)

    @property
    def _finished_changed(self) -> bool:
        before = has_condition(self.old, "Complete") or has_condition(self.old, "Failed")
        return self.finished != before

    @staticmethod
    def _conditions_error(text: str) -> FieldError:
        return errors.invalid("status.conditions", OMITTED, text)

    def _uncounted_pods(self) -> Iterator[FieldError]:
        pods = self.new.get("uncountedTerminatedPods") or {}
        known: set[str] = set()
        for field in ("succeeded", "failed"):
            for index, uid in enumerate(pods.get(field) or ()):
                at = f"status.uncountedTerminatedPods.{field}[{index}]"
                # In Go, a uid has its own string type. Error messages show values of such types as JSON.
                if not uid:
                    yield errors.invalid(at, show_json(uid), "must not be empty")
                elif uid in known:
                    yield errors.duplicate(at, show_json(uid))
                known.add(uid)

    def _completion(self) -> Iterator[FieldError]:
        """Validate the conditions of a finished Job, and the time of its completion."""
        time, start = self.new.get("completionTime"), self.new.get("startTime")
        for other, is_set in (("Failed", self.failed), ("FailureTarget", self.failing)):
            if self.complete and is_set and self._condition_changed("Complete", other):
                yield self._conditions_error(f"cannot set Complete=True and {other}=true conditions")
        if self._condition_changed("Complete") or self._changed("completionTime"):
            if time is not None and not self.complete:
                text = "cannot set completionTime when there is no Complete=True condition"
                yield errors.invalid("status.completionTime", time, text)
            if time is None and self.complete:
                yield errors.required("status.completionTime", "completionTime is required for Complete jobs")
        if start is not None and time is not None and time < start and self._changed("startTime", "completionTime"):
            yield errors.invalid("status.completionTime", time, "must be equal to or after `startTime`")
        yield from self._interim_conditions()

    def _interim_conditions(self) -> Iterator[FieldError]:
        """Validate that a finished Job has the condition that announces its end."""
        if self.failed and not self.failing and (self._condition_changed("Failed") or self._changed("failedIndexes")):
            yield self._conditions_error("cannot set Failed=True condition without the FailureTarget=true condition")
        if self.complete and not self.success and self._condition_changed("Complete", "SuccessCriteriaMet"):
            text = "cannot set Complete=True condition without the SuccessCriteriaMet=true condition"
            yield self._conditions_error(text)

    def _finished_job(self) -> Iterator[FieldError]:
        """Validate that a finished Job has a start time, no active pods and no uncounted pods."""
        if not self.finished:
            return
        active, uncounted = self.new.get("active", 0), self.new.get("uncountedTerminatedPods") or {}
        if active > 0 and (self._finished_changed or self._changed("active")):
            yield errors.invalid("status.active", active, "active>0 is invalid for finished job")
        is_empty = bool(self.spec.get("suspend")) and self.spec.get("completions") == 0
        if "startTime" not in self.new and not is_empty and (self._finished_changed or self._changed("startTime")):
            yield errors.required("status.startTime", "startTime is required for finished job")
        has_uncounted = any(uncounted.values())
        if has_uncounted and (self._finished_changed or self._changed("uncountedTerminatedPods")):
            shown = show_internal(BATCH_V1.struct("UncountedTerminatedPods"), uncounted)
            yield errors.invalid("status.uncountedTerminatedPods", shown, "must be empty for finished job")

    def _indexes(self) -> Iterator[FieldError]:
        """Validate the lists of completed and of failed indexes."""
        completed, failed = self.new.get("completedIndexes", ""), self.new.get("failedIndexes")
        completions = self.spec.get("completions")
        completed_changed, failed_changed = self._changed("completedIndexes"), self._changed("failedIndexes")
        has_limit = "backoffLimitPerIndex" in self.spec
        if completed_changed and completions is not None:
            yield from _parse_errors("completedIndexes", completed, completions)
        if failed_changed and completions is not None and has_limit and failed is not None:
            yield from _parse_errors("failedIndexes", failed, completions)
        if completed_changed and completed and not is_indexed(self.spec):
            text = "cannot set non-empty completedIndexes when non-indexed completion mode"
            yield errors.invalid("status.completedIndexes", completed, text)
        if failed_changed and not has_limit and failed is not None:
            text = "cannot set non-null failedIndexes when backoffLimitPerIndex is null"
            yield errors.invalid("status.failedIndexes", failed, text)
        if failed_changed or completed_changed:
            yield from self._overlap()

    def _overlap(self) -> Iterator[FieldError]:
        """Validate that no index is both completed and failed."""
        completed, failed = self.new.get("completedIndexes", ""), self.new.get("failedIndexes")
        completions = self.spec.get("completions")
        if completions is None or failed is None:
            return
        overlap = overlapping_index(completed, failed, completions)
        if overlap is not None:
            text = f"failedIndexes and completedIndexes overlap at index: {overlap}"
            yield errors.invalid("status.failedIndexes", failed, text)

    def _pod_counts(self) -> Iterator[FieldError]:
        terminating, ready = self.new.get("terminating", 0), self.new.get("ready", 0)
        if terminating > 0 and self.finished and (self._finished_changed or self._changed("terminating")):
            yield errors.invalid("status.terminating", terminating, "terminating>0 is invalid for finished job")
        if "ready" in self.new and ready > self.new.get("active", 0) and self._changed("ready", "active"):
            yield errors.invalid("status.ready", ready, "cannot set more ready pods than active")

    def _success_criteria(self) -> Iterator[FieldError]:
        if self.success and self.failed:
            yield self._conditions_error("cannot set SuccessCriteriaMet=True and Failed=true conditions")
        if self.success and self.failing:
            yield self._conditions_error("cannot set SuccessCriteriaMet=True and FailureTarget=true conditions")
        if "successPolicy" in self.spec and not self.success and self.complete:
            text = "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True"
            yield self._conditions_error(text)

    def _transitions(self) -> Iterator[FieldError]:
        """Validate that an update does not decrease counters, change fixed times or remove final conditions."""
        new, old, spec = self.new, self.old, self.spec
        for type_ in _TERMINAL_CONDITIONS:
            if has_condition(old, type_) and not has_condition(new, type_):
                yield self._conditions_error(f"cannot disable the terminal {type_}=True condition")
        if new.get("failed", 0) < old.get("failed", 0):
            yield errors.invalid("status.failed", new.get("failed", 0), "cannot decrease the failed counter")
        is_elastic = is_indexed(spec) and spec.get("completions") == spec.get("parallelism")
        if new.get("succeeded", 0) < old.get("succeeded", 0) and not is_elastic:
            yield errors.invalid("status.succeeded", new.get("succeeded", 0), "cannot decrease the succeeded counter")
        yield from self._time_changes()
        if has_condition(old, "SuccessCriteriaMet") and not self.success:
            yield self._conditions_error("cannot disable the SuccessCriteriaMet=True condition")
        if has_condition(old, "Complete") and not has_condition(old, "SuccessCriteriaMet") and self.success:
            text = "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions"
            yield self._conditions_error(text)

    def _time_changes(self) -> Iterator[FieldError]:
        """Validate that an update changes the times of a Job only while the Job is suspended."""
        new, old = self.new, self.old
        if "completionTime" in new and "completionTime" in old and self._changed("completionTime"):
            yield errors.invalid("status.completionTime", new["completionTime"], "field is immutable")
        resumes = has_condition(old, "Suspended") and has_condition(new, "Suspended", "False")
        if "startTime" in old and self._changed("startTime") and not self.spec.get("suspend") and not resumes:
            text = "field is immutable for unsuspended job once set"
            yield errors.invalid("status.startTime", new.get("startTime"), text)


def _parse_errors(field: str, text: str, completions: int) -> list[FieldError]:
    try:
        count_indexes(text, completions)
    except IndexesError as error:
        return [errors.invalid(f"status.{field}", text, f"error parsing {field}: {error}")]
    return []
