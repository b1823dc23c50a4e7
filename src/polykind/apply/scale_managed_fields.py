"""Conversion of managedFields between an object and its Scale."""

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
"""The specReplicasPath of each apiVersion of the object. None for versions without a scale subresource."""


def to_scale(parent: list[JsonObject], paths: Paths) -> list[JsonObject]:
    """Return the managedFields of the Scale: one entry for each manager that owns the object's replicas."""
    out: Entries = {}
    for owner, entry in _decode(parent).items():
        path = paths.get(entry.version)
        if path is not None and contains(entry.fields, _keys(path)):
            version = SCALE_VERSION if owner.operation == "Update" else ""
            out[owner._replace(version=version)] = Entry(of_path(_REPLICAS), SCALE_VERSION, entry.time)
    return managed_fields.encode(out, ordered=False)


def to_parent(parent: list[JsonObject], scale: list[JsonObject], *, api_version: str, paths: Paths) -> list[JsonObject]:
    """Return the managedFields of the object after a client wrote its Scale.

    `parent` are the object's managedFields before the write, and `scale` those of the Scale after it. The client's
    manager now owns the object's replicas at `api_version`.
    """
    scale_entries = _decode(scale)
    parent_entries = _decode(parent)
    out: Entries = {}
    for owner, entry in parent_entries.items():
        if entry.version not in paths:
            continue
        path = paths[entry.version]
        if path is None or not contains(entry.fields, _keys(path)):
            out[owner] = entry
        elif owner in scale_entries:
            out[owner] = entry
            del scale_entries[owner]
        elif fields := difference(entry.fields, of_path(_keys(path))):
            entry.change(fields)
            out[owner] = entry
    replicas_path = paths.get(api_version)
    for owner, entry in scale_entries.items():
        if replicas_path is not None and contains(entry.fields, _REPLICAS):
            # As in kube-apiserver, only the times of existing entries are kept. A new entry has no time.
            time = parent_entries[owner].time if owner in parent_entries else None
            out[owner] = Entry(of_path(_keys(replicas_path)), api_version, time)
    return managed_fields.encode(out, ordered=False)


def _keys(path: str) -> tuple[str, ...]:
    """Split the path at its dots, as kube-apiserver does. Dots cannot be escaped."""
    return tuple(f"f:{name}" for name in path.removeprefix(".").split("."))


def _decode(entry_list: list[JsonObject]) -> Entries:
    return managed_fields.decode(entry_list, trusted=True) or {}
