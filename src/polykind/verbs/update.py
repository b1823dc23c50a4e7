"""update: replace an object or its status; and the stages that every change of a stored object passes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from polykind import errors, names
from polykind.cache.cached_object import CachedObject
from polykind.codec import json_codec, negotiation
from polykind.contract import InterruptCheck, JsonObject
from polykind.operations.operation import Operation
from polykind.operations.options import CreateOptions, UpdateOptions, WriteOptions
from polykind.operations.responses import Response
from polykind.resources.resource import Validation
from polykind.schema import metadata_validation
from polykind.schema.equality import deep_equal
from polykind.verbs import respond
from polykind.verbs.admit import admit, approve
from polykind.verbs.commit import (
    LostRaceError,
    add_warnings,
    commit,
    invalid_error,
    modified_error,
    remove,
    run_validation,
)
from polykind.verbs.create import create_object
from polykind.verbs.decode import decode
from polykind.verbs.metadata import (
    check_name,
    dedupe_owners,
    ignore_resource_version,
    keep_manager_times,
    match_namespace,
    resource_version_error,
    track_update,
)
from polykind.verbs.write import PUT, Origin, Write

Change = Callable[[JsonObject, Write], Awaitable[JsonObject]]
"""A function that returns the new object for an old one, both at the request's version, and may update the Write."""
View = Callable[[JsonObject], JsonObject]


async def update(op: Operation) -> Response:
    response_format = respond.negotiate(op, negotiation.VERSION_TRANSFORMS)
    options = op.options(UpdateOptions)
    all_versions = respond.wants_all_versions(response_format, options)
    decoded = [await _decode_update(op, options)]

    async def replace(_: JsonObject, write: Write) -> JsonObject:
        # If an attempt lost a race, decode the body again, because that attempt has modified the decoded object.
        sent = decoded.pop() if decoded else await _decode_update(op, options)
        write.integers_only, write.values_validated = sent.integers_only, sent.values_validated
        return sent.obj

    if op.version.strategy.creates_on_update and not all_versions:
        created = await _create_if_missing(op, options)
        if created is not None:
            return await respond.object_response(op, response_format, 201, created)
    data = await change_object(op, replace, options, PUT, all_versions=all_versions)
    return await respond.object_response(op, response_format, 200, data)


async def _decode_update(op: Operation, options: UpdateOptions) -> Write:
    write = await decode(op, PUT, options)
    match_namespace(op, write.obj["metadata"])
    check_name(op, write.obj)
    await dedupe_owners(op, write)
    return write


async def _create_if_missing(op: Operation, options: UpdateOptions) -> bytes | None:
    """Create the object of a PUT and return its representation. Return None if the object already exists."""
    await op.backend.cache.wait_until_fresh(op.resource.cache)
    if op.resource.cache.get(op.key) is not None or names.path_segment(op.name):
        return None
    write = await _decode_update(op, options)
    check_uid(op, write.obj, {"metadata": {}}, dry_run=options.dry_run)
    ignore_resource_version(write.obj["metadata"], dry_run=options.dry_run)
    write.options = CreateOptions(options.dry_run, options.field_manager)
    try:
        return await create_object(op, write)
    except errors.AlreadyExistsError:
        return None


async def change_object(
    op: Operation,
    change: Change,
    options: WriteOptions,
    origin: Origin,
    admission_view: View | None = None,
    *,
    all_versions: bool = False,
) -> bytes:
    """Change a stored object and return its representation. Retry if another write was faster.

    If `all_versions` is true, return an ObjectVersions document about the result of a dry run instead.

    `admission_view` returns the part of an object that validating admission sees, such as its Scale. If
    `admission_view` is not None, `change` has already run mutating admission.
    """
    cache, representer = op.resource.cache, op.version.representer
    while True:
        await op.backend.cache.wait_until_fresh(cache)
        cached = cache.get(op.key)
        if cached is None:
            raise op.not_found()
        representation = representer.known(cached) or await representer.view(cached)
        data = representation.data
        large = op.body_is_large or op.is_large(data)
        old, old_integers_only = (
            await op.lane.run_in_worker(partial(json_codec.decode_flagged, data))
            if large
            else json_codec.decode_flagged(data)
        )
        write = Write({}, origin, options, old, cached, large=large, old_integers_only=old_integers_only)
        write.normalized = not origin.merges
        write.all_versions = all_versions
        write.obj = await change(old, write)
        if large:
            await op.lane.run_in_worker(partial(_share_unchanged, write.obj, old))
        else:
            _share_unchanged(write.obj, old)
        if origin.replaces:
            check_uid(op, write.obj, old, dry_run=options.dry_run)
        if not origin.merges:
            await track_update(op, write)
        if admission_view is None and (op.backend.admission.mutates or op.version.is_builtin):
            await admit(op, write)
        if op.version.strategy.grants:
            from polykind.verbs.privileges import check_escalation

            await check_escalation(op, write.obj, old)
        has_version = _check_resource_version(op, write.obj, old, cached)
        try:
            storing = _store(op, write, old, cached, admission_view)
            return await (write.complete(storing) if op.resource.has_effects else storing)
        except LostRaceError:
            # A Scale may leave the version out. Then it is that of the object just read, which the retry reads again.
            if has_version and origin is PUT:
                raise modified_error(op, op.name) from None


async def _store(
    op: Operation, write: Write, old: JsonObject, cached: CachedObject, admission_view: View | None
) -> bytes:
    """Prepare, validate and store a changed object. Return its representation."""
    if write.obj is old and op.version.is_builtin:
        # An apply that changes nothing returns the old object itself. Copy it, because strategies may replace fields.
        write.obj = dict(old)
    match_namespace(op, write.obj["metadata"])
    await dedupe_owners(op, write, after_admission=True)
    if op.resource.has_effects:
        write.finish = await op.resource.begin_update(op, write.obj, old, dry_run=write.options.dry_run)
    if write.values_validated and (op.subresource or _restores_status(op, write.obj, old)):
        # The values that the endpoint restores are not those that decoding has validated.
        write.values_validated = False
        write.normalized = not write.origin.merges
    if write.large:
        write.obj = await op.lane.run_in_worker(partial(_prepare, op, write.obj, old))
    else:
        write.obj = _prepare(op, write.obj, old)
    await _validate(op, write, old)
    if not write.raw_metadata:
        if write.large:
            await op.lane.run_in_worker(partial(keep_manager_times, write.obj, old))
        else:
            keep_manager_times(write.obj, old)
    admission = op.backend.admission
    if admission.validates or op.version.is_builtin or op.namespace in admission.quota_namespaces:
        await approve(op, write, admission_view)
    if _last_finalizer_removed(write.obj) and not op.resource.has_spec_finalizers(write.obj):
        return await _delete_finalized(op, write, cached)
    if write.options.dry_run and op.resource.previews_changes and not op.subresource:
        from polykind.verbs.change_preview import warn_about_change

        await warn_about_change(op, write.obj, old)
    representation = await commit(op, op.key, write)
    if not write.options.dry_run:
        await op.resource.after_write(op.name)
    return representation.data


def may_share_old(op: Operation, write: Write, merged: Any) -> bool:
    """True if pruning and defaulting the result of a merge cannot change the values of the old object in it.

    This holds if the old object is normalized. A mutating webhook or policy might change them. Numbers with a fraction
    have to be decoded again.
    """
    cached, version = write.cached, op.version
    return (
        cached is not None
        and version.representer.stores_normalized
        and not version.is_builtin
        and version.representer.known(cached) is cached
        and write.integers_only
        and write.old_integers_only
        and not write.large
        and not op.backend.admission.mutates
        and type(merged) is dict
        and type(merged.get("metadata")) is dict
    )


def _restores_status(op: Operation, new: JsonObject, old: JsonObject) -> bool:
    """True if an update of an object cannot change its status and the new object has another status."""
    return op.version.has_status and new.get("status") is not old.get("status")


def _share_unchanged(new: JsonObject, old: JsonObject) -> None:
    """Replace unchanged fields of the new object by those of the old object. Later comparisons are then by identity."""
    for name, value in new.items():
        before = old.get(name)
        if value is not before and name != "metadata" and deep_equal(value, before):
            new[name] = before


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


def _check_resource_version(op: Operation, new: JsonObject, old: JsonObject, cached: CachedObject) -> bool:
    """Return True if the request has a resourceVersion. Raise ConflictError if it differs from the stored one."""
    meta, resource = new["metadata"], op.resource
    requested = meta.get("resourceVersion")
    if not requested or requested == "0":
        if op.version.strategy.unconditional_update:
            meta["resourceVersion"] = old["metadata"]["resourceVersion"]
            return False
        error = errors.invalid("metadata.resourceVersion", 0, "must be specified for an update")
        raise errors.InvalidError(resource.plural, resource.group, op.name, [error])
    if requested != str(cached.revision):
        if reason := resource_version_error(requested):
            raise errors.UnknownReasonError(reason)
        raise modified_error(op, op.name)
    return True


def _prepare(op: Operation, new: JsonObject, old: JsonObject) -> JsonObject:
    """Return the new object. Fields that the endpoint cannot change keep their old values."""
    strategy, before = op.version.strategy, old["metadata"]
    if not new.get("apiVersion"):
        raise errors.InternalError("Object 'apiVersion' is missing in 'object has no apiVersion field'")
    if op.subresource == "status" and not op.version.is_builtin:
        new = strategy.prepare_status(new, old)
    meta = new["metadata"]
    for name in ("uid", "creationTimestamp"):
        if not meta.get(name) and before.get(name):
            meta[name] = before[name]
    meta["creationTimestamp"] = before.get("creationTimestamp", meta.get("creationTimestamp"))
    if "deletionTimestamp" in before:
        meta["deletionTimestamp"] = before["deletionTimestamp"]
    if "deletionGracePeriodSeconds" in before:
        meta.setdefault("deletionGracePeriodSeconds", before["deletionGracePeriodSeconds"])
    if "generation" in before:
        meta["generation"] = before["generation"]
    else:
        meta.pop("generation", None)
    if op.subresource in ("", "scale"):
        strategy.prepare_update(new, old)
    elif op.version.is_builtin:
        new = strategy.prepare_subresource(op.subresource, new, old)
    return new


async def _validate(op: Operation, write: Write, old: JsonObject) -> None:
    """Validate the new object and send warnings to the client. Raise InvalidError if the object is invalid."""
    new = write.obj
    strategy, meta = op.version.strategy, new["metadata"]

    def validate_all(check: InterruptCheck | None) -> Validation:
        if op.subresource in ("", "scale"):
            validation = strategy.validate_update(new, old, values_validated=write.values_validated, check=check)
        else:
            validation = strategy.validate_subresource(op.subresource, new, old, check=check)
        meta_errors = []
        if validation.errors or op.version.is_builtin:
            # In kube-apiserver, the strategy of a custom resource repeats this validation. If it has found no errors,
            # there are none.
            meta_errors = metadata_validation.validate_object_meta_update(meta, old["metadata"])
        field_errors = metadata_validation.validate_object_meta(
            meta, namespaced=op.resource.namespaced, name_rule=names.path_segment, only_identity=not meta_errors
        )
        return Validation(field_errors + meta_errors + validation.errors, validation.ratcheted)

    if write.large or strategy.evaluates_rules:
        validation = await run_validation(op, write, validate_all)
    else:
        validation = validate_all(None)
    field_errors = validation.errors
    if field_errors and op.backend.allows_privileged:
        field_errors = [error for error in field_errors if not error.privileged]
    if strategy.reads_params and not (field_errors or op.subresource or op.backend.authorizer.allows_everything):
        from polykind.verbs.privileges import param_errors

        field_errors = await param_errors(op, new, old)
    if write.large:
        await op.lane.run_in_worker(partial(strategy.canonicalize, new))
    else:
        strategy.canonicalize(new)
    for text in validation.ratcheted:
        op.notes.warn(text)
    if field_errors:
        group = new["apiVersion"].rpartition("/")[0] if strategy.error_group is None else strategy.error_group
        raise await invalid_error(op, write, new.get("kind", ""), group, meta.get("name", ""), field_errors)
    await add_warnings(op, write)


def _last_finalizer_removed(new: JsonObject) -> bool:
    meta = new["metadata"]
    return (
        bool(meta.get("deletionTimestamp"))
        and not meta.get("finalizers")
        and not meta.get("deletionGracePeriodSeconds")
    )


async def _delete_finalized(op: Operation, write: Write, cached: CachedObject) -> bytes:
    """Delete the object instead of storing it, because its last finalizer is gone. Return the JSON of `write.obj`."""
    data = (
        await op.lane.run_in_worker(lambda: json_codec.encode(write.as_applied()))
        if write.large
        else json_codec.encode(write.as_applied())
    )
    if not write.options.dry_run:
        await remove(op, op.key, cached)
        await op.resource.after_write(op.name)
    if op.resource.has_effects:
        await op.resource.after_delete(op, write.obj, dry_run=write.options.dry_run)
    return data
