"""Finding of the defaults that a converted manifest must contain explicitly to keep its meaning.

Two manifests have the same meaning if the API server stores the same object for them.
"""

from __future__ import annotations

from typing import Any

from polykind.contract import JsonObject
from polykind.toolkit.crd_versions import CRDVersion
from polykind.toolkit.files.yaml_rewriter import same_json

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_MUTABLE_METADATA = ("labels", "annotations")
_ABSENT = object()


def write_differing_defaults(
    written: JsonObject, converted: JsonObject, expected: JsonObject, target: CRDVersion
) -> tuple[JsonObject, list[str]]:
    """Add explicit values where the target version's defaults differ from those that the source version applied.

    `written` is the converted manifest as the author wrote it, `converted` the converted object with the source
    version's defaults, and `expected` is `converted` with the target version's defaults. Return the completed manifest
    and the paths that were added.
    """
    served = target.defaulted(written)
    expected_state, actual_state = normalize(expected), normalize(served)
    if same_json(expected_state, actual_state):
        return written, []
    added_paths: list[str] = []
    metadata = replace_mutable_metadata(written["metadata"], converted["metadata"])
    out: JsonObject = _merge(
        {**written, "metadata": {}},
        {**expected_state, "metadata": {}},
        {**actual_state, "metadata": {}},
        "",
        added_paths,
    )
    out["metadata"] = metadata
    if not same_json(normalize(target.defaulted(out)), expected_state):
        out, added_paths = {**converted, "metadata": metadata}, ["spec"]
    return out, added_paths


def _merge(written: Any, expected_state: Any, actual_state: Any, path: str, added_paths: list[str]) -> Any:
    if same_json(expected_state, actual_state):
        return written
    states = (written, expected_state, actual_state)
    if all(isinstance(each, dict) for each in states):
        return _merge_objects(written, expected_state, actual_state, path, added_paths)
    if all(isinstance(each, list) for each in states) and len(expected_state) == len(written):
        parts = zip(*states, strict=True)
        return [_merge(*part, f"{path}[{index}]", added_paths) for index, part in enumerate(parts)]
    added_paths.append(path)
    return expected_state


def _merge_objects(
    written: JsonObject, expected_state: JsonObject, actual_state: JsonObject, path: str, added_paths: list[str]
) -> JsonObject:
    out = {}
    for key in [*(k for k in written if k in expected_state), *(k for k in expected_state if k not in written)]:
        field = f"{path}.{key}" if path else key
        if key not in actual_state:
            added_paths.append(field)
            out[key] = expected_state[key]
            continue
        merged = _merge(written.get(key, _ABSENT), expected_state[key], actual_state[key], field, added_paths)
        if merged is not _ABSENT:
            out[key] = merged
    return out


def normalize(obj: JsonObject) -> JsonObject:
    """Return an object with only the metadata that a converter may change, and without the last-applied annotation."""
    metadata = mutable_metadata(metadata_of(obj))
    if "annotations" in metadata:
        metadata["annotations"] = {k: v for k, v in metadata["annotations"].items() if k != LAST_APPLIED}
    return {**obj, "metadata": {key: value for key, value in metadata.items() if value}}


def mutable_metadata(metadata: JsonObject) -> JsonObject:
    """Return the metadata fields that a converter may change: labels and annotations."""
    return {key: metadata[key] for key in _MUTABLE_METADATA if key in metadata}


def replace_mutable_metadata(metadata: JsonObject, other: JsonObject) -> JsonObject:
    """Return `metadata` with the labels and annotations of `other`."""
    return {
        **{key: value for key, value in metadata.items() if key not in _MUTABLE_METADATA},
        **mutable_metadata(other),
    }


def metadata_of(obj: JsonObject) -> JsonObject:
    """Return an object's metadata, or an empty dict if it has none."""
    metadata = obj.get("metadata")
    return metadata if isinstance(metadata, dict) else {}
