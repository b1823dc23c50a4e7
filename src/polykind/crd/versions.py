"""The versions of a definition: their order, what each of them has, and how a deprecated one warns."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable
from typing import Any

from polykind.contract import JsonObject

_KUBE_LIKE = re.compile(r"v(\d{1,300})(?:(alpha|beta)(\d{1,300}))?", re.ASCII)
_STABILITY = {"alpha": 0, "beta": 1, None: 2}
_LARGEST = 2**63 - 1


def priority_key(name: str) -> tuple[Any, ...]:
    """Sorts the highest priority first: stable before beta before alpha, then by number; other names follow."""
    match = _KUBE_LIKE.fullmatch(name)
    if match is not None:
        major, minor = int(match[1]), int(match[3] or 0)
        if major <= _LARGEST and minor <= _LARGEST:
            return (0, -_STABILITY[match[2]], -major, -minor)
    return (1, name.encode("utf-8", "surrogatepass"))


def priority_sort(names: Iterable[str]) -> list[str]:
    """Version names, the highest priority first."""
    return sorted(names, key=priority_key)


def served_versions(crd: JsonObject) -> list[str]:
    """The names of the served versions, in the order of the definition."""
    return [version["name"] for version in crd["spec"]["versions"] or () if version["served"]]


def storage_version(crd: JsonObject) -> str:
    """The version objects are stored at."""
    for version in crd["spec"]["versions"] or ():
        if version["storage"]:
            return str(version["name"])
    raise LookupError(f"{crd['metadata'].get('name')} has no storage version")


def find_version(crd: JsonObject, name: str) -> JsonObject | None:
    """A version by its name."""
    for version in crd["spec"]["versions"] or ():
        if version["name"] == name:
            found: JsonObject = version
            return found
    return None


def version_schema(crd: JsonObject, name: str) -> JsonObject | None:
    """The schema of a version as it was declared. Raises LookupError."""
    version = find_version(crd, name)
    if version is None:
        raise LookupError(f"{crd['metadata'].get('name')} has no version {name}")
    return (version.get("schema") or {}).get("openAPIV3Schema")


def deprecation_warning(crd: JsonObject, name: str) -> str | None:
    """What requests to a deprecated version are warned with."""
    version = find_version(crd, name)
    if version is None or not version.get("deprecated"):
        return None
    own = version.get("deprecationWarning")
    if own is not None:
        return str(own)
    spec = crd["spec"]
    group, kind = spec["group"], spec["names"]["kind"]
    text = f"{group}/{name} {kind} is deprecated"
    others = [v["name"] for v in spec["versions"] if v["served"] and not v.get("deprecated")]
    better = priority_sort(others)[:1]
    if better and priority_key(better[0]) < priority_key(name):
        return f"{text}; use {group}/{better[0]} {kind}"
    return text


def storage_version_hash(crd: JsonObject) -> str:
    """What discovery tells of the storage version: a change of it means that objects want rewriting."""
    spec = crd["spec"]
    name = f"{spec['group']}/{storage_version(crd)}/{spec['names']['kind']}"
    return base64.b64encode(hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()[:8]).decode()
