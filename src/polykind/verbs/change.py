"""The steps that every change of a stored object passes: an update, a patch, an apply, a Scale."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

from polykind import errors
from polykind.codec import json_codec
from polykind.contract import JsonObject
from polykind.operations.operation import Operation
from polykind.operations.options import WriteOptions
from polykind.schema.equality import deep_equal
from polykind.verbs.admit import admit, approve
from polykind.verbs.commit import LostRaceError, commit, modified_error, remove
from polykind.verbs.effects import complete
from polykind.verbs.metadata import dedupe_owners, match_namespace, resource_version_error, track_update
from polykind.verbs.settle import settle
from polykind.verbs.write import Draft, Existing, Settled


class Change(ABC):
    """A change of a stored object. If another write was faster, the newer object is changed instead."""

    def __init__(self, op: Operation, options: WriteOptions) -> None:
        self.op = op
        self.options = options

    @abstractmethod
    async def change(self, old: Existing) -> Draft:
        """Return the new object for an old one, both at the request's version. Do not change the old one."""

    async def again(self) -> Change:
        """Return the change for another attempt. Override it if an attempt uses up the values of the change."""
        return self

    async def track(self, draft: Draft, old: Existing) -> None:
        """Set the managedFields of a draft."""
        await track_update(self.op, draft, old, self.options)

    async def admit(self, draft: Draft, old: Existing) -> Draft:
        """Run mutating admission on a draft."""
        return await admit(self.op, draft, old, self.options)

    def view(self, obj: JsonObject) -> JsonObject:
        """Return the part of an object that validating admission sees."""
        return obj


class ServerChange(Change):
    """The change that a component of the server makes, as a function that does not modify its argument."""

    def __init__(self, op: Operation, options: WriteOptions, edit: Callable[[JsonObject], JsonObject]) -> None:
        super().__init__(op, options)
        self._edit = edit

    async def change(self, old: Existing) -> Draft:
        return Draft(self._edit(old.obj))


async def change_object(change: Change, *, all_versions: bool = False) -> bytes:
    """Change a stored object and return its representation. Try again if another write was faster.

    If `all_versions` is true, return an ObjectVersions document about the result of a dry run instead.
    """
    op = change.op
    op.lane.consider(op.body)
    while True:
        old = await read_existing(op)
        draft = await change.change(old)
        await op.lane.run(_share_unchanged, draft.obj, old.obj)
        if op.verb == "update":
            check_uid(op, draft.obj, old.obj, dry_run=change.options.dry_run)
        await change.track(draft, old)
        draft = await change.admit(draft, old)
        if op.version.strategy.grants:
            from polykind.verbs.privileges import check_escalation

            await check_escalation(op, draft.obj, old.obj)
        has_version = _check_resource_version(op, draft.obj, old)
        try:
            return await _settle_and_store(change, draft, old, all_versions=all_versions)
        except LostRaceError:
            # A Scale may leave the version out. Then it is that of the object just read, which the retry reads again.
            if has_version and op.verb == "update" and op.subresource != "scale":
                raise modified_error(op, op.name) from None
            change = await change.again()


async def read_existing(op: Operation) -> Existing:
    """Return the stored object that an operation names. Raise NotFoundError if there is none."""
    cache, representer = op.resource.cache, op.version.representer
    await op.backend.cache.wait_until_fresh(cache)
    cached = cache.get(op.key)
    if cached is None:
        raise op.not_found()
    data = (representer.known(cached) or await representer.view(cached)).data
    obj, integers_only = await op.lane.read(data, json_codec.decode_flagged, data)
    return Existing(obj, cached, integers_only, data)


def _share_unchanged(new: JsonObject, old: JsonObject) -> None:
    """Replace unchanged fields of the new object by those of the old object. Later comparisons are then by identity."""
    for name, value in new.items():
        before = old.get(name)
        if value is not before and name != "metadata" and deep_equal(value, before):
            new[name] = before


async def _settle_and_store(change: Change, draft: Draft, old: Existing, *, all_versions: bool) -> bytes:
    """Prepare, validate, admit and store a changed object, with its effects. Return its representation."""
    op, obj = change.op, draft.obj
    match_namespace(op, obj["metadata"])
    await dedupe_owners(op, obj["metadata"], after_admission=True)
    if not op.resource.has_effects:
        return await _store(change, draft, old, all_versions=all_versions)
    finish = await op.resource.begin_update(op, obj, old.obj, dry_run=change.options.dry_run)
    return await complete(finish, _store(change, draft, old, all_versions=all_versions))


async def _store(change: Change, draft: Draft, old: Existing, *, all_versions: bool) -> bytes:
    op, dry_run = change.op, change.options.dry_run
    settled = await settle(op, draft, old)
    await approve(op, change.view(settled.obj), change.view(old.obj), change.options)
    if _last_finalizer_removed(settled.obj) and not op.resource.has_spec_finalizers(settled.obj):
        return await _delete_finalized(op, settled, old, dry_run=dry_run)
    if dry_run and op.resource.previews_changes and not op.subresource:
        from polykind.verbs.change_preview import warn_about_change

        await warn_about_change(op, settled.obj, old.obj)
    written = await commit(op, op.key, settled, dry_run=dry_run)
    if all_versions:
        from polykind.verbs.object_versions import encode_versions

        return await encode_versions(written.version.resource, written.cached)
    data = await written.data()
    if not dry_run:
        await op.resource.after_write(op.name)
    return data


def _last_finalizer_removed(new: JsonObject) -> bool:
    meta = new["metadata"]
    return (
        bool(meta.get("deletionTimestamp"))
        and not meta.get("finalizers")
        and not meta.get("deletionGracePeriodSeconds")
    )


async def _delete_finalized(op: Operation, settled: Settled, old: Existing, *, dry_run: bool) -> bytes:
    """Delete an object instead of storing it, because its last finalizer is gone. Return the JSON of the new object."""
    data = await op.lane.run(lambda: json_codec.encode(settled.as_applied()))
    if not dry_run:
        await remove(op, op.key, old.cached)
        await op.resource.after_write(op.name)
    if op.resource.has_effects:
        await op.resource.after_delete(op, settled.obj, dry_run=dry_run)
    return data


# ---------------------------------------------------------------------- preconditions


def check_uid(op: Operation, new: JsonObject, old: JsonObject, *, dry_run: bool) -> None:
    """Raise ConflictError if the request contains a uid that differs from the stored object's."""
    check_precondition(op, "uid", new["metadata"].get("uid"), old, dry_run=dry_run)


def check_precondition(op: Operation, field: str, wanted: str | None, old: JsonObject, *, dry_run: bool) -> None:
    """Raise ConflictError if the uid or resourceVersion (`field`) in the request differs from the stored object's."""
    resource, actual = op.resource, old["metadata"].get(field, "")
    if wanted and wanted != actual:
        # The message contains the key in the store. A dry run does not reach the layer that adds the server's prefix.
        cache_prefix = resource.cache.prefix
        prefix = f"/{cache_prefix.removeprefix(op.backend.cache.prefix)}" if dry_run else cache_prefix
        word = "UID" if field == "uid" else "ResourceVersion"
        reason = (
            f"StorageError: invalid object, Code: 4, Key: {prefix}{op.key}, ResourceVersion: 0, AdditionalErrorMsg: "
            f"Precondition failed: {word} in precondition: {wanted}, {word} in object meta: {actual}"
        )
        raise errors.conflict(resource.plural, resource.group, op.name, reason)


def _check_resource_version(op: Operation, new: JsonObject, old: Existing) -> bool:
    """Return True if the request has a resourceVersion. Raise ConflictError if it differs from the stored one."""
    meta, resource = new["metadata"], op.resource
    requested = meta.get("resourceVersion")
    if not requested or requested == "0":
        if op.version.strategy.unconditional_update:
            meta["resourceVersion"] = old.obj["metadata"]["resourceVersion"]
            return False
        error = errors.invalid("metadata.resourceVersion", 0, "must be specified for an update")
        raise errors.InvalidError(resource.plural, resource.group, op.name, [error])
    if requested != str(old.cached.revision):
        if reason := resource_version_error(requested):
            raise errors.UnknownReasonError(reason)
        raise modified_error(op, op.name)
    return True
