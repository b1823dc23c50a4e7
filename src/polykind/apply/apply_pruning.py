"""What goes from an object because its manager no longer applies it and nobody else owns it."""

from __future__ import annotations

from typing import Any

from polykind.apply.fieldset import EMPTY, Fields, difference, intersection, union
from polykind.apply.managed_fields import Entries, Entry, Owner
from polykind.apply.model import MISSING, MapType, Type
from polykind.apply.ownership import VersionConverter
from polykind.apply.remove import remove_items, with_named_fields
from polykind.apply.typed_value import applied_fields
from polykind.contract import JsonObject

_FAILED = "failed to prune fields"


class Pruner:
    """One pruning, after the manager's new entry has taken the place of its last."""

    def __init__(self, entries: Entries, me: Owner, versions: VersionConverter) -> None:
        self.entries = entries
        self.me = me
        self.versions = versions

    async def pruned(self, merged: JsonObject, last: Entry | None) -> JsonObject:
        """The merged object without what was applied last time, is not applied now and belongs to nobody else."""
        if last is None or not last.fields:
            return merged
        mine = self.entries[self.me]
        if all(entry.version == last.version for entry in self.entries.values()):
            dropped = difference(last.fields, mine.fields)
            fields = self.versions.models[last.version].root.map
            if not dropped or fields is None:
                return merged
            held = [entry.fields for entry in self.entries.values()]
            return without_dropped(merged, fields, dropped, last.fields, mine.fields, held)
        return await self._across_versions(merged, last)

    async def _across_versions(self, merged: JsonObject, last: Entry) -> JsonObject:
        at = self.versions.at
        version = self.entries[self.me].version
        base = await at(merged, last.version, f"{_FAILED}: failed to convert merged object to last applied version: ")
        if base is None:
            return merged
        kind = self.versions.models[last.version].root
        applied = with_named_fields(last.fields, kind)
        rest = await self._kept(base, remove_items(base, applied, kind), last.version)
        what = f"{_FAILED}: failed add back dangling items: failed to convert pruned object to last applied version: "
        rest = await at(rest, last.version, what)
        if rest is None:
            return merged
        gone = intersection(difference(_stated(base, kind), _stated(rest, kind)), applied)
        if not gone and last.version == version:
            return merged
        return await at(remove_items(base, gone, kind) if gone else base, version, f"{_FAILED}: ") or merged

    async def _kept(self, merged: JsonObject, rest: Any, first: str) -> Any:
        """What was left over, with what others, or the new configuration, own put back; at any version."""
        owned_at: dict[str, Fields] = {}
        for entry in sorted(self.entries.values(), key=lambda entry: entry.version != first):
            owned_at[entry.version] = union(owned_at.get(entry.version, EMPTY), entry.fields)
        what = f"{_FAILED}: failed add back owned items: failed to convert"
        for version, fields in owned_at.items():
            before = await self.versions.at(merged, version, f"{what} merged object at version {version}: ")
            after = await self.versions.at(rest, version, f"{what} pruned object at version {version}: ")
            if before is None or after is None:
                continue
            merged, rest = before, _put_back(before, after, fields, self.versions.models[version].root)
        return rest


def without_dropped(
    value: dict[str, Any], fields: MapType, dropped: Fields, last: Fields, mine: Fields, held: list[Fields]
) -> dict[str, Any]:
    """A map without what `last` had, `mine` has not and none of `held` (mine among them) owns.

    Only the fields that were dropped are looked at: in all others what was applied last is applied still.
    """
    out = None
    for key, gone in dropped.items():
        name = key[2:]
        child = value.get(name, MISSING)
        if key[:2] != "f:" or child is MISSING:
            continue
        field = fields.fields.get(name)
        kind = fields.element if field is None else field.type
        below = mine.get(key)
        if below and kind is not None and kind.map is not None and _stays(child, kind.map, gone, below):
            others = [theirs[key] for theirs in held if theirs.get(key)]
            new: Any = without_dropped(child, kind.map, gone, last[key], below, others)
        else:
            others = [{key: theirs[key]} for theirs in held if key in theirs]
            alone = without_unowned({name: child}, Type(map_type=fields), {key: last[key]}, others)
            new = MISSING if alone is None else alone.get(name, MISSING)
        if new is child:
            continue
        if out is None:
            out = value.copy()
        if new is MISSING:
            del out[name]
        else:
            out[name] = new
    return value if out is None else out


def _stays(child: Any, fields: MapType, gone: Fields, mine: Fields) -> bool:
    """Whether a map surely stays itself: it has a field that is applied still."""
    if type(child) is not dict or fields.atomic or not gone or "." in gone:
        return False
    return any(key[:2] == "f:" and key not in gone and key[2:] in child for key in mine)


def without_unowned(value: Any, kind: Type, last: Fields, held: list[Fields]) -> Any:
    """The value without what `last` had and none of `held` owns; None if nothing stays."""
    applied = with_named_fields(last, kind)
    fields = EMPTY
    for theirs in held:
        fields = union(fields, theirs)
    rest = _put_back(value, remove_items(value, applied, kind), fields, kind)
    gone = intersection(difference(_stated(value, kind), _stated(rest, kind)), applied)
    return remove_items(value, gone, kind) if gone else value


def _put_back(value: Any, rest: Any, fields: Fields, kind: Type) -> Any:
    """What was left over of a value, with what is owned put back."""
    kept = union(_stated(rest, kind), with_named_fields(fields, kind))
    return remove_items(value, difference(_stated(value, kind), kept), kind)


def _stated(value: Any, kind: Type) -> Fields:
    return EMPTY if value is None else with_named_fields(applied_fields(value, kind) or EMPTY, kind)
