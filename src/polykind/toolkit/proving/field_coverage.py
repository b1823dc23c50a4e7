"""Coverage of a schema by tested objects."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from polykind.contract import JsonObject
from polykind.schema.node import META_KEYS, SchemaNode
from polykind.toolkit.crd_versions import CRDVersion


class FieldCoverage:
    """Tracks which schema fields of a version the tested objects have. Paths look like `spec.ports[*].name`."""

    def __init__(self, version: CRDVersion) -> None:
        self._version = version
        self.counts: dict[str, int] = {}
        """The number of values that the tested objects had in each field."""

    def add(self, obj: JsonObject) -> None:
        """Mark the fields that an object has as covered."""
        root = self._version.schema.root
        for key, value in obj.items():
            if key not in META_KEYS:
                self._walk(root.child(key), value, key)

    def uncovered(self) -> list[str]:
        """Return the schema fields that no object has. Omit the fields below such a field."""
        out: list[str] = []
        for path in schema_fields(self._version.openapi):
            if path not in self.counts and not (out and path.startswith((f"{out[-1]}.", f"{out[-1]}["))):
                out.append(path)
        return out

    def _walk(self, node: SchemaNode | None, value: Any, path: str) -> None:
        self.counts[path] = self.counts.get(path, 0) + 1
        if node is None:
            return
        if isinstance(value, dict):
            for key, item in value.items():
                self._walk(node.child(key), item, f"{path}.{key}" if node.has_property(key) else f"{path}.*")
        elif isinstance(value, list):
            for item in value:
                self._walk(node.items, item, f"{path}[*]")


def schema_fields(raw: JsonObject, path: str = "") -> Iterator[str]:
    """Yield the paths of all fields in the schema `raw`, parents before children."""
    inner = [
        (f"{path}.{name}" if path else name, child)
        for name, child in (raw.get("properties") or {}).items()
        if path or name not in META_KEYS
    ]
    inner += [
        (f"{path}{step}", raw[key])
        for key, step in (("items", "[*]"), ("additionalProperties", ".*"))
        if path and isinstance(raw.get(key), dict)
    ]
    for here, child in inner:
        yield here
        yield from schema_fields(child, here)
