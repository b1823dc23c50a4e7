"""Server-side apply: an object merged with what a manager wants of it, and the ownership that follows."""

from __future__ import annotations

from polykind import errors
from polykind.apply import apply_body, conflicts, last_applied, managed_fields
from polykind.apply.apply_pruning import Pruner
from polykind.apply.compare import SAME, Comparison, compare, json_equal
from polykind.apply.fieldset import EMPTY, Fields, difference, intersection, recursive_difference, union
from polykind.apply.managed_fields import Entries, Entry, Owner
from polykind.apply.merge import merge
from polykind.apply.model import MisfitError
from polykind.apply.ownership import (
    UNOWNED_FIELDS,
    Convert,
    Models,
    Reset,
    VersionConverter,
    reconcile_schema,
    strip_system_fields,
)
from polykind.apply.patch_errors import nesting_error
from polykind.apply.typed_value import applied_fields, check_type, type_mismatch_error
from polykind.contract import JsonObject

BEFORE = "before-first-apply"


async def apply(
    live: JsonObject | None,
    applied: JsonObject,
    *,
    manager: str,
    force: bool,
    api_version: str,
    kind: str,
    subresource: str,
    now: str,
    models: Models,
    convert: Convert,
    reset: Reset | None = None,
) -> JsonObject:
    """The object after an apply, with its managedFields; `live` itself if that changes nothing at all.

    Raises errors.Conflicted where others own what would change, and other APIErrors for what cannot be applied.
    The result is neither pruned nor defaulted yet.
    """
    apply_body.check_body(applied, api_version, kind)
    applying = _Applying(live, applied, manager, api_version, subresource, now, models, convert, reset or {})
    try:
        return await applying.run(force)
    except RecursionError:
        raise nesting_error() from None


class _Applying:
    def __init__(
        self,
        live: JsonObject | None,
        applied: JsonObject,
        manager: str,
        api_version: str,
        subresource: str,
        now: str,
        models: Models,
        convert: Convert,
        reset: Reset,
    ) -> None:
        self.stored = live
        self.live = _without_entries(live) if live is not None else {"apiVersion": api_version, "kind": applied["kind"]}
        self.applied = applied
        self.manager = manager
        self.me = managed_fields.applier(manager, subresource)
        self.version = api_version
        self.now = now
        self.models = models
        self.kind = models[api_version].root
        self.versions = VersionConverter(models, convert)
        self.reset = reset
        self.entries: Entries = managed_fields.decode(managed_fields.get_managed_fields(live), trusted=True) or {}
        if not self.entries and live is not None:
            self._track_the_past(managed_fields.updater(BEFORE, api_version, subresource))

    def _track_the_past(self, owner: Owner) -> None:
        """Whatever is there before the first apply belongs to a manager of its own."""
        self._check_live("failed to create manager for existing fields: failed to convert new object ({}) to smd typed")
        zero = self.models[self.version].zero
        found = compare(strip_system_fields(zero), strip_system_fields(self.live), self.kind).excluding(
            self.reset.get(self.version)
        )
        if fields := difference(union(found.modified, found.added), UNOWNED_FIELDS):
            self.entries[owner] = Entry(fields, self.version, self.now)

    def _check_live(self, what: str) -> None:
        """What is there may not fit, if the schema has changed since it was written: nothing can be merged with it."""
        try:
            check_type(self.live, self.kind)
        except MisfitError:
            raise type_mismatch_error(
                what.format(apply_body.format_object(self.live)), self.live, self.kind, unique=False
            ) from None

    async def run(self, force: bool) -> JsonObject:
        fields = self._fields()
        self._check_live("failed to create typed live object ({})")
        await reconcile_schema(self.entries, self.models, self.live, self.versions.convert)
        lives = await self._lives()
        try:
            merged = merge(self.live, self.applied, self.kind)
            last = self.entries.get(self.me)
            self.entries[self.me] = Entry(fields, self.version, last.time if last is not None else None)
            merged = await Pruner(self.entries, self.me, self.versions).pruned(merged, last)
            found = compare(self.live, merged, self.kind)
        except MisfitError as error:
            raise errors.UnknownReasonError(f"failed to merge config: {error}") from None
        await self._take(found, lives, merged, force)
        for owner in [owner for owner, entry in self.entries.items() if not entry.fields and owner != self.me]:
            del self.entries[owner]
        changed = merged is not self.live and (bool(found) or not json_equal(self.live, merged))
        self._settle(fields, last, changed=changed)
        return self._result(merged if changed else self.live)

    def _fields(self) -> Fields:
        try:
            fields = applied_fields(self.applied, self.kind, unique=True) or EMPTY
        except MisfitError:
            what = f"failed to create typed patch object ({apply_body.format_object(self.applied)})"
            raise type_mismatch_error(what, self.applied, self.kind) from None
        if ignored := self.reset.get(self.version):
            fields = recursive_difference(fields, ignored)
        return fields

    async def _lives(self) -> dict[str, JsonObject]:
        """The live object at the version of every entry; entries of versions that are gone are dropped."""
        out = {self.version: self.live}
        for owner, entry in list(self.entries.items()):
            if entry.version not in out:
                live = await self.versions.at(self.live, entry.version)
                if live is None:
                    del self.entries[owner]
                else:
                    out[entry.version] = live
        return out

    async def _compared(self, version: str, live: JsonObject, merged: JsonObject) -> Comparison:
        new = await self.versions.at(merged, version, "failed to convert new object: ")
        if new is None:
            return SAME
        return compare(strip_system_fields(live), strip_system_fields(new), self.models[version].root).excluding(
            self.reset.get(version)
        )

    async def _take(self, found: Comparison, lives: dict[str, JsonObject], merged: JsonObject, force: bool) -> None:
        """Takes what changes from the others, if it may."""
        if not found:
            return
        versions = {self.version: found.excluding(self.reset.get(self.version))}
        clashes: dict[Owner, Fields] = {}
        left: dict[Owner, Fields] = {}
        for owner, entry in list(self.entries.items()):
            if owner == self.me:
                continue
            if entry.version not in versions:
                versions[entry.version] = await self._compared(entry.version, lives[entry.version], merged)
            theirs = versions[entry.version]
            clash = intersection(entry.fields, union(theirs.modified, theirs.added))
            if clash:
                clashes[owner] = clash
            left[owner] = difference(difference(entry.fields, clash), theirs.removed)
        if clashes and not force:
            self._allow(clashes)
        for owner, fields in left.items():
            if not fields:
                del self.entries[owner]
            elif fields is not self.entries[owner].fields:
                self.entries[owner].change(fields)

    def _allow(self, clashes: dict[Owner, Fields]) -> None:
        """Lets kubectl take over what it applied on the client's side; other conflicts are refused."""
        if self.manager == last_applied.MANAGER:
            allowed = last_applied.unchanged_fields(self.live, self.version, self.kind)
            if allowed is not None:
                rest = {owner: difference(fields, allowed) for owner, fields in clashes.items()}
                clashes = {owner: fields for owner, fields in rest.items() if fields}
        if clashes:
            raise conflicts.conflict(clashes)

    def _settle(self, fields: Fields, last: Entry | None, *, changed: bool) -> None:
        """An apply that changes nothing but ownership leaves its entry's time as it was, or without one."""
        fields = difference(fields, UNOWNED_FIELDS)
        if not fields:
            del self.entries[self.me]
            return
        entry = Entry(fields, self.version, self.now if changed else last.time if last is not None else None)
        if last is not None and (last.fields, last.version, last.time) == (fields, entry.version, entry.time):
            entry.origin = last.origin
        self.entries[self.me] = entry

    def _result(self, merged: JsonObject) -> JsonObject:
        if self.manager == last_applied.MANAGER:
            merged = last_applied.update_annotation(merged, self.applied)
        listed = managed_fields.encode(self.entries, ordered=self.models[self.version].ordered)
        if self.stored is not None and merged is self.live and listed == managed_fields.get_managed_fields(self.stored):
            return self.stored
        metadata = merged.get("metadata")
        metadata = dict(metadata) if isinstance(metadata, dict) else {}
        if listed:
            metadata["managedFields"] = listed
        return {**merged, "metadata": metadata}


def _without_entries(document: JsonObject) -> JsonObject:
    metadata = document.get("metadata")
    if not isinstance(metadata, dict) or "managedFields" not in metadata:
        return document
    return {**document, "metadata": {name: value for name, value in metadata.items() if name != "managedFields"}}
