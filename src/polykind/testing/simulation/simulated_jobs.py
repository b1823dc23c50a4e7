"""Simulated controller of Jobs."""

from __future__ import annotations

from polykind.contract import JsonObject
from polykind.testing.simulation.simulated_controller import (
    SimulatedController,
    has_condition,
    is_active,
    is_terminating,
    pod_from_template,
    ready_count,
    set_condition,
)

_INDEX = "batch.kubernetes.io/job-completion-index"
_COMPLETED = "Reached expected number of succeeded pods"
_LIMIT_REACHED = "Job has reached the specified backoff limit"


class SimulatedJobs(SimulatedController):
    """Runs pods until enough of them have succeeded or too many have failed."""

    plural = "jobs"
    owned = ("pods",)

    async def reconcile(self, job: JsonObject) -> None:
        if is_terminating(job) or has_condition(job, "Complete") or has_condition(job, "Failed"):
            return
        progress = _Progress(job, await self.cluster.owned("pods", job))
        failure = self.failures.find("jobs", job)
        reason = failure.reason if failure is not None else "BackoffLimitExceeded" if progress.exceeds_limit else ""
        message = (failure.message if failure is not None else "") or _LIMIT_REACHED
        suspended = bool(job["spec"].get("suspend"))
        if reason or suspended or progress.complete:
            for pod in progress.active:
                await self.cluster.delete("pods", pod)
            progress.active = []
        else:
            for index in progress.missing():
                progress.active.append(await self.cluster.create("pods", _pod(job, index)))
        # A Job may finish only when none of its pods is terminating.
        finishes = not progress.terminating and not progress.active
        await self._report(job, progress, suspended, (reason, message) if finishes else ("", ""))

    async def _report(self, job: JsonObject, progress: _Progress, suspended: bool, failure: tuple[str, str]) -> None:
        now = self.cluster.now()

        def report(status: JsonObject) -> None:
            if suspended:
                status.pop("startTime", None)
            else:
                status.setdefault("startTime", now)
            status.update(
                active=len(progress.active),
                ready=ready_count(progress.active),
                succeeded=len(progress.succeeded),
                failed=len(progress.failed),
                terminating=len(progress.terminating),
                uncountedTerminatedPods={},
            )
            for name in ("active", "succeeded", "failed"):
                if not status[name]:
                    del status[name]
            if progress.indexed and progress.succeeded:
                status["completedIndexes"] = ",".join(map(str, sorted(progress.done_indexes())))
            if failure[0]:
                _finish(status, ("FailureTarget", "Failed"), *failure, now)
            elif progress.complete and not progress.terminating and not suspended:
                status["completionTime"] = now
                _finish(status, ("SuccessCriteriaMet", "Complete"), "CompletionsReached", _COMPLETED, now)
            elif suspended or any(one["type"] == "Suspended" for one in status.get("conditions") or ()):
                value, word = ("True", "suspended") if suspended else ("False", "resumed")
                condition = {"type": "Suspended", "status": value, "reason": f"Job{word.title()}"}
                set_condition(status, {**condition, "message": f"Job {word}"}, now, "lastProbeTime")

        await self.cluster.update_status("jobs", job, report)


class _Progress:
    """The pods of a Job, by state."""

    def __init__(self, job: JsonObject, pods: list[JsonObject]) -> None:
        self._spec = job["spec"]
        self.indexed = self._spec.get("completionMode") == "Indexed"
        self.active = [pod for pod in pods if is_active(pod)]
        self.terminating = [pod for pod in pods if is_terminating(pod)]
        ended = [pod for pod in pods if not is_active(pod) and not is_terminating(pod)]
        self.succeeded = [pod for pod in ended if pod["status"]["phase"] == "Succeeded"]
        self.failed = [pod for pod in ended if pod["status"]["phase"] == "Failed"]
        self._completions = self._spec.get("completions")

    @property
    def complete(self) -> bool:
        """True if enough pods have succeeded. Without spec.completions, one success is enough once no pod is active."""
        if self._completions is None:
            return bool(self.succeeded) and not self.active
        return bool(len(self.succeeded) >= self._completions)

    @property
    def exceeds_limit(self) -> bool:
        return bool(len(self.failed) > self._spec.get("backoffLimit", 6))

    def done_indexes(self) -> set[int]:
        return {_pod_index(pod) for pod in self.succeeded}

    def missing(self) -> list[int]:
        """Return the completion indexes of the pods to create, one per pod. Only an Indexed Job uses their values."""
        parallelism = self._spec.get("parallelism", 1)
        if self._completions is None:
            room = 0 if self.succeeded else parallelism - len(self.active)
        else:
            room = min(parallelism, self._completions - len(self.succeeded)) - len(self.active)
        if not self.indexed:
            return list(range(room))
        taken = self.done_indexes() | {_pod_index(pod) for pod in self.active}
        return [index for index in range(self._completions or 0) if index not in taken][: max(room, 0)]


def _finish(status: JsonObject, types: tuple[str, str], reason: str, message: str, now: str) -> None:
    for kind in types:
        condition = {"type": kind, "status": "True", "reason": reason, "message": message}
        set_condition(status, condition, now, "lastProbeTime")


def _pod(job: JsonObject, index: int) -> JsonObject:
    name = job["metadata"]["name"]
    if job["spec"].get("completionMode") != "Indexed":
        return pod_from_template(job, job["spec"]["template"])
    pod = pod_from_template(job, job["spec"]["template"], prefix=f"{name}-{index}-")
    for field in ("labels", "annotations"):
        pod["metadata"][field] = {**pod["metadata"].get(field, {}), _INDEX: str(index)}
    pod["spec"]["hostname"] = f"{name}-{index}"
    return pod


def _pod_index(pod: JsonObject) -> int:
    return int((pod["metadata"].get("annotations") or {}).get(_INDEX, "-1"))
