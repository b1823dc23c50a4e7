"""Defaults of Jobs and CronJobs."""

from __future__ import annotations

from polykind.apis.core.pod_defaults import default_pod_template
from polykind.contract import JsonObject

_MAX_INT32 = 2**31 - 1


def default_job(job: JsonObject) -> None:
    """Set the defaults of a Job."""
    spec = job["spec"]
    _default_templates(spec)
    if "completions" not in spec and "parallelism" not in spec:
        spec["completions"] = 1
    spec.setdefault("parallelism", 1)
    spec.setdefault("backoffLimit", _MAX_INT32 if "backoffLimitPerIndex" in spec else 6)
    default_labels(job)
    spec.setdefault("completionMode", "NonIndexed")
    spec.setdefault("suspend", False)
    spec.setdefault("podReplacementPolicy", "Failed" if "podFailurePolicy" in spec else "TerminatingOrFailed")
    spec.setdefault("manualSelector", False)


def default_labels(job: JsonObject) -> None:
    """Set the labels of a Job without labels to the labels of its pod template.

    Both objects share one dict, so that a new Job also gets the labels that the server later generates for its pods.
    """
    labels = job["spec"]["template"]["metadata"].get("labels")
    if labels and not job["metadata"].get("labels"):
        job["metadata"]["labels"] = labels


def default_cron_job(cron_job: JsonObject) -> None:
    """Set the defaults of a CronJob.

    In its jobTemplate, only the pod template and the pod failure policy get defaults.
    """
    spec = cron_job["spec"]
    _default_templates(spec["jobTemplate"]["spec"])
    spec["concurrencyPolicy"] = spec.get("concurrencyPolicy") or "Allow"
    spec.setdefault("suspend", False)
    spec.setdefault("successfulJobsHistoryLimit", 3)
    spec.setdefault("failedJobsHistoryLimit", 1)


def _default_templates(job_spec: JsonObject) -> None:
    for rule in (job_spec.get("podFailurePolicy") or {}).get("rules") or ():
        for pattern in rule.get("onPodConditions") or ():
            pattern["status"] = pattern.get("status") or "True"
    default_pod_template(job_spec["template"])
