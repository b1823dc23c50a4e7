"""Validation of the values that a scale subresource reads: the replicas, in int32, and the label selector, a string."""

from __future__ import annotations

from typing import Any

from polykind import errors
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.golang.fmt import go_print, go_type

_MAX_REPLICAS = 2**31 - 1


def validate_scale(obj: JsonObject, scale: JsonObject | None, *, status: bool = False) -> list[FieldError]:
    """Validate the values at the paths of a scale subresource. `status` is True for a write to the status."""
    if not isinstance(scale, dict):
        return []
    field_errors: list[FieldError] = []
    if not status:
        _validate_replicas(obj, scale.get("specReplicasPath"), field_errors)
    _validate_replicas(obj, scale.get("statusReplicasPath"), field_errors)
    path = scale.get("labelSelectorPath")
    if isinstance(path, str):
        value, message = nested_value(obj, path, str, "string")
        if message:
            field_errors.append(errors.invalid(path, value or "", message))
    return field_errors


def _validate_replicas(obj: JsonObject, path: Any, field_errors: list[FieldError]) -> None:
    if not isinstance(path, str):
        return
    value, message = nested_value(obj, path, int, "int64")
    replicas = value or 0
    if message:
        field_errors.append(errors.invalid(path, 0, message))
    elif replicas < 0:
        field_errors.append(errors.invalid(path, replicas, "should be a non-negative integer"))
    elif replicas > _MAX_REPLICAS:
        field_errors.append(errors.invalid(path, replicas, f"should be less than or equal to {_MAX_REPLICAS}"))


def split_path(path: str) -> list[str]:
    """Return the keys of a path such as .spec.replicas. Dots in keys cannot be escaped."""
    return path.removeprefix(".").split(".")


def nested_value(obj: JsonObject, path: str, kind: type, name: str) -> tuple[Any, str]:
    """Return the value at a path and an error message. The value is None if the path has no value of type `kind`."""
    keys = split_path(path)
    value: Any = obj
    for at, key in enumerate(keys):
        if value is None:
            return None, ""
        if type(value) is not dict:
            return None, _accessor_error(keys[: at + 1], value, "map[string]interface{}")
        if key not in value:
            return None, ""
        value = value[key]
    if type(value) is not kind:
        return None, _accessor_error(keys, value, name)
    return value, ""


def _accessor_error(keys: list[str], value: Any, expected: str) -> str:
    return f".{'.'.join(keys)} accessor error: {go_print(value)} is of the type {go_type(value)}, expected {expected}"
