"""Coverage of a schema by tested objects."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from polykind.contract import JsonObject
from polykind.schema.node import META_KEYS, SchemaNode
from polykind.toolkit.crd_versions import CRDVersion

_MAX_DISTINCT = 1000
"""The number of distinct values of a field after which the count stops, to limit memory."""


@dataclass(slots=True)
class FieldUse:
    """The number of objects and values in which tests used a field."""

    objects: int = 0
    """The number of objects with the field."""
    values: int = 0
    """The number of values. It exceeds the number of objects if the field is in a list or map."""
    _seen: set[int] = field(default_factory=set)

    def add(self, value: Any) -> None:
        """Count a value. Only scalars, empty objects and empty lists count as distinct values."""
        self.values += 1
        if len(self._seen) < _MAX_DISTINCT and (not value or not isinstance(value, (dict, list))):
            self._seen.add(hash((type(value), value if isinstance(value, (str, int, float)) else None)))

    @property
    def distinct(self) -> int:
        """The number of distinct scalar values, at most 1,000."""
        return len(self._seen)


class FieldCoverage:
    """Tracks which schema fields of a version the tested objects have. Paths look like `spec.ports[*].name`."""

    def __init__(self, version: CRDVersion) -> None:
        self._version = version
        self.fields: dict[str, FieldUse] = {}
        """The use of each field that an object had."""

    def add(self, obj: JsonObject) -> None:
        """Mark the fields that an object has as covered."""
        root = self._version.schema.root
        present: set[str] = set()
        for key, value in obj.items():
            if key not in META_KEYS:
                self._walk(root.child(key), value, key, present)
        for path in present:
            self.fields[path].objects += 1

    def uncovered(self) -> list[str]:
        """Return the schema fields that no object has. Omit the fields below such a field."""
        out: list[str] = []
        for path in schema_fields(self._version.openapi):
            if path not in self.fields and not (out and path.startswith((f"{out[-1]}.", f"{out[-1]}["))):
                out.append(path)
        return out

    def _walk(self, node: SchemaNode | None, value: Any, path: str, present: set[str]) -> None:
        self.fields.setdefault(path, FieldUse()).add(value)
        present.add(path)
        if node is None:
            return
        if isinstance(value, dict):
            for key, item in value.items():
                self._walk(node.child(key), item, f"{path}.{key}" if node.has_property(key) else f"{path}.*", present)
        elif isinstance(value, list):
            for item in value:
                self._walk(node.items, item, f"{path}[*]", present)


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
