"""The strategy of CRD writes: sets the fields that the server owns, and warns about unknown formats."""

from __future__ import annotations

from polykind.contract import JsonObject
from polykind.crd.api_conversion import to_internal
from polykind.crd.empty_values import equal_specs
from polykind.crd.schema_walker import all_schemas, root_schemas
from polykind.golang.fmt import go_quote
from polykind.schema.string_formats import is_known_format


def empty_status() -> JsonObject:
    """Return the status of a CRD that no controller has processed yet."""
    return {"conditions": None, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": None}


def prepare_create(crd: JsonObject) -> JsonObject:
    """Set the initial status of a new CRD, with its storage version in storedVersions, and generation 1."""
    crd["status"] = with_storage_version(empty_status(), crd)
    crd["metadata"]["generation"] = 1
    return crd


def prepare_update(new: JsonObject, old: JsonObject) -> JsonObject:
    """Keep the old status, add the storage version to storedVersions, and increment generation if the spec changed."""
    generation = old["metadata"].get("generation", 0)
    _set_generation(new, generation if equal_specs(new["spec"], old["spec"]) else generation + 1)
    new["status"] = with_storage_version(old["status"], new)
    return new


def prepare_status_update(new: JsonObject, old: JsonObject) -> JsonObject:
    """Keep the old spec. If storedVersions is empty, set it to the storage version."""
    new["spec"] = old["spec"]
    if not new["status"]["storedVersions"]:
        new["status"] = with_storage_version(new["status"], new)
    _set_generation(new, old["metadata"].get("generation", 0))
    return new


def _set_generation(crd: JsonObject, generation: int) -> None:
    meta = crd["metadata"]
    if generation:
        meta["generation"] = generation
    else:
        meta.pop("generation", None)


def with_storage_version(status: JsonObject, crd: JsonObject) -> JsonObject:
    """Return the status with the storage version of a CRD in storedVersions."""
    for version in crd["spec"]["versions"] or ():
        if version["storage"]:
            stored = status["storedVersions"] or []
            return status if version["name"] in stored else {**status, "storedVersions": [*stored, version["name"]]}
    return status


def warnings(crd: JsonObject, old: JsonObject | None = None) -> list[str]:
    """Return a warning for each unknown format in the schemas, except for formats that the old CRD has too."""
    unknown = _unknown_formats(crd)
    if unknown and old is not None:
        known = set(_unknown_formats(old))
        unknown = [name for name in unknown if name not in known]
    return [f"unrecognized format {go_quote(name)}" for name in unknown]


def _unknown_formats(crd: JsonObject) -> list[str]:
    spec = crd["spec"]
    if not any(_unknown_formats_in(schema) for schema in root_schemas(spec)):
        return []
    return [name for schema in root_schemas(to_internal(spec)) for name in _unknown_formats_in(schema)]


def _unknown_formats_in(schema: JsonObject) -> list[str]:
    return [
        node["format"]
        for node in all_schemas(schema)
        if "format" in node and not is_known_format(node["format"], node.get("type", ""))
    ]
