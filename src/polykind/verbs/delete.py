"""delete and deletecollection: remove objects, at once or when their finalizers are done."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from enum import Enum
from functools import partial
from typing import NamedTuple

from msgspec.structs import replace

from polykind import errors
from polykind.apis.machinery.protobuf_reader import decode_message
from polykind.apis.meta.types import DELETE_OPTIONS
from polykind.cache.cached_object import CachedObject
from polykind.codec import json_codec, negotiation, yaml_codec
from polykind.codec.protobuf_envelope import decode_envelope
from polykind.codec.protobuf_wire import ProtobufError
from polykind.contract import JsonObject
from polykind.conversion.conversion_errors import ConversionFailedError
from polykind.http.messages import Response, Stream
from polykind.operations.options import DeleteOptions, ListOptions
from polykind.resources.resource import PropagationPolicy
from polykind.verbs import respond
from polykind.verbs.admit import approve_delete
from polykind.verbs.commit import LostRaceError, commit, remove
from polykind.verbs.context import RequestContext, is_large
from polykind.verbs.list import collect
from polykind.verbs.selection import RequestSelection, has_long_query
from polykind.verbs.write import DELETE, Write

FOREGROUND = "foregroundDeletion"
ORPHAN = "orphan"
_CONCURRENT_DELETES = 64
"""The number of concurrent deletes in a deletecollection. Concurrent deletes share commits of the store."""


class Deletion(NamedTuple):
    """The result of a delete."""

    gone: bool
    """False if finalizers keep the object, or if a dry run of a graceful deletion does not remove the object."""
    data: bytes
    """The object after the request or, if it was removed, the object before the request."""
    uid: str


async def delete(ctx: RequestContext) -> Response:
    response_format = respond.negotiate(ctx)
    options = await _read_options(ctx)
    if options.ignore_read_error:
        from polykind.verbs.unreadable import delete_unreadable

        if (removed := await delete_unreadable(ctx, options)) is not None:
            return respond.status_response(ctx, response_format, removed)
    _warn_about_default_policy(ctx, options)
    try:
        deletion = await delete_object(ctx, options)
    except ConversionFailedError as error:
        from polykind.verbs.stored_delete import delete_as_stored

        status, deleted = await delete_as_stored(ctx, options, error)
        return respond.status_response(ctx, response_format, deleted, status)
    if not deletion.gone:
        status = 202 if options.orphan_dependents is False else 200
        return await respond.object_response(ctx, response_format, status, deletion.data)
    resource = ctx.resource
    if ctx.version.strategy.returns_deleted_object:
        return await respond.object_response(ctx, response_format, 200, deletion.data)
    details = {"name": ctx.name, "group": resource.group, "kind": resource.plural, "uid": deletion.uid}
    status_object = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": {k: v for k, v in details.items() if v},
    }
    return respond.status_response(ctx, response_format, status_object)


def _list_options(ctx: RequestContext) -> ListOptions:
    return ListOptions.from_query(ctx.query)


async def deletecollection(ctx: RequestContext) -> Response | Stream:
    response_format = respond.negotiate(ctx)
    long_query = has_long_query(ctx)
    read_list_options = partial(_list_options, ctx)
    list_options = await ctx.compute(read_list_options) if long_query else read_list_options()
    options = await _read_options(ctx)
    if options.ignore_read_error and ctx.backend.unsafe_deletion:
        text = "is not allowed with DELETECOLLECTION, try again after removing the option"
        field_error = errors.invalid("ignoreStoreReadErrorWithClusterBreakingPotential", True, text)
        raise errors.InvalidError("DeleteOptions", "meta.k8s.io", "", [field_error])
    _warn_about_default_policy(ctx, options)
    select = partial(RequestSelection, ctx, list_options)
    selection = await ctx.compute(select) if long_query else select()
    paged = not (list_options.resource_version_match or list_options.limit or selection.single)
    if paged and list_options.resource_version not in ("", "0"):
        # kube-apiserver always lists in pages here, and reads each page at exactly the requested revision.
        list_options = replace(list_options, resource_version_match="Exact")
    selected, metadata = await collect(ctx, list_options, selection)
    items = list(zip(selected.objects, selected.representations, strict=True))
    deleted: list[bytes] = []
    for start in range(0, len(items), _CONCURRENT_DELETES):
        batch = items[start : start + _CONCURRENT_DELETES]
        results = await asyncio.gather(*(_delete_listed(ctx, c, options) for c, _ in batch), return_exceptions=True)
        for (_, representation), result in zip(batch, results, strict=True):
            if isinstance(result, BaseException):
                raise result
            deleted.append(representation.data)
    return await respond.list_response(ctx, response_format, deleted, metadata)


async def _delete_listed(ctx: RequestContext, cached: CachedObject, options: DeleteOptions) -> None:
    """Delete one object of a collection. Do nothing if the object is already deleted."""
    namespace = cached.namespace if ctx.resource.namespaced else None
    with suppress(errors.NotFoundError):
        await delete_object(
            RequestContext(ctx.backend, ctx.request, ctx.version, namespace, cached.name, ""), options, named=False
        )


def _warn_about_default_policy(ctx: RequestContext, options: DeleteOptions) -> None:
    text = ctx.version.strategy.default_policy_warning
    if text and options.propagation_policy is None and options.orphan_dependents is None:
        ctx.request.notes.warn(text)


async def _read_options(ctx: RequestContext) -> DeleteOptions:
    if is_large(ctx.request.body):
        return await ctx.compute(lambda: _decode_options(ctx))
    return _decode_options(ctx)


def _decode_options(ctx: RequestContext) -> DeleteOptions:
    """Return the DeleteOptions of the body or, if the body is empty, of the query."""
    body = ctx.request.body
    if not body:
        return DeleteOptions.from_query(ctx.query)
    media = negotiation.body_media(ctx.request.header(b"content-type"), offers=negotiation.BUILTIN_MEDIA)
    if media == "protobuf":
        value = _decode_protobuf_options(body)
    else:
        value = yaml_codec.decode(body) if media == "yaml" else json_codec.decode(body)
    options = DeleteOptions.from_body(value)
    ctx.request.notes.record_options(value)
    return options


def _decode_protobuf_options(body: bytes) -> JsonObject:
    try:
        api_version, kind, message = decode_envelope(body)
        type_meta = {"apiVersion": "" if api_version.count("/") > 1 else api_version, "kind": kind}
        if kind not in ("", DELETE_OPTIONS.kind):
            return type_meta
        return {**decode_message(message, DELETE_OPTIONS), **type_meta}
    except ProtobufError as error:
        raise errors.BadRequestError(str(error)) from None


async def delete_object(
    ctx: RequestContext, options: DeleteOptions, *, named: bool = True, admission: bool = True
) -> Deletion:
    """Delete an object, or mark it as terminating if finalizers or a grace period keep it.

    `named` is false in a deletecollection. `admission` is false if admission has already handled the request, for
    example as an eviction.
    """
    resource, cache, representer = ctx.resource, ctx.resource.cache, ctx.version.representer
    if ctx.name in resource.protected_names:
        raise errors.ForbiddenError(resource.plural, resource.group, ctx.name, resource.protection_reason)
    while True:
        await ctx.backend.cache.wait_until_fresh(cache)
        cached = cache.get(ctx.key)
        if cached is None:
            raise ctx.not_found()
        representation = representer.known(cached) or await representer.view(cached)
        large = ctx.is_large(representation.data)
        decode = partial(json_codec.decode, representation.data)
        obj: JsonObject = await ctx.compute(decode) if large else decode()
        _check_preconditions(ctx, obj["metadata"], options)
        if admission:
            await approve_delete(ctx, obj, options, named=named, large=large)
        uid = obj["metadata"].get("uid", "")
        try:
            grace = _apply_grace_period(ctx, obj, options)
            if grace is _Grace.PENDING:
                return Deletion(False, representation.data, uid)
            mark = partial(_mark_terminating, ctx, obj, options, graceful=grace is _Grace.BEGUN)
            if not (await ctx.compute(mark) if large else mark()):
                await _remove(ctx, cached, options)
            elif obj["metadata"].get("finalizers") or resource.has_spec_finalizers(obj) or _has_grace_period(obj):
                kept = await commit(ctx, ctx.key, Write(obj, DELETE, options, cached=cached, large=large))
                if not options.dry_run:
                    await resource.after_write(ctx.name)
                return Deletion(False, kept.data, uid)
            elif grace is _Grace.BEGUN:
                # As in kube-apiserver, watches see an update to a grace period of zero seconds before the removal.
                representation = await commit(ctx, ctx.key, Write(obj, DELETE, options, cached=cached, large=large))
                await _remove(ctx, cache.get(ctx.key) or cached, options)
            elif options.dry_run and resource.deletion_bumps_generation:
                # In this dry run kube-apiserver has no written object to return, so it returns an object without
                # content.
                empty = {"apiVersion": ctx.version.api_version, "kind": resource.kind}
                return Deletion(False, json_codec.encode(empty), uid)
            else:
                await _remove(ctx, cached, options)
        except LostRaceError:
            continue
        return Deletion(True, representation.data, uid)


async def _remove(ctx: RequestContext, cached: CachedObject, options: DeleteOptions) -> None:
    if not options.dry_run:
        await remove(ctx, ctx.key, cached)
        await ctx.resource.after_write(ctx.name)
    if ctx.resource.has_effects:
        representation = ctx.version.representer.ready(cached) or await ctx.version.representer.view(cached)
        await ctx.resource.after_delete(ctx, json_codec.decode(representation.data), dry_run=options.dry_run)


class _Grace(Enum):
    """The effect of a delete on an object's grace period."""

    NONE = "the object has no grace period"
    BEGUN = "the grace period begins or becomes shorter"
    PENDING = "the grace period has already begun"


def _apply_grace_period(ctx: RequestContext, obj: JsonObject, options: DeleteOptions) -> _Grace:
    """Set the grace period of an object whose kind has one, such as a pod."""
    meta, requested = obj["metadata"], options.grace_period_seconds
    if requested is not None and requested < 0:
        requested = 1
    period = ctx.version.strategy.grace_period(obj, requested)
    if period is None:
        return _Grace.NONE
    now = ctx.backend.clock.now().astimezone(UTC)
    ends = now + timedelta(seconds=period)
    if meta.get("deletionTimestamp"):
        running = meta.get("deletionGracePeriodSeconds")
        if not running:
            return _Grace.NONE
        if requested is None or requested >= running:
            return _Grace.PENDING
        period, ends = requested, _parse_time(meta["deletionTimestamp"]) - timedelta(seconds=running - requested)
        if ends < now:
            # The new period has already ended. Unless the period is zero, keep one second, so that the node can see the
            # change.
            period, ends = min(period, 1), now
    elif meta.get("generation"):
        meta["generation"] += 1
    meta["deletionTimestamp"] = ends.strftime("%Y-%m-%dT%H:%M:%SZ")
    meta["deletionGracePeriodSeconds"] = period
    return _Grace.BEGUN


def _parse_time(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


def _has_grace_period(obj: JsonObject) -> bool:
    meta = obj["metadata"]
    return bool(meta.get("deletionTimestamp")) and bool(meta.get("deletionGracePeriodSeconds"))


def _check_preconditions(ctx: RequestContext, meta: JsonObject, options: DeleteOptions) -> None:
    """Raise ConflictError if the object's uid or resourceVersion differs from the precondition in `options`."""
    resource, group = ctx.resource, ctx.version.strategy.error_group
    group = resource.group if group is None else group
    if not resource.deletion_bumps_generation:
        _check_storage_preconditions(ctx, meta, options)
    if options.uid is not None and options.uid != meta.get("uid"):
        reason = (
            f"the UID in the precondition ({options.uid}) does not match the UID in record ({meta.get('uid')}). "
            "The object might have been deleted and then recreated"
        )
        raise errors.conflict(resource.kind, group, ctx.name, reason)
    if options.resource_version is not None and options.resource_version != meta.get("resourceVersion"):
        reason = (
            f"the ResourceVersion in the precondition ({options.resource_version}) does not match the ResourceVersion "
            f"in record ({meta.get('resourceVersion')}). The object might have been modified"
        )
        raise errors.conflict(resource.kind, group, ctx.name, reason)


def _check_storage_preconditions(ctx: RequestContext, meta: JsonObject, options: DeleteOptions) -> None:
    """Raise ConflictError if a delete of a CRD or Namespace has a precondition that the object does not fulfil.

    kube-apiserver checks the preconditions of these kinds in its storage layer, with another error message.
    """
    for word, wanted, key in (
        ("UID", options.uid, "uid"),
        ("ResourceVersion", options.resource_version, "resourceVersion"),
    ):
        if wanted is not None and wanted != meta.get(key):
            reason = f"Precondition failed: {word} in precondition: {wanted}, {word} in object meta: {meta.get(key)}"
            raise errors.conflict(ctx.resource.plural, ctx.resource.group, ctx.name, reason)


def _mark_terminating(ctx: RequestContext, obj: JsonObject, options: DeleteOptions, *, graceful: bool) -> bool:
    """Mark the object as terminating. Return False if neither a finalizer nor a grace period keeps it."""
    resource, meta = ctx.resource, obj["metadata"]
    finalizers = meta.get("finalizers") or []
    terminating = bool(meta.get("deletionTimestamp"))
    applies_policy = not resource.has_spec_finalizers(obj) if terminating else resource.deletion_applies_policy
    non_orphan_policy = "Background" if terminating else resource.non_orphan_policy
    default = ctx.version.strategy.default_propagation_policy
    wanted = _policy_finalizers(finalizers, options, non_orphan_policy, default) if applies_policy else list(finalizers)
    kept_by_controller = resource.prepare_delete(obj)
    if not wanted and not finalizers and not kept_by_controller and not graceful:
        return False
    known = {*wanted, *finalizers}
    wanted += [f for f in dict.fromkeys(meta.get("finalizers") or []) if f not in known]
    if wanted:
        meta["finalizers"] = wanted
    else:
        meta.pop("finalizers", None)
    if not meta.get("deletionTimestamp"):
        meta["deletionTimestamp"] = ctx.now()
        if resource.deletion_bumps_generation:
            meta["deletionGracePeriodSeconds"] = 0
            if meta.get("generation"):
                meta["generation"] += 1
    elif not resource.has_spec_finalizers(obj):
        meta.setdefault("deletionGracePeriodSeconds", 0)
    return True


def _policy_finalizers(
    finalizers: list[str], options: DeleteOptions, non_orphan_policy: str, default: PropagationPolicy | None
) -> list[str]:
    """Return `finalizers` with the finalizer of the delete's propagation policy and without those of other policies.

    `non_orphan_policy` is the policy for orphanDependents=false. `default` is the policy for a delete request without a
    policy, unless a finalizer of the object implies one.
    """
    policy = options.propagation_policy if default is not None else "Background"
    if policy is None and options.orphan_dependents is not None:
        policy = "Orphan" if options.orphan_dependents else non_orphan_policy
    if policy is None and default == "Orphan" and FOREGROUND not in finalizers:
        policy = default
    if policy is None:
        return list(finalizers)
    wanted = [f for f in finalizers if f not in (FOREGROUND, ORPHAN)]
    if policy == "Orphan":
        wanted.append(ORPHAN)
    elif policy == "Foreground":
        wanted.append(FOREGROUND)
    # Keep the order of the finalizers if the policy adds and removes none.
    return list(finalizers) if set(wanted) == set(finalizers) else wanted
