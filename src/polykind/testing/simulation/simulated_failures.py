"""Failures that a test provokes in a simulation."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import NamedTuple

from polykind.contract import JsonObject

DEFAULT_REASONS = {
    "deployments": "ProgressDeadlineExceeded",
    "jobs": "BackoffLimitExceeded",
    "persistentvolumeclaims": "ProvisioningFailed",
    "pods": "CrashLoopBackOff",
    "services": "SyncLoadBalancerFailed",
}
"""The kinds that can fail, each with the reason that `Simulation.fail` uses if the test gives none."""


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
