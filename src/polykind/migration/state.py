"""The state of storage version migrations: conditions, order and failures."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from polykind.contract import JsonObject

RUNNING, SUCCEEDED, FAILED = "Running", "Succeeded", "Failed"
STORAGE_MIGRATING = "StorageMigrating"
"""The type of the condition in the CRD's status."""

NO_SUCH_RESOURCE = "resource does not exist in discovery"

_MAX_NAMED_FAILURES = 10
_MAX_MESSAGE_LENGTH = 600
"""The maximum number of characters of each failure in a condition's message. Kubernetes limits a message to 32 KiB."""


class GroupResource(NamedTuple):
    """The group and resource whose objects a migration rewrites."""

    group: str
    plural: str

    def __str__(self) -> str:
        return f"{self.plural}.{self.group}" if self.group else self.plural


def target(migration: JsonObject) -> GroupResource:
    """Return the group and resource whose objects a migration rewrites."""
    resource = migration["spec"]["resource"]
    return GroupResource(resource["group"], resource["resource"])


def find(status: JsonObject, type_: str) -> JsonObject | None:
    """Return the first condition of a type, or None if there is none."""
    for condition in status.get("conditions") or ():
        if condition["type"] == type_:
            found: JsonObject = condition
            return found
    return None


def is_true(status: JsonObject, type_: str) -> bool:
    """True if the condition of a type has status True."""
    condition = find(status, type_)
    return condition is not None and condition["status"] == "True"


def is_finished(status: JsonObject) -> bool:
    """True if the migration has succeeded or failed."""
    return is_true(status, SUCCEEDED) or is_true(status, FAILED)


# ---------------------------------------------------------------------- order


def is_unfinished(migration: JsonObject) -> bool:
    """True if the migration has to run, or has finished while its Running condition is still true."""
    status = migration.get("status") or {}
    return is_true(status, RUNNING) or not is_finished(status)


def next_migration(migrations: Iterable[JsonObject]) -> JsonObject | None:
    """Return the next migration of a resource: a running one first, else the oldest. Return None if none is left."""
    return min((m for m in migrations if is_unfinished(m)), key=_rank, default=None)


def _rank(migration: JsonObject) -> tuple[bool, bool, str, str]:
    status, meta = migration.get("status") or {}, migration["metadata"]
    return not is_finished(status), not is_true(status, RUNNING), meta.get("creationTimestamp") or "", meta["name"]


# ---------------------------------------------------------------------- failures


class Failures:
    """The objects that a migration could not rewrite. All are counted, but only the first ones are named."""

    def __init__(self) -> None:
        self.count = 0
        self._messages: list[str] = []

    def add(self, key: str, message: str) -> None:
        self.count += 1
        if len(self._messages) < _MAX_NAMED_FAILURES:
            # The text of a converter's exception may contain lone surrogates, which UTF-8 cannot encode.
            message = message.encode(errors="replace").decode()
            if len(message) > _MAX_MESSAGE_LENGTH:
                message = f"{message[:_MAX_MESSAGE_LENGTH]}..."
            self._messages.append(f"{key}: {message}")

    def message(self) -> str:
        """Return the message of the migration's Failed condition."""
        objects = "1 object" if self.count == 1 else f"{self.count} objects"
        rest = self.count - len(self._messages)
        more = f"; and {rest} more" if rest else ""
        return unhandled(f"{objects} could not be migrated: {'; '.join(self._messages)}{more}")


def unhandled(message: str) -> str:
    """Prefix a failure as kube-controller-manager does."""
    return f"migration encountered unhandled error: {message}"


# ---------------------------------------------------------------------- the status of a migration


def begun(status: JsonObject, now: str, revision: int = 0) -> JsonObject:
    """Return the status of a running migration. `revision` is the store's revision at its start, or 0 if unknown."""
    if not is_true(status, RUNNING):
        status = _with_condition(status, RUNNING, "True", "MigrationRunning", "The migration is running", now)
    if revision and not status.get("resourceVersion"):
        status = {**status, "resourceVersion": str(revision)}
    return status


def succeeded(status: JsonObject, now: str) -> JsonObject:
    """Return the status of a migration that has succeeded."""
    return completed(_with_condition(status, SUCCEEDED, "True", "StorageVersionMigrationSucceeded", "", now), now)


def failed(status: JsonObject, message: str, now: str) -> JsonObject:
    """Return the status of a migration that has failed."""
    return completed(_with_condition(status, FAILED, "True", "StorageVersionMigrationFailed", message, now), now)


def completed(status: JsonObject, now: str) -> JsonObject:
    """Set the Running condition to False if it is True."""
    if not is_true(status, RUNNING):
        return status
    return _with_condition(status, RUNNING, "False", "MigrationCompleted", "Migration completed", now)


def _with_condition(status: JsonObject, type_: str, value: str, reason: str, message: str, now: str) -> JsonObject:
    new = {"type": type_, "status": value, "lastTransitionTime": now, "reason": reason, "message": message}
    conditions = list(status.get("conditions") or ())
    indexes = [index for index, condition in enumerate(conditions) if condition["type"] == type_]
    if indexes:
        conditions[indexes[0]] = new
    else:
        conditions.append(new)
    return {**status, "conditions": conditions}


# ---------------------------------------------------------------------- the condition of a CRD


def running_condition(name: str, generation: int, now: str) -> JsonObject:
    """Return the condition of a CRD whose migration started at this generation."""
    return _crd_condition("True", "MigrationRunning", f"Migration {name} is running", generation, now)


def succeeded_condition(generation: int, now: str, *, updated: bool) -> JsonObject:
    """Return the condition of a CRD whose migration succeeded. `updated` is true if status.storedVersions was reset."""
    result = "and the stored versions have been updated"
    if not updated:
        result = "but the stored versions have not been updated due to a generation mismatch"
    return _crd_condition("False", "MigrationSucceeded", f"The migration has succeeded {result}", generation, now)


def failed_condition(generation: int, now: str) -> JsonObject:
    """Return the condition of a CRD whose migration failed."""
    return _crd_condition("False", "MigrationFailed", "The migration has failed", generation, now)


def deleted_condition(generation: int, now: str) -> JsonObject:
    """Return the condition of a CRD whose migration was deleted while it ran."""
    return _crd_condition("False", "MigrationDeleted", "The migration was deleted before it was done", generation, now)


def _crd_condition(status: str, reason: str, message: str, generation: int, now: str) -> JsonObject:
    return {
        "type": STORAGE_MIGRATING,
        "status": status,
        "lastTransitionTime": now,
        "reason": reason,
        "message": message,
        "observedGeneration": generation,
    }


def same_generation(crd: JsonObject) -> bool:
    """True if the CRD's spec has not changed since the start of the migration that its condition reports."""
    condition = find(crd.get("status") or {}, STORAGE_MIGRATING)
    return condition is not None and condition.get("observedGeneration", 0) == crd["metadata"].get("generation", 0)
