"""What a write makes of a definition before it is judged: status, generation and stored versions are the server's."""

from __future__ import annotations

from polykind.contract import JsonObject
from polykind.crd.equality import equal_specs


def empty_status() -> JsonObject:
    """The status of a definition nobody has looked at."""
    return {"conditions": None, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": None}


def prepare_create(crd: JsonObject) -> JsonObject:
    """A new definition: it has no status yet but the version its objects will be stored at."""
    crd["status"] = _storing(empty_status(), crd)
    crd["metadata"]["generation"] = 1
    return crd


def prepare_update(new: JsonObject, old: JsonObject) -> JsonObject:
    """A changed definition: its status stays, but for a version that becomes the storage version."""
    generation = old["metadata"].get("generation", 0)
    _set_generation(new, generation if equal_specs(new["spec"], old["spec"]) else generation + 1)
    new["status"] = _storing(old["status"], new)
    return new


def prepare_status_update(new: JsonObject, old: JsonObject) -> JsonObject:
    """A changed status: the spec stays, metadata may change. The storage version is there where none is stated."""
    new["spec"] = old["spec"]
    if not new["status"]["storedVersions"]:
        new["status"] = _storing(new["status"], new)
    _set_generation(new, old["metadata"].get("generation", 0))
    return new


def _set_generation(crd: JsonObject, generation: int) -> None:
    meta = crd["metadata"]
    if generation:
        meta["generation"] = generation
    else:
        meta.pop("generation", None)


def _storing(status: JsonObject, crd: JsonObject) -> JsonObject:
    for version in crd["spec"]["versions"] or ():
        if version["storage"]:
            stored = status["storedVersions"] or []
            return status if version["name"] in stored else {**status, "storedVersions": [*stored, version["name"]]}
    return status
