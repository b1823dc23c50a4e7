"""Ownership of fields by managers: adaptation to schema changes, and removal of changed fields from entries."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from polykind import errors
from polykind.apply.compare import Comparison, compare
from polykind.apply.fieldset import LEAF, Fields, difference
from polykind.apply.managed_fields import SYSTEM_METADATA, Entries, change_entry, strip_system_fields
from polykind.apply.model import Type, TypeMismatchError
from polykind.apply.typed_value import applied_fields, type_errors
from polykind.apply.typemodel import TypeModel
from polykind.contract import JsonObject

Convert = Callable[[JsonObject, str], Awaitable[JsonObject | None]]
"""A function that converts an object to an apiVersion. It returns None if the version no longer exists, and raises
APIError if the conversion fails.
"""

Models = Mapping[str, TypeModel]
"""The TypeModel of each version of a kind, by apiVersion."""

Reset = Mapping[str, Fields]
"""The fields that requests to an endpoint cannot change, by apiVersion. Such requests never own these fields."""

MAIN_RESET: Final[Fields] = {"f:status": LEAF}
"""The fields that clients cannot change through the main endpoint of a kind with a status subresource."""

STATUS_RESET: Final[Fields] = {"f:metadata": LEAF, "f:spec": LEAF}
"""The fields that clients cannot change through the status endpoint of most kinds."""

SPEC_RESET: Final[Fields] = {"f:spec": LEAF}
"""The fields that clients cannot change through the status endpoint of kinds whose status endpoint changes metadata."""

UNOWNED_FIELDS: Final[Fields] = {
    "f:apiVersion": LEAF,
    "f:kind": LEAF,
    "f:metadata": {".": LEAF, **{f"f:{name}": LEAF for name in sorted(SYSTEM_METADATA)}},
}
"""Fields that no manager can own."""


async def reconcile_schema(entries: Entries, models: Models, live: JsonObject, convert: Convert) -> None:
    """Adapt the managedFields entries to the current schemas, in place.

    Entries of versions that no longer exist are dropped, unless `convert` raises APIError for the version.
    """
    for owner, entry in list(entries.items()):
        model = models.get(entry.version)
        if model is None:
            await convert(live, entry.version)
            del entries[owner]
            continue
        fields = reconcile_atomics(entry.fields, model.root)
        if fields is not entry.fields:
            entry.change(fields)


def reconcile_atomics(fields: Fields, type_: Type) -> Fields:
    """Return the set, adapted to a changed schema: for a value that is now atomic, one path replaces its fields."""
    if type_.map is None:
        if type_.scalar or type_.list is None:
            return fields
    elif type_.map.deduced:
        return fields
    out = None
    for key, below in fields.items():
        if not below or key == ".":
            continue
        if type_.map is not None:
            field = type_.map.fields.get(key[2:]) if key[:2] == "f:" else None
            element_type = type_.map.element if field is None else field.type
        else:
            element_type = type_.list.element if type_.list is not None else None
        if element_type is None:
            continue
        new = LEAF if _atomic(element_type) else reconcile_atomics(below, element_type)
        if new is not below:
            if out is None:
                out = fields.copy()
            out[key] = new
    return fields if out is None else out


def _atomic(type_: Type) -> bool:
    if type_.map is not None:
        return type_.map.atomic and not type_.map.deduced
    return not type_.scalar and type_.list is not None and type_.list.atomic


def disown_system(entries: Entries, new: JsonObject) -> None:
    """Remove system metadata, such as uid, from all entries if `new`, the object of a create request, contains it."""
    metadata = new.get("metadata")
    system_fields = sorted(SYSTEM_METADATA & metadata.keys()) if isinstance(metadata, dict) else []
    if not system_fields:
        return
    removed_fields: Fields = {"f:metadata": {f"f:{name}": LEAF for name in system_fields}}
    for owner, entry in list(entries.items()):
        change_entry(entries, owner, difference(entry.fields, removed_fields))


async def remove_changed_fields(
    entries: Entries,
    comparison: Comparison,
    old: JsonObject,
    new: JsonObject,
    api_version: str,
    models: Models,
    convert: Convert,
    reset: Reset,
) -> None:
    """Remove the fields that differ between `old` and `new` from all entries. Drop entries without fields.

    `comparison` compares the objects at `api_version`. For an entry of another version, the objects are converted to
    that version and compared again. Raise APIError if a conversion fails, and TypeMismatchError if a converted object
    does not match its type.
    """
    versions: dict[str, Comparison | None] = {api_version: comparison}
    for owner, entry in list(entries.items()):
        if entry.version not in versions:
            versions[entry.version] = await compare_at(entry.version, old, new, models, convert, reset)
        other_comparison = versions[entry.version]
        if other_comparison is None:
            del entries[owner]
            continue
        fields = entry.fields
        for part in other_comparison:
            if part:
                fields = difference(fields, part)
        change_entry(entries, owner, fields)


async def compare_at(
    version: str, old: JsonObject, new: JsonObject, models: Models, convert: Convert, reset: Reset
) -> Comparison | None:
    """Compare `old` and `new`, converted to `version`. Return None if the version does not exist."""
    model = models.get(version)
    if model is None:
        return None
    before, after = await convert(old, version), await convert(new, version)
    if before is None or after is None:
        return None
    before, after = strip_system_fields(before), strip_system_fields(after)
    applied_fields(before, model.root, unique=True)
    applied_fields(after, model.root, unique=True)
    return compare(before, after, model.root).excluding(reset.get(version))


class VersionConverter:
    """Converts objects between the versions of a kind, for apply requests."""

    def __init__(self, models: Models, convert: Convert) -> None:
        self.models = models
        self.convert = convert

    async def convert_to(self, document: JsonObject, version: str, error_prefix: str = "") -> JsonObject | None:
        """Return the object at a version. Return None if the version does not exist.

        Raise UnknownReasonError if the object cannot be converted or does not match its type. Its message starts with
        `error_prefix`.
        """
        if document.get("apiVersion") == version:
            return document
        if version not in self.models:
            return None
        type_ = self.models[version].root
        try:
            converted = await self.convert(document, version)
            if converted is not None:
                applied_fields(converted, type_, unique=True)
        except errors.APIError as error:
            raise errors.UnknownReasonError(error_prefix + error.message) from None
        except TypeMismatchError:
            raise errors.UnknownReasonError(error_prefix + type_errors(converted, type_)) from None
        return converted
