"""Failures that a test provokes in a simulation."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import NamedTuple

from polykind.contract import JsonObject
from polykind.testing.exceptions import Refused

DEFAULT_REASONS = {
    "deployments": "ProgressDeadlineExceeded",
    "jobs": "BackoffLimitExceeded",
    "persistentvolumeclaims": "ProvisioningFailed",
    "pods": "CrashLoopBackOff",
    "services": "SyncLoadBalancerFailed",
}
"""The kinds that can fail, each with the reason that `Simulation.fail` uses if the test gives none."""

CONTAINER_REASONS = (
    "ErrImagePull",
    "ImagePullBackOff",
    "ErrImageNeverPull",
    "InvalidImageName",
    "CreateContainerConfigError",
    "CreateContainerError",
    "ContainerCreating",
    "RunContainerError",
)
"""Failure reasons with which a container of a pod stays in the state `waiting` and never starts."""
_POD_REASONS = (
    *CONTAINER_REASONS,
    "CrashLoopBackOff",
    "Error",
    "Evicted",
    "NotReady",
    "OOMKilled",
    "Unschedulable",
)


def check_reason(plural: str, reason: str) -> None:
    """Raise Refused if the reason of a pod's failure is one of the known reasons, but misspelt.

    Other reasons are valid: a container may end with any reason.
    """
    known = {name.lower(): name for name in _POD_REASONS}
    close = difflib.get_close_matches(reason.lower(), known, 1, cutoff=0.85)
    if plural == "pods" and close and known[close[0]] != reason:
        raise Refused(f"{reason} is not a reason of a pod's failure: did you mean {known[close[0]]}?")


class Failure(NamedTuple):
    """A failure that a test provokes. It affects objects of one kind whose name and namespace match the patterns."""

    plural: str
    name: str
    namespace: str
    reason: str
    message: str

    def concerns(self, plural: str, obj: JsonObject) -> bool:
        meta = obj["metadata"]
        return (
            plural == self.plural
            and fnmatchcase(meta["name"], self.name)
            and fnmatchcase(meta.get("namespace", ""), self.namespace)
        )


class Failures:
    """The current failures of a simulation. If an object has several failures, the latest one applies."""

    def __init__(self) -> None:
        self._failures: list[Failure] = []

    def add(self, failure: Failure) -> None:
        self._failures.append(failure)

    def remove(self, plurals: Iterable[str], name: str) -> None:
        """Remove the failures of some kinds: all of them if `name` is "*", else those that were added with `name`."""
        plurals = set(plurals)
        self._failures = [one for one in self._failures if one.plural not in plurals or name not in ("*", one.name)]

    def find(self, plural: str, obj: JsonObject) -> Failure | None:
        return next((one for one in reversed(self._failures) if one.concerns(plural, obj)), None)
