"""Simulated controller of CronJobs. A Job starts when the CronJob is created and when a test triggers the CronJob."""

from __future__ import annotations

from datetime import datetime

from polykind.contract import JsonObject
from polykind.testing.simulation.simulated_cluster import SimulatedCluster
from polykind.testing.simulation.simulated_controller import (
    SimulatedController,
    has_condition,
    is_terminating,
    owner_reference,
)
from polykind.testing.simulation.simulated_failures import Failures


class SimulatedCronJobs(SimulatedController):
    """Creates Jobs without waiting for the schedule, within the concurrency policy and the history limits."""

    plural = "cronjobs"
    owned = ("jobs",)

    def __init__(self, cluster: SimulatedCluster, failures: Failures) -> None:
        super().__init__(cluster, failures)
        self._triggered: set[tuple[str, str]] = set()

    def trigger(self, namespace: str, name: str) -> None:
        """Make the next reconciliation of this CronJob start a Job."""
        self._triggered.add((namespace, name))

    async def reconcile(self, cron_job: JsonObject) -> None:
        if is_terminating(cron_job):
            return
        meta, spec = cron_job["metadata"], cron_job["spec"]
        key = meta["namespace"], meta["name"]
        jobs = await self.cluster.owned("jobs", cron_job)
        active = [job for job in jobs if not _is_finished(job) and not is_terminating(job)]
        is_due = key in self._triggered or "lastScheduleTime" not in (cron_job.get("status") or {})
        started = False
        if is_due and not spec.get("suspend"):
            self._triggered.discard(key)
            policy = spec.get("concurrencyPolicy")
            if policy == "Replace":
                for job in active:
                    await self.cluster.delete("jobs", job)
                active = []
            if policy != "Forbid" or not active:
                active.append(await self._create_job(cron_job, jobs))
                started = True
        await self._prune(spec, jobs)
        await self._report(cron_job, jobs, active, started)

    async def _create_job(self, cron_job: JsonObject, jobs: list[JsonObject]) -> JsonObject:
        template, meta = cron_job["spec"]["jobTemplate"], cron_job["metadata"]
        now = self.cluster.now()
        minute = int(datetime.fromisoformat(now).timestamp()) // 60
        taken = {job["metadata"]["name"] for job in jobs}
        while f"{meta['name']}-{minute}" in taken:
            minute += 1
        kept = {
            key: value for key, value in (template.get("metadata") or {}).items() if key in ("labels", "annotations")
        }
        annotations = {**kept.get("annotations", {}), "batch.kubernetes.io/cronjob-scheduled-timestamp": now}
        job = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {
                **kept,
                "name": f"{meta['name']}-{minute}",
                "namespace": meta["namespace"],
                "annotations": annotations,
                "ownerReferences": [owner_reference(cron_job)],
            },
            "spec": template["spec"],
        }
        return await self.cluster.create("jobs", job)

    async def _prune(self, spec: JsonObject, jobs: list[JsonObject]) -> None:
        """Delete the oldest finished Jobs that exceed the history limits."""
        for condition, field, default in (
            ("Complete", "successfulJobsHistoryLimit", 3),
            ("Failed", "failedJobsHistoryLimit", 1),
        ):
            finished = [job for job in jobs if has_condition(job, condition) and not is_terminating(job)]
            for job in finished[: max(len(finished) - spec.get(field, default), 0)]:
                await self.cluster.delete("jobs", job)

    async def _report(
        self, cron_job: JsonObject, jobs: list[JsonObject], active: list[JsonObject], started: bool
    ) -> None:
        now = self.cluster.now()
        references = [
            {
                "apiVersion": "batch/v1",
                "kind": "Job",
                "name": job["metadata"]["name"],
                "namespace": job["metadata"]["namespace"],
                "resourceVersion": job["metadata"]["resourceVersion"],
                "uid": job["metadata"]["uid"],
            }
            for job in active
        ]
        completions = [job["status"]["completionTime"] for job in jobs if has_condition(job, "Complete")]

        def report(status: JsonObject) -> None:
            status.pop("active", None)
            if references:
                status["active"] = references
            if started:
                status["lastScheduleTime"] = now
            if completions:
                status["lastSuccessfulTime"] = max(completions)

        await self.cluster.update_status("cronjobs", cron_job, report)


def _is_finished(job: JsonObject) -> bool:
    return has_condition(job, "Complete") or has_condition(job, "Failed")
