"""The use of a CRD's versions on a cluster that is not Polykind, as far as its API shows it.

Kubernetes does not tell at which version an object is stored. `status.storedVersions` lists all versions at which
objects may be stored, and managedFields name the versions at which field managers have written.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from polykind.contract import JsonObject
from polykind.toolkit.migrating.crd_storage import CRDStorage, key_of
from polykind.toolkit.migrating.object_listing import list_pages
from polykind.toolkit.migrating.paced_client import PacedClient

BASIS = (
    "the number of stored objects is known only if status.storedVersions lists a single version; clients are field "
    "managers, with the number of objects they have written at a version"
)


async def version_report(client: PacedClient, storage: CRDStorage) -> JsonObject:
    """Return a report like Polykind's own. `storedObjects` is None where the number cannot be known.

    Raise ClusterError if the objects cannot be listed.
    """
    objects, undeclared = 0, Counter[str]()
    managed: Counter[str] = Counter()
    managers: dict[str, dict[str, list[Any]]] = {}
    first: dict[str, str] = {}
    async for page in list_pages(client, storage):
        for metadata in page.items:
            objects += 1
            versions = set()
            for entry in metadata.get("managedFields") or ():
                group, _, version = str(entry.get("apiVersion") or "").rpartition("/")
                if group != storage.group:
                    continue
                versions.add(version)
                counts = managers.setdefault(version, {}).setdefault(str(entry.get("manager") or "unknown"), [0, ""])
                counts[0] += 1
                counts[1] = max(counts[1], str(entry.get("time") or ""))
            for version in versions:
                managed[version] += 1
                first.setdefault(version, key_of(metadata))
                if version not in storage.declared:
                    undeclared[version] += 1
    report = [
        _version(storage, entry, objects, managed, managers.get(entry["name"], {}), first) for entry in storage.versions
    ]
    return {
        "definition": storage.name,
        "exact": False,
        "basis": BASIS,
        "objects": objects,
        "storedVersions": storage.stored_versions,
        "removedVersions": dict(undeclared),
        "versions": report,
    }


def _version(
    storage: CRDStorage,
    entry: JsonObject,
    objects: int,
    managed: Counter[str],
    managers: dict[str, list[Any]],
    first: dict[str, str],
) -> JsonObject:
    name = entry["name"]
    listed, alone = name in storage.stored_versions, storage.stored_versions == [storage.storage]
    stored: int | None = None
    if not listed or not objects:
        stored = 0
    elif alone:
        stored = objects
    blockers = []
    if entry["storage"]:
        blockers.append("it is the storage version: make another one the storage version")
    elif listed:
        blockers.append(
            f"status.storedVersions lists it, so objects may be stored at it: polykind migrate {storage.name}"
        )
    if managed[name]:
        blockers.append(
            f"{managed[name]} objects have field managers at it, first {first[name]}: after the removal, server-side "
            f"apply fails on them until polykind migrate {storage.name} has repaired them"
        )
    return {
        "name": name,
        "served": bool(entry["served"]),
        "storage": bool(entry["storage"]),
        "deprecated": bool(entry.get("deprecated")),
        "storedObjects": stored,
        "managedObjects": managed[name],
        "managers": [
            {"manager": manager, "objects": count, "last": last}
            for manager, (count, last) in sorted(managers.items(), key=lambda item: (-item[1][0], item[0]))
        ],
        "hindrances": blockers,
    }
