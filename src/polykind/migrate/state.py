"""How a migration fares: its conditions, and the one of the definition whose objects it migrates."""

from __future__ import annotations

from polykind.contract import JsonObject

RUNNING, SUCCEEDED, FAILED = "Running", "Succeeded", "Failed"


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
