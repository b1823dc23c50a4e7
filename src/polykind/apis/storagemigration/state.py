"""The state of storage version migrations: conditions, order and failures."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from polykind.contract import JsonObject

RUNNING, SUCCEEDED, FAILED = "Running", "Succeeded", "Failed"
STORAGE_MIGRATING = "StorageMigrating"
"""The type of the condition in a CRD's status that reports the state of its migration."""

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
    """True if the migration has to run, or if it has finished but its Running condition is still true.

    In the second case, the CRD's status may not be written yet.
    """
    status = migration.get("status") or {}
    return is_true(status, RUNNING) or not is_finished(status)


def next_migration(migrations: Iterable[JsonObject]) -> JsonObject | None:
    """Return the unfinished migration to process next, or None if there is none.

    Finished migrations whose Running condition is still true come first, then a running one, then the oldest.
    """
    return min((m for m in migrations if is_unfinished(m)), key=_rank, default=None)


def _rank(migration: JsonObject) -> tuple[bool, bool, str, str]:
    status, meta = migration.get("status") or {}, migration["metadata"]
    return not is_finished(status), not is_true(status, RUNNING), meta.get("creationTimestamp") or "", meta["name"]


# ---------------------------------------------------------------------- failures


class Failures:
    """The objects that a migration could not rewrite. The message counts all of them, but names only the first ones."""

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
    """Return a failure message with the prefix that kube-controller-manager adds."""
    return f"migration encountered unhandled error: {message}"


# ---------------------------------------------------------------------- the status of a migration


def begun(status: JsonObject, now: str, revision: int = 0) -> JsonObject:
    """Return the migration's status with the Running condition set to True.

    `revision` is the revision of the store at the start of the migration, or 0 if it is unknown.
    """
    if not is_true(status, RUNNING):
        status = _with_condition(status, RUNNING, "True", "MigrationRunning", "The migration is running", now)
    if revision and not status.get("resourceVersion"):
        status = {**status, "resourceVersion": str(revision)}
    return status


def succeeded(status: JsonObject, now: str) -> JsonObject:
    """Return the migration's status with the Succeeded condition set to True and Running set to False."""
    return completed(_with_condition(status, SUCCEEDED, "True", "StorageVersionMigrationSucceeded", "", now), now)


def failed(status: JsonObject, message: str, now: str) -> JsonObject:
    """Return the migration's status with the Failed condition set to True and Running set to False."""
    return completed(_with_condition(status, FAILED, "True", "StorageVersionMigrationFailed", message, now), now)


def completed(status: JsonObject, now: str) -> JsonObject:
    """Return the migration's status with the Running condition set to False if it is True."""
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
    """Return the StorageMigrating condition of a CRD whose migration `name` starts at this generation of the CRD."""
    return _crd_condition("True", "MigrationRunning", f"Migration {name} is running", generation, now)


def succeeded_condition(generation: int, now: str, *, updated: bool) -> JsonObject:
    """Return the StorageMigrating condition of a CRD whose migration succeeded.

    `updated` is true if status.storedVersions is reset to the storage version.
    """
    result = "and the stored versions have been updated"
    if not updated:
        result = "but the stored versions have not been updated due to a generation mismatch"
    return _crd_condition("False", "MigrationSucceeded", f"The migration has succeeded {result}", generation, now)


def failed_condition(generation: int, now: str) -> JsonObject:
    """Return the StorageMigrating condition of a CRD whose migration failed."""
    return _crd_condition("False", "MigrationFailed", "The migration has failed", generation, now)


def deleted_condition(generation: int, now: str) -> JsonObject:
    """Return the StorageMigrating condition of a CRD whose migration was deleted while it ran."""
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
    """True if the CRD's spec has not changed since the migration in its StorageMigrating condition started."""
    condition = find(crd.get("status") or {}, STORAGE_MIGRATING)
    return condition is not None and condition.get("observedGeneration", 0) == crd["metadata"].get("generation", 0)
