"""The text that a field selector compares: a scalar at a path of an object, as Go's fmt.Sprint writes it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from polykind.contract import JsonObject
from polykind.golang.fmt import go_float

_DEEPEST = 100


def split_json_path(path: str) -> tuple[str, ...]:
    """The keys of a selectable field's jsonPath such as .spec.colour; such paths know no other notation."""
    return tuple(path.removeprefix(".").split("."))


def selector_name(path: str) -> str:
    """The name of a selectable field in a field selector."""
    return path.removeprefix(".")


def field_text(obj: JsonObject, keys: Sequence[str]) -> str:
    """The text of the value at `keys`; a missing one is empty."""
    value: Any = obj
    for key in keys:
        if type(value) is not dict:
            return ""
        value = value.get(key)
    return "" if value is None else text(value)


def selectable_field_texts(obj: JsonObject, paths: Iterable[str]) -> dict[str, str]:
    """The texts of the fields at `paths` (jsonPaths), by their names in selectors."""
    return {selector_name(path): field_text(obj, split_json_path(path)) for path in paths}


def text(value: Any, depth: int = 0) -> str:
    """A JSON value as Go's %v writes it; what lies too deep to be a selectable field is cut."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return go_float(value)
    if value is None:
        return "<nil>"
    if depth >= _DEEPEST:
        return "..."
    if isinstance(value, dict):
        return f"map[{' '.join(f'{k}:{text(value[k], depth + 1)}' for k in sorted(value))}]"
    return f"[{' '.join(text(item, depth + 1) for item in value)}]"
