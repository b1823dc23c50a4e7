"""Who owns the replicas: the entries of an object seen through its scale, and those of its scale brought back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from polykind.apply import managed_fields
from polykind.apply.fieldset import contains, difference, of_path
from polykind.apply.managed_fields import Entries, Entry
from polykind.contract import JsonObject

SCALE_VERSION: Final = "autoscaling/v1"
_REPLICAS: Final = ("f:spec", "f:replicas")

Paths = Mapping[str, str | None]
"""Per apiVersion of the object its specReplicasPath; None for versions without a scale."""


def to_scale(parent: list[JsonObject], paths: Paths) -> list[JsonObject]:
    """The entries of a Scale: of those who own the replicas of the object."""
    out: Entries = {}
    for owner, entry in _decoded(parent).items():
        path = paths.get(entry.version)
        if path is not None and contains(entry.fields, _keys(path)):
            version = SCALE_VERSION if owner.operation == "Update" else ""
            out[owner._replace(version=version)] = Entry(of_path(_REPLICAS), SCALE_VERSION, entry.time)
    return managed_fields.encode(out, ordered=False)


def to_parent(parent: list[JsonObject], scale: list[JsonObject], *, api_version: str, paths: Paths) -> list[JsonObject]:
    """The entries of the object after a write of its Scale at `api_version`: whoever wrote it owns the replicas."""
    scaled = _decoded(scale)
    before = _decoded(parent)
    out: Entries = {}
    for owner, entry in before.items():
        if entry.version not in paths:
            continue
        path = paths[entry.version]
        if path is None or not contains(entry.fields, _keys(path)):
            out[owner] = entry
        elif owner in scaled:
            out[owner] = entry
            del scaled[owner]
        elif fields := difference(entry.fields, of_path(_keys(path))):
            entry.change(fields)
            out[owner] = entry
    own = paths.get(api_version)
    for owner, entry in scaled.items():
        if own is not None and contains(entry.fields, _REPLICAS):
            # Times are looked for among the object's entries alone: who comes to it by its scale has none.
            time = before[owner].time if owner in before else None
            out[owner] = Entry(of_path(_keys(own)), api_version, time)
    return managed_fields.encode(out, ordered=False)


def _keys(path: str) -> tuple[str, ...]:
    """The path split at its dots alone, as the reference does."""
    return tuple(f"f:{name}" for name in path.removeprefix(".").split("."))


def _decoded(listed: list[JsonObject]) -> Entries:
    return managed_fields.decode(listed, trusted=True) or {}
