"""The strategies of Jobs and CronJobs: rules for creates and updates."""

from __future__ import annotations

from polykind.apis.batch import cron_job_validation, defaults, job_status_validation, job_validation
from polykind.apis.batch.job_validation import CONTROLLER_UID_LABELS, JOB_NAME_LABELS, is_indexed
from polykind.apis.core.pod_warnings import pod_template_warnings
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.strategies.apps.workload_strategy import WorkloadStrategy, is_spec_changed, pod_name_warnings

_HIGH_COMPLETIONS = 100_000
_HIGH_PARALLELISM = 10_000
_UNTRACKED_INDEXES = (
    "In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, "
    "Kubernetes might not be able to track completedIndexes when a big number of indexes fail"
)
_ZONE_IN_SCHEDULE = (
    "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see "
    "https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details"
)


def job_spec_warnings(spec: JsonObject, old_spec: JsonObject | None, at: str) -> list[str]:
    """Return the warnings about the spec of a Job or of a Job template."""
    found = []
    is_large = spec.get("completions", 0) > _HIGH_COMPLETIONS and spec.get("parallelism", 0) > _HIGH_PARALLELISM
    if is_indexed(spec) and is_large:
        found.append(f"{at}: {_UNTRACKED_INDEXES}")
    return found + pod_template_warnings(spec["template"], old_spec and old_spec["template"], f"{at}.template")


class JobStrategy(WorkloadStrategy):
    """Prepares Jobs for storage and validates them."""

    default_propagation_policy = "Orphan"
    default_policy_warning = (
        "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them "
        "or set propagationPolicy=Orphan to suppress this warning"
    )

    def default(self, obj: JsonObject) -> None:
        defaults.default_job(obj)

    def prepare_create(self, obj: JsonObject) -> None:
        if not obj["spec"]["manualSelector"]:
            _generate_selector(obj)
        super().prepare_create(obj)

    def canonicalize(self, obj: JsonObject) -> None:
        # kube-apiserver sets the default labels when it reads the stored Job, after it has generated the labels of the
        # pods.
        defaults.default_labels(obj)

    def create_errors(self, obj: JsonObject) -> list[FieldError]:
        return self.meta_errors(obj, None) + job_validation.validate_job(obj, None)

    def update_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        found = self.meta_errors(new, None) + job_validation.validate_job(new, old)
        return found + self.meta_errors(new, old) + job_validation.validate_job_update(new, old)

    def status_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        return self.meta_errors(new, old) + job_status_validation.validate_job_status(new, old)

    def warnings(self, new: JsonObject, old: JsonObject | None) -> list[str]:
        if old is None:
            found = pod_name_warnings(new["metadata"]["name"])
            return found + job_spec_warnings(new["spec"], None, "spec")
        if not is_spec_changed(new, old):
            return []
        return job_spec_warnings(new["spec"], old["spec"], "spec")


def _generate_selector(job: JsonObject) -> None:
    """Set the generated labels of the Job's pods, and a selector for the Job's uid.

    Labels that the client has set keep their values.
    """
    metadata, spec = job["metadata"], job["spec"]
    labels = spec["template"]["metadata"].setdefault("labels", {})
    for label in JOB_NAME_LABELS:
        labels.setdefault(label, metadata.get("name", ""))
    for label in CONTROLLER_UID_LABELS:
        labels.setdefault(label, metadata["uid"])
    match_labels = spec.setdefault("selector", {}).setdefault("matchLabels", {})
    match_labels.setdefault(CONTROLLER_UID_LABELS[1], metadata["uid"])


class CronJobStrategy(WorkloadStrategy):
    """Prepares CronJobs for storage and validates them."""

    def pod_template(self, obj: JsonObject) -> JsonObject:
        return super().pod_template(obj["spec"]["jobTemplate"])

    def default(self, obj: JsonObject) -> None:
        defaults.default_cron_job(obj)

    def create_errors(self, obj: JsonObject) -> list[FieldError]:
        found = self.meta_errors(obj, None) + cron_job_validation.validate_cron_job_spec(obj["spec"], None)
        return found + cron_job_validation.validate_cron_job_name(obj["metadata"].get("name", ""))

    def spec_errors(self, new: JsonObject, old: JsonObject | None) -> list[FieldError]:
        return cron_job_validation.validate_cron_job_spec(new["spec"], old and old["spec"])

    def status_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        return []

    def warnings(self, new: JsonObject, old: JsonObject | None) -> list[str]:
        spec, at = new["spec"]["jobTemplate"]["spec"], "spec.jobTemplate.spec"
        if old is None:
            return pod_name_warnings(new["metadata"]["name"]) + job_spec_warnings(spec, None, at)
        found = []
        if is_spec_changed(new, old):
            found = job_spec_warnings(spec, old["spec"]["jobTemplate"]["spec"], at)
        return [*found, _ZONE_IN_SCHEDULE] if "TZ" in new["spec"].get("schedule", "") else found
