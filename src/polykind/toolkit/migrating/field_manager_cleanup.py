"""Repair of managedFields entries that name a version which the CRD no longer has.

kube-apiserver cannot convert an object to such a version, so server-side apply fails on it.
"""

from __future__ import annotations

from typing import NamedTuple

from polykind.contract import JsonObject


class Repair(NamedTuple):
    """The change of one object's managedFields."""

    patch: list[JsonObject]
    """A JSON patch. It tests what it replaces, so that it fails if the object has changed meanwhile."""
    renamed: int
    """The number of entries that were moved to the storage version."""
    removed: int
    """The number of entries that were removed."""


def removed_versions(metadata: JsonObject, group: str, declared: set[str]) -> set[str]:
    """Return the versions of the group in an object's managedFields that the CRD does not declare."""
    return {
        version
        for entry in metadata.get("managedFields") or ()
        if (version := _version(entry, group)) is not None and version not in declared
    }


def repair(metadata: JsonObject, group: str, declared: set[str], storage: str, schema: JsonObject) -> Repair | None:
    """Return the repair of an object's managedFields, or None if they name no removed version.

    An entry moves to the storage version if the schema of this version has all its fields and the manager has no entry
    there. So the manager keeps its fields. Other entries are removed: the manager owns its fields again with its next
    apply.
    """
    entries = metadata.get("managedFields") or []
    current = {_identity(entry, _version(entry, group)) for entry in entries if _version(entry, group) in declared}
    changes: list[JsonObject] = []
    removed: list[int] = []
    renamed = 0
    tests: list[JsonObject] = [
        {"op": "test", "path": "/metadata/uid", "value": metadata["uid"]},
        {"op": "test", "path": "/metadata/resourceVersion", "value": metadata["resourceVersion"]},
    ]
    for index, entry in enumerate(entries):
        version = _version(entry, group)
        if version is None or version in declared:
            continue
        path = f"/metadata/managedFields/{index}"
        tests.append({"op": "test", "path": f"{path}/apiVersion", "value": entry["apiVersion"]})
        target = _identity(entry, storage)
        if target not in current and has_fields(schema, entry.get("fieldsV1") or {}):
            current.add(target)
            changes.append({"op": "replace", "path": f"{path}/apiVersion", "value": f"{group}/{storage}"})
            renamed += 1
        else:
            removed.append(index)
    if not renamed and not removed:
        return None
    if len(removed) == len(entries):
        # kube-apiserver resets managedFields that contain one empty entry, and ignores an empty list.
        changes = [{"op": "replace", "path": "/metadata/managedFields", "value": [{}]}]
    else:
        changes += [{"op": "remove", "path": f"/metadata/managedFields/{index}"} for index in reversed(removed)]
    return Repair(tests + changes, renamed, len(removed))


def _version(entry: JsonObject, group: str) -> str | None:
    """Return the version of an entry, or None if it belongs to another group, such as autoscaling for scale."""
    prefix, _, version = str(entry.get("apiVersion") or "").rpartition("/")
    return version if prefix == group else None


def _identity(entry: JsonObject, version: str | None) -> tuple[object, ...]:
    return entry.get("manager"), entry.get("operation"), entry.get("subresource"), version


def has_fields(schema: JsonObject, fields: JsonObject, *, root: bool = True) -> bool:
    """True if a schema has all fields of a fieldsV1 set. Fields of metadata always exist."""
    if schema.get("x-kubernetes-preserve-unknown-fields"):
        return True
    for key, below in fields.items():
        kind, _, name = key.partition(":")
        if kind == "f":
            if root and name in ("apiVersion", "kind", "metadata"):
                continue
            additional = schema.get("additionalProperties")
            child = (schema.get("properties") or {}).get(name)
            if child is None:
                if not additional:
                    return False
                child = additional if isinstance(additional, dict) else {"x-kubernetes-preserve-unknown-fields": True}
        elif kind in ("k", "i", "v"):
            child = schema.get("items")
            if child is None:
                return False
        else:
            continue
        if not has_fields(child, below, root=False):
            return False
    return True
