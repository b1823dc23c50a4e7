"""Server-side apply: merges an applied configuration, detects conflicts and updates field ownership."""

from __future__ import annotations

from polykind import errors
from polykind.apply import apply_body, fieldset, last_applied, managed_fields
from polykind.apply.apply_pruning import Pruner
from polykind.apply.compare import SAME, Comparison, compare, json_equal
from polykind.apply.fieldset import Fields, difference, union
from polykind.apply.managed_fields import Entries, Entry, Owner, strip_system_fields
from polykind.apply.merge import merge
from polykind.apply.model import TypeMismatchError
from polykind.apply.ownership import UNOWNED_FIELDS, Convert, Models, Reset, VersionConverter, reconcile_schema
from polykind.apply.patch_errors import nesting_error
from polykind.apply.typed_value import applied_fields, check_type, type_mismatch_error
from polykind.contract import JsonObject
from polykind.golang.fmt import go_quote

BEFORE_FIRST_APPLY = "before-first-apply"


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
    """Return the object after an apply, with its managedFields. Return `live` itself if the apply changes nothing.

    Raise ConflictError if other managers own fields that would change, and other APIErrors for an invalid
    configuration. The result is neither pruned nor defaulted by the schema yet.
    """
    apply_body.check_body(applied, api_version, kind)
    operation = _Apply(live, applied, manager, api_version, subresource, now, models, convert, reset or {})
    try:
        return await operation.run(force)
    except RecursionError:
        raise nesting_error() from None


class _Apply:
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
        self.live = (
            _without_managed_fields(live) if live is not None else {"apiVersion": api_version, "kind": applied["kind"]}
        )
        self.applied = applied
        self.manager = manager
        self.owner = managed_fields.applier(manager, subresource)
        self.version = api_version
        self.now = now
        self.models = models
        self.type_ = models[api_version].root
        self.versions = VersionConverter(models, convert)
        self.reset = reset
        self.entries: Entries = managed_fields.decode(managed_fields.get_managed_fields(live), trusted=True) or {}
        if not self.entries and live is not None:
            self._track_existing_fields(managed_fields.updater(BEFORE_FIRST_APPLY, api_version, subresource))

    def _track_existing_fields(self, owner: Owner) -> None:
        """Add a managedFields entry for the fields that existed before the first apply, under a manager of its own."""
        self._check_live("failed to create manager for existing fields: failed to convert new object ({}) to smd typed")
        zero = self.models[self.version].zero
        comparison = compare(strip_system_fields(zero), strip_system_fields(self.live), self.type_).excluding(
            self.reset.get(self.version)
        )
        if fields := difference(union(comparison.modified, comparison.added), UNOWNED_FIELDS):
            self.entries[owner] = Entry(fields, self.version, self.now)

    def _check_live(self, error_prefix: str) -> None:
        """Raise UnknownReasonError if the live object does not match its type, for example because the schema has
        changed.
        """
        try:
            check_type(self.live, self.type_)
        except TypeMismatchError:
            raise type_mismatch_error(
                error_prefix.format(apply_body.format_object(self.live)), self.live, self.type_, unique=False
            ) from None

    async def run(self, force: bool) -> JsonObject:
        fields = self._applied_field_set()
        self._check_live("failed to create typed live object ({})")
        await reconcile_schema(self.entries, self.models, self.live, self.versions.convert)
        live_versions = await self._live_at_versions()
        try:
            merged = merge(self.live, self.applied, self.type_)
            last = self.entries.get(self.owner)
            self.entries[self.owner] = Entry(fields, self.version, last.time if last is not None else None)
            merged = await Pruner(self.entries, self.owner, self.versions).prune(merged, last)
            comparison = compare(self.live, merged, self.type_)
        except TypeMismatchError as error:
            raise errors.UnknownReasonError(f"failed to merge config: {error}") from None
        await self._take_ownership(comparison, live_versions, merged, force)
        for owner in [owner for owner, entry in self.entries.items() if not entry.fields and owner != self.owner]:
            del self.entries[owner]
        changed = merged is not self.live and (bool(comparison) or not json_equal(self.live, merged))
        self._update_entry(fields, last, changed=changed)
        return self._build_result(merged if changed else self.live)

    def _applied_field_set(self) -> Fields:
        try:
            fields = applied_fields(self.applied, self.type_, unique=True) or fieldset.EMPTY
        except TypeMismatchError:
            error_prefix = f"failed to create typed patch object ({apply_body.format_object(self.applied)})"
            raise type_mismatch_error(error_prefix, self.applied, self.type_) from None
        if ignored := self.reset.get(self.version):
            fields = fieldset.recursive_difference(fields, ignored)
        return fields

    async def _live_at_versions(self) -> dict[str, JsonObject]:
        """Return the live object, converted to the version of every managedFields entry, by version.

        Drop entries whose version no longer exists.
        """
        out = {self.version: self.live}
        for owner, entry in list(self.entries.items()):
            if entry.version not in out:
                live = await self.versions.convert_to(self.live, entry.version)
                if live is None:
                    del self.entries[owner]
                else:
                    out[entry.version] = live
        return out

    async def _compare_at(self, version: str, live: JsonObject, merged: JsonObject) -> Comparison:
        new = await self.versions.convert_to(merged, version, "failed to convert new object: ")
        if new is None:
            return SAME
        return compare(strip_system_fields(live), strip_system_fields(new), self.models[version].root).excluding(
            self.reset.get(version)
        )

    async def _take_ownership(
        self, comparison: Comparison, live_versions: dict[str, JsonObject], merged: JsonObject, force: bool
    ) -> None:
        """Remove the changed fields from the entries of other managers.

        If `force` is false, raise ConflictError if another manager owns a changed field.
        """
        if not comparison:
            return
        versions = {self.version: comparison.excluding(self.reset.get(self.version))}
        conflicting: dict[Owner, Fields] = {}
        remaining: dict[Owner, Fields] = {}
        for owner, entry in list(self.entries.items()):
            if owner == self.owner:
                continue
            if entry.version not in versions:
                versions[entry.version] = await self._compare_at(entry.version, live_versions[entry.version], merged)
            other_comparison = versions[entry.version]
            conflicting_fields = fieldset.intersection(
                entry.fields, union(other_comparison.modified, other_comparison.added)
            )
            if conflicting_fields:
                conflicting[owner] = conflicting_fields
            remaining[owner] = difference(difference(entry.fields, conflicting_fields), other_comparison.removed)
        if conflicting and not force:
            self._check_conflicts(conflicting)
        for owner, fields in remaining.items():
            managed_fields.change_entry(self.entries, owner, fields)

    def _check_conflicts(self, conflicting: dict[Owner, Fields]) -> None:
        """Raise ConflictError if there are conflicts. If the manager is kubectl, ignore conflicts about fields that its
        last client-side apply set.
        """
        if self.manager == last_applied.MANAGER:
            client_side_fields = last_applied.unchanged_fields(self.live, self.version, self.type_)
            if client_side_fields is not None:
                remaining = {owner: difference(fields, client_side_fields) for owner, fields in conflicting.items()}
                conflicting = {owner: fields for owner, fields in remaining.items() if fields}
        if conflicting:
            raise conflict_error(conflicting)

    def _update_entry(self, fields: Fields, last: Entry | None, *, changed: bool) -> None:
        """Update the manager's entry. The entry keeps its time if the object has not changed."""
        fields = difference(fields, UNOWNED_FIELDS)
        if not fields:
            del self.entries[self.owner]
            return
        entry = Entry(fields, self.version, self.now if changed else last.time if last is not None else None)
        if last is not None and (last.fields, last.version, last.time) == (fields, entry.version, entry.time):
            entry.origin = last.origin
        self.entries[self.owner] = entry

    def _build_result(self, merged: JsonObject) -> JsonObject:
        if self.manager == last_applied.MANAGER:
            merged = last_applied.update_annotation(merged, self.applied)
        entry_list = managed_fields.encode(self.entries, ordered=self.models[self.version].ordered)
        if (
            self.stored is not None
            and merged is self.live
            and entry_list == managed_fields.get_managed_fields(self.stored)
        ):
            return self.stored
        metadata = merged.get("metadata")
        metadata = dict(metadata) if isinstance(metadata, dict) else {}
        if entry_list:
            metadata["managedFields"] = entry_list
        return {**merged, "metadata": metadata}


def _without_managed_fields(document: JsonObject) -> JsonObject:
    metadata = document.get("metadata")
    if not isinstance(metadata, dict) or "managedFields" not in metadata:
        return document
    return {**document, "metadata": {name: value for name, value in metadata.items() if name != "managedFields"}}


def conflict_error(conflicts: dict[Owner, Fields]) -> errors.ConflictError:
    """Return the error for an apply without force that would change fields of other managers."""
    fields_by_name = [
        (
            _format_owner(owner),
            [fieldset.format_path(path, from_store=True) for path in fieldset.paths(conflicts[owner])],
        )
        for owner in sorted(conflicts, key=Owner.text)
    ]
    causes = [
        {"reason": "FieldManagerConflict", "message": f"conflict with {name}", "field": field}
        for name, fields in fields_by_name
        for field in fields
    ]
    if len(causes) == 1:
        (name, (field,)) = fields_by_name[0]
        message = f"Apply failed with 1 conflict: conflict with {name}: {field}"
    else:
        lines = [
            line for name, fields in fields_by_name for line in (f"conflicts with {name}:", *(f"- {f}" for f in fields))
        ]
        message = f"Apply failed with {len(causes)} conflicts: " + "\n".join(lines)
    return errors.ConflictError(message, details={"causes": causes})


def _format_owner(owner: Owner) -> str:
    text = go_quote(owner.manager)
    if owner.subresource:
        text += f" with subresource {go_quote(owner.subresource)}"
    return f"{text} using {owner.version}" if owner.operation == "Update" else text
