"""Merge of the ApplyConfiguration of a MutatingAdmissionPolicy into an object. managedFields are not used."""

from __future__ import annotations

from typing import Any

from polykind.apply.fieldset import format_path
from polykind.apply.merge import merge
from polykind.apply.model import Type, TypeMismatchError
from polykind.apply.typed_value import applied_fields, check_type, type_errors
from polykind.contract import JsonObject


class ApplyConfigurationError(Exception):
    """A configuration that cannot be merged into an object."""


def merge_configuration(live: JsonObject, applied: JsonObject, type_: Type) -> JsonObject:
    """Return `live` with the configuration `applied` merged in.

    Raise ApplyConfigurationError if one of the two does not match its type, or if `applied` sets an atomic value.
    """
    try:
        applied_fields(applied, type_, unique=True)
    except TypeMismatchError:
        raise ApplyConfigurationError(
            f"failed to convert patch object to typed object: {type_errors(applied, type_)}"
        ) from None
    if atomics := _atomic_paths(applied, type_, ()):
        message = "may not mutate atomic arrays, maps or structs"
        raise ApplyConfigurationError(f"invalid ApplyConfiguration: {message}: {', '.join(map(format_path, atomics))}")
    try:
        check_type(live, type_)
    except TypeMismatchError:
        raise ApplyConfigurationError(
            f"failed to convert original object to typed object: {type_errors(live, type_)}"
        ) from None
    try:
        merged: JsonObject = merge(live, applied, type_)
    except TypeMismatchError as error:
        raise ApplyConfigurationError(f"failed to merge patch: {error}") from None
    return merged


def _atomic_paths(value: Any, type_: Type, path: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Return the paths of atomic values in the configuration. Merging an atomic value would remove the live fields."""
    atomics: list[tuple[str, ...]] = []
    if isinstance(value, dict) and type_.map is not None:
        if type_.map.atomic:
            atomics.append(path)
        for name, item in value.items():
            field = type_.map.fields.get(name)
            if field is not None:
                atomics += _atomic_paths(item, field.type, (*path, f"f:{name}"))
    elif isinstance(value, list) and type_.list is not None:
        if type_.list.atomic:
            atomics.append(path)
        for index, item in enumerate(value):
            atomics += _atomic_paths(item, type_.list.element, (*path, f"i:{index}"))
    return atomics
