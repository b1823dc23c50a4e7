"""What goes from an object because its manager no longer applies it and nobody else owns it."""

from __future__ import annotations

from typing import Any

from polykind.apply.entries import Entries, Entry, Owner
from polykind.apply.fieldset import EMPTY, Fields, difference, intersection, union
from polykind.apply.model import Type
from polykind.apply.remove import remove_items, with_named
from polykind.apply.tracking import Versions
from polykind.apply.typed import owned
from polykind.contract import JsonObject

_FAILED = "failed to prune fields"


class Pruning:
    """One pruning, after the manager's new entry has taken the place of its last."""

    def __init__(self, entries: Entries, me: Owner, versions: Versions) -> None:
        self.entries = entries
        self.me = me
        self.versions = versions

    async def pruned(self, merged: JsonObject, last: Entry | None) -> JsonObject:
        """The merged object without what was applied last time, is not applied now and belongs to nobody else."""
        if last is None or not last.fields:
            return merged
        mine = self.entries[self.me]
        if last.version == mine.version and not difference(last.fields, mine.fields):
            return merged
        at = self.versions.at
        base = await at(merged, last.version, f"{_FAILED}: failed to convert merged object to last applied version: ")
        if base is None:
            return merged
        kind = self.versions.models[last.version].root
        applied = with_named(last.fields, kind)
        rest = await self._kept(base, remove_items(base, applied, kind), last.version)
        what = f"{_FAILED}: failed add back dangling items: failed to convert pruned object to last applied version: "
        rest = await at(rest, last.version, what)
        if rest is None:
            return merged
        gone = intersection(difference(_stated(base, kind), _stated(rest, kind)), applied)
        if not gone and last.version == mine.version:
            return merged
        return await at(remove_items(base, gone, kind) if gone else base, mine.version, f"{_FAILED}: ") or merged

    async def _kept(self, merged: JsonObject, rest: Any, first: str) -> Any:
        """What was left over, with what others, or the new configuration, own put back; at any version."""
        owned_at: dict[str, Fields] = {first: EMPTY}
        for entry in self.entries.values():
            owned_at[entry.version] = union(owned_at.get(entry.version, EMPTY), entry.fields)
        what = f"{_FAILED}: failed add back owned items: failed to convert"
        for version, fields in owned_at.items():
            before = await self.versions.at(merged, version, f"{what} merged object at version {version}: ")
            after = await self.versions.at(rest, version, f"{what} pruned object at version {version}: ")
            if before is None or after is None:
                continue
            kind = self.versions.models[version].root
            held = union(_stated(after, kind), with_named(fields, kind))
            merged, rest = before, remove_items(before, difference(_stated(before, kind), held), kind)
        return rest


def _stated(value: Any, kind: Type) -> Fields:
    return with_named(owned(value, kind) or EMPTY, kind)
