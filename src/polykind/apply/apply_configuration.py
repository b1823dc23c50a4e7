"""A configuration that a policy lays over an object: merged as an apply is, but owned by nobody."""

from __future__ import annotations

from typing import Any

from polykind.apply.fieldset import format_path
from polykind.apply.merge import merge
from polykind.apply.model import MisfitError, Type
from polykind.apply.typed_value import applied_fields, check_type, type_errors
from polykind.contract import JsonObject


class ApplyConfigurationError(Exception):
    """A configuration that cannot be laid over an object; says why."""


def merge_configuration(live: JsonObject, applied: JsonObject, kind: Type) -> JsonObject:
    """The object with what is applied in it. Raises Unfit."""
    try:
        applied_fields(applied, kind, unique=True)
    except MisfitError:
        raise ApplyConfigurationError(
            f"failed to convert patch object to typed object: {type_errors(applied, kind)}"
        ) from None
    if found := _atomics(applied, kind, ()):
        what = "may not mutate atomic arrays, maps or structs"
        raise ApplyConfigurationError(f"invalid ApplyConfiguration: {what}: {', '.join(map(format_path, found))}")
    try:
        check_type(live, kind)
    except MisfitError:
        raise ApplyConfigurationError(
            f"failed to convert original object to typed object: {type_errors(live, kind)}"
        ) from None
    try:
        made: JsonObject = merge(live, applied, kind)
    except MisfitError as error:
        raise ApplyConfigurationError(f"failed to merge patch: {error}") from None
    return made


def _atomics(value: Any, kind: Type, path: tuple[str, ...]) -> list[tuple[str, ...]]:
    """What is owned as a whole, among what is named: of it, an apply would take away all that it does not state."""
    found: list[tuple[str, ...]] = []
    if isinstance(value, dict) and kind.map is not None:
        if kind.map.atomic:
            found.append(path)
        for name, item in value.items():
            field = kind.map.fields.get(name)
            if field is not None:
                found += _atomics(item, field.type, (*path, f"f:{name}"))
    elif isinstance(value, list) and kind.list is not None:
        if kind.list.atomic:
            found.append(path)
        for index, item in enumerate(value):
            found += _atomics(item, kind.list.element, (*path, f"i:{index}"))
    return found
