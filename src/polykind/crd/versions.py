"""The versions of a CRD: priority order, lookup, deprecation warnings and the storage version hash."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable
from typing import Any

from polykind.contract import JsonObject

_KUBE_LIKE = re.compile(r"v(\d{1,300})(?:(alpha|beta)(\d{1,300}))?", re.ASCII)
_STABILITY = {"alpha": 0, "beta": 1, None: 2}
_MAX_INT64 = 2**63 - 1


def priority_key(name: str) -> tuple[Any, ...]:
    """Return a key that sorts version names by priority: stable, beta and alpha versions, then other names.

    Among versions of the same stability, the highest number comes first.
    """
    match = _KUBE_LIKE.fullmatch(name)
    if match is not None:
        major, minor = int(match[1]), int(match[3] or 0)
        if major <= _MAX_INT64 and minor <= _MAX_INT64:
            return (0, -_STABILITY[match[2]], -major, -minor)
    return (1, name.encode("utf-8", "surrogatepass"))


def priority_sort(names: Iterable[str]) -> list[str]:
    """Return version names with the highest priority first."""
    return sorted(names, key=priority_key)


def served_versions(crd: JsonObject) -> list[str]:
    """Return the names of the served versions in the order of spec.versions."""
    return [version_entry["name"] for version_entry in crd["spec"]["versions"] or () if version_entry["served"]]


def storage_version(crd: JsonObject) -> str:
    """Return the name of the storage version."""
    for version_entry in crd["spec"]["versions"] or ():
        if version_entry["storage"]:
            return str(version_entry["name"])
    raise LookupError(f"{crd['metadata'].get('name')} has no storage version")


def find_version(crd: JsonObject, name: str) -> JsonObject | None:
    """Return the version entry with the given name. Return None if the CRD has no such version."""
    version_entry: JsonObject
    for version_entry in crd["spec"]["versions"] or ():
        if version_entry["name"] == name:
            return version_entry
    return None


def version_schema(crd: JsonObject, name: str) -> JsonObject | None:
    """Return the openAPIV3Schema of a version, or None if it has none. Raise LookupError if the version is unknown."""
    version_entry = find_version(crd, name)
    if version_entry is None:
        raise LookupError(f"{crd['metadata'].get('name')} has no version {name}")
    return (version_entry.get("schema") or {}).get("openAPIV3Schema")


def deprecation_warning(crd: JsonObject, name: str) -> str | None:
    """Return the warning for requests to a deprecated version. Return None if the version is not deprecated."""
    version_entry = find_version(crd, name)
    if version_entry is None or not version_entry.get("deprecated"):
        return None
    custom_warning = version_entry.get("deprecationWarning")
    if custom_warning is not None:
        return str(custom_warning)
    spec = crd["spec"]
    group, kind = spec["group"], spec["names"]["kind"]
    text = f"{group}/{name} {kind} is deprecated"
    others = [v["name"] for v in spec["versions"] if v["served"] and not v.get("deprecated")]
    recommended = priority_sort(others)[:1]
    if recommended and priority_key(recommended[0]) < priority_key(name):
        return f"{text}; use {group}/{recommended[0]} {kind}"
    return text


def storage_version_hash(crd: JsonObject) -> str:
    """Return the storageVersionHash for discovery. A changed hash tells clients that objects should be rewritten."""
    spec = crd["spec"]
    name = f"{spec['group']}/{storage_version(crd)}/{spec['names']['kind']}"
    return base64.b64encode(hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()[:8]).decode()
