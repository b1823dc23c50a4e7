"""Removal of fields that a field manager no longer applies and that no other manager owns."""

from __future__ import annotations

from typing import Any

from polykind.apply.fieldset import EMPTY, LEAF, Fields, difference, intersection, is_member, union
from polykind.apply.managed_fields import Entries, Entry, Owner
from polykind.apply.model import DEDUCED, MISSING, MapType, Type
from polykind.apply.ownership import VersionConverter
from polykind.apply.typed_value import applied_fields
from polykind.contract import JsonObject

_FAILED = "failed to prune fields"


class Pruner:
    """Removes dropped fields from one object after an apply. `entries` already contains the new entry of `owner`."""

    def __init__(self, entries: Entries, owner: Owner, versions: VersionConverter) -> None:
        self.entries = entries
        self.owner = owner
        self.versions = versions

    async def prune(self, merged: JsonObject, last_entry: Entry | None) -> JsonObject:
        """Return the merged object without the fields that are in `last_entry` and in no current entry."""
        if last_entry is None or not last_entry.fields:
            return merged
        new_entry = self.entries[self.owner]
        if all(entry.version == last_entry.version for entry in self.entries.values()):
            dropped = difference(last_entry.fields, new_entry.fields)
            fields = self.versions.models[last_entry.version].root.map
            if not dropped or fields is None:
                return merged
            owned_sets = [entry.fields for entry in self.entries.values()]
            return remove_dropped(merged, fields, dropped, last_entry.fields, new_entry.fields, owned_sets)
        return await self._across_versions(merged, last_entry)

    async def _across_versions(self, merged: JsonObject, last_entry: Entry) -> JsonObject:
        convert_to = self.versions.convert_to
        version = self.entries[self.owner].version
        merged_at_last = await convert_to(
            merged, last_entry.version, f"{_FAILED}: failed to convert merged object to last applied version: "
        )
        if merged_at_last is None:
            return merged
        type_ = self.versions.models[last_entry.version].root
        applied = with_named_fields(last_entry.fields, type_)
        remainder = await self._add_back_owned(
            merged_at_last, remove_items(merged_at_last, applied, type_), last_entry.version
        )
        error_prefix = (
            f"{_FAILED}: failed add back dangling items: failed to convert pruned object to last applied version: "
        )
        remainder = await convert_to(remainder, last_entry.version, error_prefix)
        if remainder is None:
            return merged
        removed = intersection(
            difference(_named_fields(merged_at_last, type_), _named_fields(remainder, type_)), applied
        )
        if not removed and last_entry.version == version:
            return merged
        return (
            await convert_to(
                remove_items(merged_at_last, removed, type_) if removed else merged_at_last, version, f"{_FAILED}: "
            )
            or merged
        )

    async def _add_back_owned(self, merged: JsonObject, remainder: Any, first_version: str) -> Any:
        """Return `remainder` with all fields of `merged` that any manager owns added back.

        For each entry, the objects are converted to the version of the entry.
        """
        owned_at: dict[str, Fields] = {}
        for entry in sorted(self.entries.values(), key=lambda entry: entry.version != first_version):
            owned_at[entry.version] = union(owned_at.get(entry.version, EMPTY), entry.fields)
        error_prefix = f"{_FAILED}: failed add back owned items: failed to convert"
        for version, fields in owned_at.items():
            before = await self.versions.convert_to(
                merged, version, f"{error_prefix} merged object at version {version}: "
            )
            after = await self.versions.convert_to(
                remainder, version, f"{error_prefix} pruned object at version {version}: "
            )
            if before is None or after is None:
                continue
            merged, remainder = before, _add_back(before, after, fields, self.versions.models[version].root)
        return remainder


def remove_dropped(
    value: dict[str, Any],
    fields: MapType,
    dropped: Fields,
    last_entry: Fields,
    new_entry: Fields,
    owned_sets: list[Fields],
) -> dict[str, Any]:
    """Return a map without the fields that are in `last_entry`, but neither in `new_entry` nor in any of `owned_sets`.

    `dropped` is `last_entry` without `new_entry`. Only its fields are visited, because the applied configuration still
    contains all others.
    """
    out = None
    for key, dropped_below in dropped.items():
        name = key[2:]
        child = value.get(name, MISSING)
        if key[:2] != "f:" or child is MISSING:
            continue
        field = fields.fields.get(name)
        type_ = fields.element if field is None else field.type
        below = new_entry.get(key)
        if (
            below
            and type_ is not None
            and type_.map is not None
            and _keeps_applied_field(child, type_.map, dropped_below, below)
        ):
            owned_below = [owned_set[key] for owned_set in owned_sets if owned_set.get(key)]
            new: Any = remove_dropped(child, type_.map, dropped_below, last_entry[key], below, owned_below)
        else:
            owned_below = [{key: owned_set[key]} for owned_set in owned_sets if key in owned_set]
            container = remove_unowned({name: child}, Type(map_type=fields), {key: last_entry[key]}, owned_below)
            new = MISSING if container is None else container.get(name, MISSING)
        if new is child:
            continue
        if out is None:
            out = value.copy()
        if new is MISSING:
            del out[name]
        else:
            out[name] = new
    return value if out is None else out


def _keeps_applied_field(child: Any, fields: MapType, dropped_below: Fields, new_entry: Fields) -> bool:
    """True if `child` is a map with a field that is still applied, so that the map must not be removed."""
    if type(child) is not dict or fields.atomic or not dropped_below or "." in dropped_below:
        return False
    return any(key[:2] == "f:" and key not in dropped_below and key[2:] in child for key in new_entry)


def remove_unowned(value: Any, type_: Type, last_entry: Fields, owned_sets: list[Fields]) -> Any:
    """Return the value without the fields that are in `last_entry` and in none of `owned_sets`.

    Return None if nothing is left.
    """
    applied = with_named_fields(last_entry, type_)
    fields = EMPTY
    for owned_set in owned_sets:
        fields = union(fields, owned_set)
    remainder = _add_back(value, remove_items(value, applied, type_), fields, type_)
    removed = intersection(difference(_named_fields(value, type_), _named_fields(remainder, type_)), applied)
    return remove_items(value, removed, type_) if removed else value


def _add_back(value: Any, remainder: Any, fields: Fields, type_: Type) -> Any:
    """Return `remainder`, a pruned copy of `value`, with the owned `fields` of `value` added back."""
    kept_fields = union(_named_fields(remainder, type_), with_named_fields(fields, type_))
    return remove_items(value, difference(_named_fields(value, type_), kept_fields), type_)


def _named_fields(value: Any, type_: Type) -> Fields:
    return EMPTY if value is None else with_named_fields(applied_fields(value, type_) or EMPTY, type_)


def remove_items(value: Any, fields: Fields, type_: Type) -> Any:
    """Return the value without the fields and items in `fields`. Return None if nothing is left."""
    if type(value) is dict:
        if type_.map is None or type_.map.atomic or not value:
            return None
        out = {}
        named, element = type_.map.fields, type_.map.element or DEDUCED
        for name, item in value.items():
            below = fields.get(f"f:{name}")
            if below is not None:
                if is_member(below):
                    continue
                field = named.get(name)
                item = remove_items(item, below, element if field is None else field.type)
            out[name] = item
        return out or None
    if type(value) is list:
        if type_.list is None or type_.list.atomic or not value:
            return None
        items = []
        for item in value:
            below = fields.get(type_.list.item_key(item))
            if below is not None:
                if is_member(below):
                    continue
                item = remove_items(item, below, type_.list.element)
            items.append(item)
        return items or None
    return value


def with_named_fields(fields: Fields, type_: Type | None) -> Fields:
    """Return the set with the declared fields on the path to each member added.

    Removing the fields of the result from an object then leaves no empty parents behind.
    """
    out: Fields = {}
    for key, below in fields.items():
        if not below:
            out[key] = below
            continue
        element_type: Type | None = None
        is_named = False
        if type_ is not None and type_.map is not None and key[:2] == "f:":
            field = type_.map.fields.get(key[2:])
            is_named = field is not None
            element_type = type_.map.element if field is None else field.type
        elif type_ is not None and type_.list is not None and key[:2] == "k:":
            element_type = type_.list.element
        below = with_named_fields(below, element_type)
        out[key] = {".": LEAF, **below} if is_named and "." not in below else below
    return out
