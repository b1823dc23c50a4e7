"""update: replace an object or its status; and the stages that every change of a stored object passes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from polykind import errors, names
from polykind.cache.cached_object import CachedObject
from polykind.codec import json_codec, negotiation
from polykind.contract import InterruptCheck, JsonObject
from polykind.http.messages import Response
from polykind.operations.options import CreateOptions, UpdateOptions, WriteOptions
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
from polykind.verbs.context import RequestContext
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


async def update(ctx: RequestContext) -> Response:
    response_format = respond.negotiate(ctx, negotiation.VERSION_TRANSFORMS)
    options = ctx.write_options(UpdateOptions)
    all_versions = respond.wants_all_versions(response_format, options)
    decoded = [await _decode_update(ctx, options)]

    async def replace(_: JsonObject, write: Write) -> JsonObject:
        # If an attempt lost a race, decode the body again, because that attempt has modified the decoded object.
        sent = decoded.pop() if decoded else await _decode_update(ctx, options)
        write.integers_only, write.values_validated = sent.integers_only, sent.values_validated
        return sent.obj

    if ctx.version.strategy.creates_on_update and not all_versions:
        created = await _create_if_missing(ctx, options)
        if created is not None:
            return await respond.object_response(ctx, response_format, 201, created)
    data = await change_object(ctx, replace, options, PUT, all_versions=all_versions)
    return await respond.object_response(ctx, response_format, 200, data)


async def _decode_update(ctx: RequestContext, options: UpdateOptions) -> Write:
    write = await decode(ctx, PUT, options)
    match_namespace(ctx, write.obj["metadata"])
    check_name(ctx, write.obj)
    await dedupe_owners(ctx, write)
    return write


async def _create_if_missing(ctx: RequestContext, options: UpdateOptions) -> bytes | None:
    """Create the object of a PUT and return its representation. Return None if the object already exists."""
    await ctx.backend.cache.wait_until_fresh(ctx.resource.cache)
    if ctx.resource.cache.get(ctx.key) is not None or names.path_segment(ctx.name):
        return None
    write = await _decode_update(ctx, options)
    check_uid(ctx, write.obj, {"metadata": {}}, dry_run=options.dry_run)
    ignore_resource_version(write.obj["metadata"], dry_run=options.dry_run)
    write.options = CreateOptions(options.dry_run, options.field_manager)
    try:
        return await create_object(ctx, write)
    except errors.AlreadyExistsError:
        return None


async def change_object(
    ctx: RequestContext,
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
    cache, representer = ctx.resource.cache, ctx.version.representer
    while True:
        await ctx.backend.cache.wait_until_fresh(cache)
        cached = cache.get(ctx.key)
        if cached is None:
            raise ctx.not_found()
        representation = representer.known(cached) or await representer.view(cached)
        data = representation.data
        large = ctx.body_is_large or ctx.is_large(data)
        old, old_integers_only = (
            await ctx.compute(partial(json_codec.decode_flagged, data)) if large else json_codec.decode_flagged(data)
        )
        write = Write({}, origin, options, old, cached, large=large, old_integers_only=old_integers_only)
        write.normalized = not origin.merges
        write.all_versions = all_versions
        write.obj = await change(old, write)
        if large:
            await ctx.compute(partial(_share_unchanged, write.obj, old))
        else:
            _share_unchanged(write.obj, old)
        if origin.replaces:
            check_uid(ctx, write.obj, old, dry_run=options.dry_run)
        if not origin.merges:
            await track_update(ctx, write)
        if admission_view is None and (ctx.backend.admission.mutates or ctx.version.is_builtin):
            await admit(ctx, write)
        if ctx.version.strategy.grants:
            from polykind.verbs.privileges import check_escalation

            await check_escalation(ctx, write.obj, old)
        has_version = _check_resource_version(ctx, write.obj, old, cached)
        try:
            storing = _store(ctx, write, old, cached, admission_view)
            return await (write.complete(storing) if ctx.resource.has_effects else storing)
        except LostRaceError:
            # A Scale may leave the version out. Then it is that of the object just read, which the retry reads again.
            if has_version and origin is PUT:
                raise modified_error(ctx, ctx.name) from None


async def _store(
    ctx: RequestContext, write: Write, old: JsonObject, cached: CachedObject, admission_view: View | None
) -> bytes:
    """Prepare, validate and store a changed object. Return its representation."""
    if write.obj is old and ctx.version.is_builtin:
        # An apply that changes nothing returns the old object itself. Copy it, because strategies may replace fields.
        write.obj = dict(old)
    match_namespace(ctx, write.obj["metadata"])
    await dedupe_owners(ctx, write, after_admission=True)
    if ctx.resource.has_effects:
        write.finish = await ctx.resource.begin_update(ctx, write.obj, old, dry_run=write.options.dry_run)
    if write.values_validated and (ctx.subresource or _restores_status(ctx, write.obj, old)):
        # The values that the endpoint restores are not those that decoding has validated.
        write.values_validated = False
        write.normalized = not write.origin.merges
    if write.large:
        write.obj = await ctx.compute(partial(_prepare, ctx, write.obj, old))
    else:
        write.obj = _prepare(ctx, write.obj, old)
    await _validate(ctx, write, old)
    if not write.raw_metadata:
        if write.large:
            await ctx.compute(partial(keep_manager_times, write.obj, old))
        else:
            keep_manager_times(write.obj, old)
    admission = ctx.backend.admission
    if admission.validates or ctx.version.is_builtin or ctx.namespace in admission.quota_namespaces:
        await approve(ctx, write, admission_view)
    if _last_finalizer_removed(write.obj) and not ctx.resource.has_spec_finalizers(write.obj):
        return await _delete_finalized(ctx, write, cached)
    if write.options.dry_run and ctx.resource.previews_changes and not ctx.subresource:
        from polykind.verbs.change_preview import warn_about_change

        await warn_about_change(ctx, write.obj, old)
    representation = await commit(ctx, ctx.key, write)
    if not write.options.dry_run:
        await ctx.resource.after_write(ctx.name)
    return representation.data


def may_share_old(ctx: RequestContext, write: Write, merged: Any) -> bool:
    """True if pruning and defaulting the result of a merge cannot change the values of the old object in it.

    This holds if the old object is normalized. A mutating webhook or policy might change them. Numbers with a fraction
    have to be decoded again.
    """
    cached, version = write.cached, ctx.version
    return (
        cached is not None
        and version.representer.stores_normalized
        and not version.is_builtin
        and version.representer.known(cached) is cached
        and write.integers_only
        and write.old_integers_only
        and not write.large
        and not ctx.backend.admission.mutates
        and type(merged) is dict
        and type(merged.get("metadata")) is dict
    )


def _restores_status(ctx: RequestContext, new: JsonObject, old: JsonObject) -> bool:
    """True if an update of an object cannot change its status and the new object has another status."""
    return ctx.version.has_status and new.get("status") is not old.get("status")


def _share_unchanged(new: JsonObject, old: JsonObject) -> None:
    """Replace unchanged fields of the new object by those of the old object. Later comparisons are then by identity."""
    for name, value in new.items():
        before = old.get(name)
        if value is not before and name != "metadata" and deep_equal(value, before):
            new[name] = before


def check_uid(ctx: RequestContext, new: JsonObject, old: JsonObject, *, dry_run: bool) -> None:
    """Raise ConflictError if the request contains a uid that differs from the stored object's."""
    check_precondition(ctx, "uid", new["metadata"].get("uid"), old, dry_run=dry_run)


def check_precondition(ctx: RequestContext, field: str, wanted: str | None, old: JsonObject, *, dry_run: bool) -> None:
    """Raise ConflictError if the uid or resourceVersion (`field`) in the request differs from the stored object's."""
    resource, actual = ctx.resource, old["metadata"].get(field, "")
    if wanted and wanted != actual:
        # The message contains the key in the store. A dry run does not reach the layer that adds the server's prefix.
        cache_prefix = resource.cache.prefix
        prefix = f"/{cache_prefix.removeprefix(ctx.backend.cache.prefix)}" if dry_run else cache_prefix
        word = "UID" if field == "uid" else "ResourceVersion"
        reason = (
            f"StorageError: invalid object, Code: 4, Key: {prefix}{ctx.key}, ResourceVersion: 0, AdditionalErrorMsg: "
            f"Precondition failed: {word} in precondition: {wanted}, {word} in object meta: {actual}"
        )
        raise errors.conflict(resource.plural, resource.group, ctx.name, reason)


def _check_resource_version(ctx: RequestContext, new: JsonObject, old: JsonObject, cached: CachedObject) -> bool:
    """Return True if the request has a resourceVersion. Raise ConflictError if it differs from the stored one."""
    meta, resource = new["metadata"], ctx.resource
    requested = meta.get("resourceVersion")
    if not requested or requested == "0":
        if ctx.version.strategy.unconditional_update:
            meta["resourceVersion"] = old["metadata"]["resourceVersion"]
            return False
        error = errors.invalid("metadata.resourceVersion", 0, "must be specified for an update")
        raise errors.InvalidError(resource.plural, resource.group, ctx.name, [error])
    if requested != str(cached.revision):
        if reason := resource_version_error(requested):
            raise errors.UnknownReasonError(reason)
        raise modified_error(ctx, ctx.name)
    return True


def _prepare(ctx: RequestContext, new: JsonObject, old: JsonObject) -> JsonObject:
    """Return the new object. Fields that the endpoint cannot change keep their old values."""
    strategy, before = ctx.version.strategy, old["metadata"]
    if not new.get("apiVersion"):
        raise errors.InternalError("Object 'apiVersion' is missing in 'object has no apiVersion field'")
    if ctx.subresource == "status" and not ctx.version.is_builtin:
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
    if ctx.subresource in ("", "scale"):
        strategy.prepare_update(new, old)
    elif ctx.version.is_builtin:
        new = strategy.prepare_subresource(ctx.subresource, new, old)
    return new


async def _validate(ctx: RequestContext, write: Write, old: JsonObject) -> None:
    """Validate the new object and send warnings to the client. Raise InvalidError if the object is invalid."""
    new = write.obj
    strategy, meta = ctx.version.strategy, new["metadata"]

    def validate_all(check: InterruptCheck | None) -> Validation:
        if ctx.subresource in ("", "scale"):
            validation = strategy.validate_update(new, old, values_validated=write.values_validated, check=check)
        else:
            validation = strategy.validate_subresource(ctx.subresource, new, old, check=check)
        meta_errors = []
        if validation.errors or ctx.version.is_builtin:
            # In kube-apiserver, the strategy of a custom resource repeats this validation. If it has found no errors,
            # there are none.
            meta_errors = metadata_validation.validate_object_meta_update(meta, old["metadata"])
        field_errors = metadata_validation.validate_object_meta(
            meta, namespaced=ctx.resource.namespaced, name_rule=names.path_segment, only_identity=not meta_errors
        )
        return Validation(field_errors + meta_errors + validation.errors, validation.ratcheted)

    if write.large or strategy.evaluates_rules:
        validation = await run_validation(ctx, write, validate_all)
    else:
        validation = validate_all(None)
    field_errors = validation.errors
    if strategy.reads_params and not (field_errors or ctx.subresource or ctx.backend.authorizer.allows_everything):
        from polykind.verbs.privileges import param_errors

        field_errors = await param_errors(ctx, new, old)
    if write.large:
        await ctx.compute(partial(strategy.canonicalize, new))
    else:
        strategy.canonicalize(new)
    for text in validation.ratcheted:
        ctx.request.notes.warn(text)
    if field_errors:
        group = new["apiVersion"].rpartition("/")[0] if strategy.error_group is None else strategy.error_group
        raise await invalid_error(ctx, write, new.get("kind", ""), group, meta.get("name", ""), field_errors)
    await add_warnings(ctx, write)


def _last_finalizer_removed(new: JsonObject) -> bool:
    meta = new["metadata"]
    return (
        bool(meta.get("deletionTimestamp"))
        and not meta.get("finalizers")
        and not meta.get("deletionGracePeriodSeconds")
    )


async def _delete_finalized(ctx: RequestContext, write: Write, cached: CachedObject) -> bytes:
    """Delete the object instead of storing it, because its last finalizer is gone. Return the JSON of `write.obj`."""
    data = (
        await ctx.compute(lambda: json_codec.encode(write.as_applied()))
        if write.large
        else json_codec.encode(write.as_applied())
    )
    if not write.options.dry_run:
        await remove(ctx, ctx.key, cached)
        await ctx.resource.after_write(ctx.name)
    if ctx.resource.has_effects:
        await ctx.resource.after_delete(ctx, write.obj, dry_run=write.options.dry_run)
    return data
