"""What goes from an object because its manager no longer applies it and nobody else owns it."""

from __future__ import annotations

from typing import Any

from polykind.apply.entries import Entries, Entry, Owner
from polykind.apply.fieldset import EMPTY, Fields, difference, intersection, union
from polykind.apply.model import Type
from polykind.apply.remove import remove_items, with_named
from polykind.apply.tracking import Convert, Models
from polykind.apply.typed import owned
from polykind.contract import JsonObject


class Pruning:
    """One pruning, after the manager's new entry has taken the place of its last."""

    def __init__(self, entries: Entries, me: Owner, models: Models, convert: Convert) -> None:
        self.entries = entries
        self.me = me
        self.models = models
        self.convert = convert

    async def pruned(self, merged: JsonObject, last: Entry | None) -> JsonObject:
        """The merged object without what was applied last time, is not applied now and belongs to nobody else."""
        if last is None or not last.fields:
            return merged
        mine = self.entries[self.me]
        if last.version == mine.version and not difference(last.fields, mine.fields):
            return merged
        base = await self._at(merged, last.version)
        if base is None:
            return merged
        kind = self.models[last.version].root
        applied = with_named(last.fields, kind)
        rest = await self._at(await self._kept(base, remove_items(base, applied, kind), last.version), last.version)
        if rest is None:
            return merged
        gone = intersection(difference(_stated(base, kind), _stated(rest, kind)), applied)
        result = remove_items(base, gone, kind) if gone else base
        if result is base and last.version == mine.version:
            return merged
        return await self._at(result, mine.version) or merged

    async def _kept(self, merged: JsonObject, rest: Any, first: str) -> Any:
        """What was left over, with what others, or the new configuration, own put back; at any version."""
        owned_at: dict[str, Fields] = {first: EMPTY}
        for entry in self.entries.values():
            owned_at[entry.version] = union(owned_at.get(entry.version, EMPTY), entry.fields)
        for version, fields in owned_at.items():
            before, after = await self._at(merged, version), await self._at(rest, version)
            if before is None or after is None:
                continue
            kind = self.models[version].root
            held = union(_stated(after, kind), with_named(fields, kind))
            merged, rest = before, remove_items(before, difference(_stated(before, kind), held), kind)
        return rest

    async def _at(self, document: JsonObject, version: str) -> JsonObject | None:
        if version not in self.models:
            return None
        return document if document.get("apiVersion") == version else await self.convert(document, version)


def _stated(value: Any, kind: Type) -> Fields:
    return with_named(owned(value, kind) or EMPTY, kind)
