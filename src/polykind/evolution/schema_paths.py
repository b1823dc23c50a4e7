"""The paths of the fields in a schema, such as `spec.ports[*].name`."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher

from polykind.contract import JsonObject
from polykind.schema.node import META_KEYS

_MIN_SIMILARITY = 0.6
_MAX_SIMILAR = 2


def schema_paths(schema: JsonObject, path: str = "") -> Iterator[tuple[str, JsonObject]]:
    """Yield the path and the schema of each field, parents before children, without apiVersion, kind and metadata."""
    for name, child in (schema.get("properties") or {}).items():
        if isinstance(child, dict) and (path or name not in META_KEYS):
            here = f"{path}.{name}" if path else name
            yield here, child
            yield from schema_paths(child, here)
    for keyword, step in (("items", "[*]"), ("additionalProperties", ".*")):
        if path and isinstance(schema.get(keyword), dict):
            yield f"{path}{step}", schema[keyword]
            yield from schema_paths(schema[keyword], f"{path}{step}")


def similarity(one: str, other: str) -> float:
    """Return the similarity of two names, from 0 to 1. Upper and lower case are the same."""
    return SequenceMatcher(None, one.lower(), other.lower(), autojunk=False).ratio()


def similar_paths(schema: JsonObject, path: str) -> list[str]:
    """Return the fields of a schema whose paths are most similar to a path that the schema does not have."""
    scored = [(similarity(path, known), known) for known, _ in schema_paths(schema)]
    scored = sorted((each for each in scored if each[0] >= _MIN_SIMILARITY), key=lambda each: (-each[0], each[1]))
    return [known for _, known in scored[:_MAX_SIMILAR]]
