"""What a manifest means: how the API server understands it, and what it must say to be understood so."""

from __future__ import annotations

from typing import Any

from polykind.contract import JsonObject
from polykind.toolkit.crd_versions import DefinedVersion
from polykind.toolkit.files.yamltext import same

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
CHANGEABLE = ("labels", "annotations")
_ABSENT = object()


def completed(
    said: JsonObject, meant: JsonObject, meaning: JsonObject, target: DefinedVersion
) -> tuple[JsonObject, list[str]]:
    """What was said, with as much written out as the API server needs to take it for what was meant; and where."""
    understood = target.defaulted(said)
    wanted, got = sense(meaning), sense(understood)
    if same(wanted, got):
        return said, []
    notes: list[str] = []
    metadata = carried(said["metadata"], meant["metadata"])
    out: JsonObject = _merged({**said, "metadata": {}}, {**wanted, "metadata": {}}, {**got, "metadata": {}}, "", notes)
    out["metadata"] = metadata
    if not same(sense(target.defaulted(out)), wanted):
        out, notes = {**meant, "metadata": metadata}, ["spec"]
    return out, notes


def _merged(said: Any, wanted: Any, got: Any, path: str, notes: list[str]) -> Any:
    if same(wanted, got):
        return said
    if isinstance(wanted, dict) and isinstance(got, dict) and isinstance(said, dict):
        out = {}
        for key in [*(k for k in said if k in wanted), *(k for k in wanted if k not in said)]:
            at = f"{path}.{key}" if path else key
            if key in got:
                merged = _merged(said.get(key, _ABSENT), wanted[key], got[key], at, notes)
                if merged is not _ABSENT:
                    out[key] = merged
            else:
                notes.append(at)
                out[key] = wanted[key]
        return out
    if isinstance(wanted, list) and isinstance(got, list) and isinstance(said, list) and len(wanted) == len(said):
        parts = zip(said, wanted, got, strict=True)
        return [_merged(*part, f"{path}[{index}]", notes) for index, part in enumerate(parts)]
    notes.append(path)
    return wanted


def sense(obj: JsonObject) -> JsonObject:
    """All of an object that a converter may change, but for what `kubectl apply` noted."""
    metadata = kept(metadata_of(obj))
    if "annotations" in metadata:
        metadata["annotations"] = {k: v for k, v in metadata["annotations"].items() if k != LAST_APPLIED}
    return {**obj, "metadata": {key: value for key, value in metadata.items() if value}}


def kept(metadata: JsonObject) -> JsonObject:
    """Of the metadata, what a converter may change."""
    return {key: metadata[key] for key in CHANGEABLE if key in metadata}


def carried(metadata: JsonObject, other: JsonObject) -> JsonObject:
    """Metadata with what a converter may change taken from another."""
    return {**{key: value for key, value in metadata.items() if key not in CHANGEABLE}, **kept(other)}


def metadata_of(obj: JsonObject) -> JsonObject:
    """The metadata of an object; nothing, if it has none."""
    metadata = obj.get("metadata")
    return metadata if isinstance(metadata, dict) else {}
