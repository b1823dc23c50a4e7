"""How a migration fares: its conditions, and the one of the definition whose objects it migrates."""

from __future__ import annotations

from polykind.contract import JsonObject

RUNNING, SUCCEEDED, FAILED = "Running", "Succeeded", "Failed"
STORAGE_MIGRATING = "StorageMigrating"
"""The type of the definition's condition."""

NO_SUCH_RESOURCE = "resource does not exist in discovery"


def find(status: JsonObject, type_: str) -> JsonObject | None:
    """A condition of a type, the first if others have written several."""
    for condition in status.get("conditions") or ():
        if condition["type"] == type_:
            found: JsonObject = condition
            return found
    return None


def holds(status: JsonObject, type_: str) -> bool:
    found = find(status, type_)
    return found is not None and found["status"] == "True"


def ended(status: JsonObject) -> bool:
    return holds(status, SUCCEEDED) or holds(status, FAILED)


# ---------------------------------------------------------------------- the status of a migration


def begun(status: JsonObject, now: str, revision: int = 0) -> JsonObject:
    """Of one that runs; `revision` is where the collection stood, once that is known."""
    if not holds(status, RUNNING):
        status = _with(status, RUNNING, "True", "MigrationRunning", "The migration is running", now)
    if revision and not status.get("resourceVersion"):
        status = {**status, "resourceVersion": str(revision)}
    return status


def succeeded(status: JsonObject, now: str) -> JsonObject:
    """Of one that is over and went well."""
    return completed(_with(status, SUCCEEDED, "True", "StorageVersionMigrationSucceeded", "", now), now)


def failed(status: JsonObject, why: str, now: str) -> JsonObject:
    """Of one that is over and went wrong."""
    return completed(_with(status, FAILED, "True", "StorageVersionMigrationFailed", why, now), now)


def completed(status: JsonObject, now: str) -> JsonObject:
    """Of one that does not run any more."""
    if not holds(status, RUNNING):
        return status
    return _with(status, RUNNING, "False", "MigrationCompleted", "Migration completed", now)


def _with(status: JsonObject, type_: str, value: str, reason: str, message: str, now: str) -> JsonObject:
    new = {"type": type_, "status": value, "lastTransitionTime": now, "reason": reason, "message": message}
    old = list(status.get("conditions") or ())
    places = [place for place, condition in enumerate(old) if condition["type"] == type_]
    if places:
        old[places[0]] = new
    else:
        old.append(new)
    return {**status, "conditions": old}


# ---------------------------------------------------------------------- the condition of a definition


def running_condition(name: str, generation: int, now: str) -> JsonObject:
    """While a migration runs; it notes the generation that it began with."""
    return _condition("True", "MigrationRunning", f"Migration {name} is running", generation, now)


def succeeded_condition(generation: int, now: str, *, updated: bool) -> JsonObject:
    """After one that went well; `updated` tells whether the stored versions could be cut."""
    what = "and the stored versions have been updated"
    if not updated:
        what = "but the stored versions have not been updated due to a generation mismatch"
    return _condition("False", "MigrationSucceeded", f"The migration has succeeded {what}", generation, now)


def failed_condition(generation: int, now: str) -> JsonObject:
    return _condition("False", "MigrationFailed", "The migration has failed", generation, now)


def deleted_condition(generation: int, now: str) -> JsonObject:
    """After one that was deleted while it ran: some objects have been migrated, others not."""
    return _condition("False", "MigrationDeleted", "The migration was deleted before it was done", generation, now)


def _condition(status: str, reason: str, message: str, generation: int, now: str) -> JsonObject:
    return {
        "type": STORAGE_MIGRATING,
        "status": status,
        "lastTransitionTime": now,
        "reason": reason,
        "message": message,
        "observedGeneration": generation,
    }


def same_generation(crd: JsonObject) -> bool:
    """Whether a definition still is what it was when the migration that it tells of began."""
    found = find(crd.get("status") or {}, STORAGE_MIGRATING)
    return found is not None and found.get("observedGeneration", 0) == crd["metadata"].get("generation", 0)
