"""The values that a scale subresource reads: replicas in the range of int32, a label selector that is a string."""

from __future__ import annotations

from typing import Any

from polykind import errors
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.golang.fmt import go_print, go_type

_MOST = 2**31 - 1


def validate_scale(obj: JsonObject, scale: JsonObject | None, *, status: bool = False) -> list[FieldError]:
    """The checks of a write; with `status`, those of a write to the status subresource."""
    if not isinstance(scale, dict):
        return []
    found: list[FieldError] = []
    if not status:
        _replicas(obj, scale.get("specReplicasPath"), found)
    _replicas(obj, scale.get("statusReplicasPath"), found)
    path = scale.get("labelSelectorPath")
    if isinstance(path, str):
        value, problem = nested_value(obj, path, str, "string")
        if problem:
            found.append(errors.invalid(path, value or "", problem))
    return found


def _replicas(obj: JsonObject, path: Any, found: list[FieldError]) -> None:
    if not isinstance(path, str):
        return
    value, problem = nested_value(obj, path, int, "int64")
    replicas = value or 0
    if problem:
        found.append(errors.invalid(path, 0, problem))
    elif replicas < 0:
        found.append(errors.invalid(path, replicas, "should be a non-negative integer"))
    elif replicas > _MOST:
        found.append(errors.invalid(path, replicas, f"should be less than or equal to {_MOST}"))


def split_path(path: str) -> list[str]:
    """A path in parts: it is split only at dots."""
    return path.removeprefix(".").split(".")


def nested_value(obj: JsonObject, path: str, kind: type, name: str) -> tuple[Any, str]:
    """The value at a path, None where there is none, and what is wrong with it."""
    keys = split_path(path)
    value: Any = obj
    for at, key in enumerate(keys):
        if value is None:
            return None, ""
        if type(value) is not dict:
            shown = f"{go_print(value)} is of the type {go_type(value)}, expected map[string]interface{{}}"
            return None, f".{'.'.join(keys[: at + 1])} accessor error: {shown}"
        if key not in value:
            return None, ""
        value = value[key]
    if type(value) is not kind:
        return (
            None,
            f".{'.'.join(keys)} accessor error: {go_print(value)} is of the type {go_type(value)}, expected {name}",
        )
    return value, ""
