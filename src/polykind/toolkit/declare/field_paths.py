"""Paths to fields of an object, such as `spec.schedule` or `spec.jobs[*].command`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from polykind.contract import JsonObject

_PATH = re.compile(r"[^.\[\]]+(\[\*\])?(\.[^.\[\]]+(\[\*\])?)*").fullmatch
MISSING: Any = object()
"""The value of a field that does not exist."""


class FieldPath:
    """A path to a field: through lists to objects (the scopes), then by field names to one field of each scope."""

    def __init__(self, text: str) -> None:
        if not _PATH(text) or text.endswith("]"):
            raise ValueError(f"{text!r} is not a path to a field, such as spec.schedule or spec.jobs[*].command")
        if text.partition(".")[0] in ("apiVersion", "kind", "metadata"):
            raise ValueError(f"{text}: a conversion must not change apiVersion, kind or metadata")
        lists, star, field = text.rpartition("[*]")
        self.text = text
        self.lists = lists + star
        self._names = field.lstrip(".").split(".")

    def scopes(self, obj: JsonObject) -> list[JsonObject]:
        """Return the list items that contain the field, or the object itself if the path has no `[*]`."""
        scopes = [obj]
        for part in self.lists.split("[*]")[:-1]:
            items = [_get(current, part.lstrip(".").split(".")) for current in scopes]
            scopes = [item for listed in items if isinstance(listed, list) for item in listed if isinstance(item, dict)]
        return scopes

    def get(self, scope: JsonObject) -> Any:
        """Return the field's value, or MISSING."""
        return _get(scope, self._names)

    def pop(self, scope: JsonObject) -> Any:
        """Remove the field and return its value, or MISSING.

        Also remove objects that become empty, except the outermost one (such as `spec`).
        """
        parents = [scope]
        for name in self._names[:-1]:
            child = parents[-1].get(name)
            if not isinstance(child, dict):
                return MISSING
            parents.append(child)
        value = parents[-1].pop(self._names[-1], MISSING)
        if value is not MISSING:
            outermost = 0 if self.lists else 1
            for depth in range(len(parents) - 1, outermost, -1):
                if parents[depth]:
                    break
                del parents[depth - 1][self._names[depth - 1]]
        return value

    def set(self, scope: JsonObject, value: Any) -> None:
        """Set the field and create missing parent objects."""
        current = scope
        for name in self._names[:-1]:
            current = current.setdefault(name, {})
            if not isinstance(current, dict):
                raise ValueError(f"{self.text} cannot be set: {name} is not an object")
        current[self._names[-1]] = value

    def reaches(self, scope: JsonObject) -> bool:
        """True if the first object on the path to the field exists."""
        return len(self._names) == 1 or isinstance(scope.get(self._names[0]), dict)


def _get(current: Any, names: list[str] | Iterator[str]) -> Any:
    for name in names:
        if not isinstance(current, dict) or name not in current:
            return MISSING
        current = current[name]
    return current
