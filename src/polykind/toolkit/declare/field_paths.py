"""Paths to fields of objects, such as `spec.schedule` or `spec.jobs[*].command`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from polykind.contract import JsonObject

_PATH = re.compile(r"[^.\[\]]+(\[\*\])?(\.[^.\[\]]+(\[\*\])?)*").fullmatch
MISSING: Any = object()
"""Stands for the value of a field that is not there."""


class FieldPath:
    """A path: through lists to some objects, its `scopes`, and from each by names to a field."""

    def __init__(self, text: str) -> None:
        if not _PATH(text) or text.endswith("]"):
            raise ValueError(f"{text!r} is no path to a field, such as spec.schedule or spec.jobs[*].command")
        if text.partition(".")[0] in ("apiVersion", "kind", "metadata"):
            raise ValueError(f"{text}: who an object is, is not for conversions to change")
        lists, star, field = text.rpartition("[*]")
        self.text = text
        self.lists = lists + star
        self._names = field.lstrip(".").split(".")

    def scopes(self, obj: JsonObject) -> list[JsonObject]:
        """The objects that the path leads to through lists; without lists the object itself."""
        scopes = [obj]
        for part in self.lists.split("[*]")[:-1]:
            items = [_get(current, part.lstrip(".").split(".")) for current in scopes]
            scopes = [item for listed in items if isinstance(listed, list) for item in listed if isinstance(item, dict)]
        return scopes

    def get(self, scope: JsonObject) -> Any:
        """The field's value, or MISSING."""
        return _get(scope, self._names)

    def pop(self, scope: JsonObject) -> Any:
        """Take the field out; its value, or MISSING. Objects that nothing is left in go too, but for the outermost."""
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
        """Give the field a value, making the objects that lead to it."""
        current = scope
        for name in self._names[:-1]:
            current = current.setdefault(name, {})
            if not isinstance(current, dict):
                raise ValueError(f"{self.text} cannot be set: {name} is no object")
        current[self._names[-1]] = value

    def reaches(self, scope: JsonObject) -> bool:
        """Whether the first of the objects that lead to the field is there."""
        return len(self._names) == 1 or isinstance(scope.get(self._names[0]), dict)


def _get(current: Any, names: list[str] | Iterator[str]) -> Any:
    for name in names:
        if not isinstance(current, dict) or name not in current:
            return MISSING
        current = current[name]
    return current
