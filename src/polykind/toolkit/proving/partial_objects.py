"""Partial objects, as server-side apply sends them, and variants of an object for the same review."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from polykind.contract import JsonObject, copy_json
from polykind.schema.node import META_KEYS
from polykind.toolkit.proving.object_diff import Path, format_path, leaf_paths

_MAX_SINGLE_FIELDS = 24
"""The maximum number of partial objects with a single field that are tested for one object."""


def partial_objects(obj: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    """Yield partial objects, as server-side apply may send them, each with a description."""
    head = {key: obj[key] for key in ("apiVersion", "kind")}
    body = {key: value for key, value in obj.items() if key not in META_KEYS}
    metadata = {key: value for key, value in obj["metadata"].items() if key in ("name", "namespace")}
    named = {**head, "metadata": metadata}
    yield "without metadata", copy_json({**head, **body})
    yield "nothing but metadata", copy_json(named)
    yield "nothing but apiVersion and kind", copy_json(head)
    for key, value in body.items():
        if isinstance(value, dict):
            yield f"with an empty {key}", copy_json({**named, key: {}})
    paths = [path for path in leaf_paths(body) if path]
    for path in paths[:: max(1, len(paths) // _MAX_SINGLE_FIELDS)]:
        yield f"nothing but {format_path(path)}", copy_json({**named, **_keep_only(body, path)})


def _keep_only(value: Any, path: Path) -> Any:
    """Return a copy of the value that contains only the field or list item at the path."""
    if not path:
        return value
    inner = _keep_only(value[path[0]], path[1:])
    return [inner] if isinstance(path[0], int) else {path[0]: inner}


def related_objects(obj: JsonObject) -> list[JsonObject]:
    """Return the object, a renamed copy, a copy with an empty body, and a copy with half of the fields."""
    twin, minimal, half = copy_json(obj), copy_json(obj), copy_json(obj)
    for other, suffix in ((twin, "twin"), (minimal, "lean")):
        other["metadata"] = {**_user_metadata(other["metadata"]), "name": f"{obj['metadata']['name']}-{suffix}"}
    for key in [key for key in obj if key not in META_KEYS]:
        if isinstance(obj[key], dict):
            half[key] = {name: half[key][name] for name in list(half[key])[::2]}
            minimal[key] = {}
    half["metadata"] = _user_metadata(half["metadata"])
    if "namespace" in half["metadata"]:
        half["metadata"]["namespace"] = "elsewhere"
    else:
        half["metadata"]["name"] += "-half"
    return [obj, twin, minimal, half]


def _user_metadata(metadata: JsonObject) -> JsonObject:
    return {key: value for key, value in metadata.items() if key in ("name", "namespace", "labels", "annotations")}
