"""delete and deletecollection: remove objects, at once or when their finalizers are done."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import NamedTuple

from msgspec.structs import replace

from polykind import errors
from polykind.apis.machinery.protobuf_envelope import decode_envelope
from polykind.apis.machinery.protobuf_reader import decode_message
from polykind.apis.meta.types import DELETE_OPTIONS
from polykind.cache.cached_object import CachedObject
from polykind.codec import json_codec, negotiation, yaml_codec
from polykind.codec.protobuf_wire import ProtobufError
from polykind.contract import JsonObject
from polykind.conversion.conversion_errors import ConversionFailedError
from polykind.operations.operation import Operation
from polykind.operations.options import DeleteOptions, ListOptions
from polykind.operations.responses import Response, Stream
from polykind.resources.resource import FOREGROUND, ORPHAN, PropagationPolicy
from polykind.verbs import respond
from polykind.verbs.admit import approve_delete
from polykind.verbs.change import read_existing
from polykind.verbs.commit import LostRaceError, Written, commit, remove
from polykind.verbs.list import collect
from polykind.verbs.selection import RequestSelection, has_long_query
from polykind.verbs.write import Existing, Learnt, Settled

_CONCURRENT_DELETES = 64
"""The number of concurrent deletes in a deletecollection. Concurrent deletes share commits of the store."""


class Deletion(NamedTuple):
    """The result of a delete."""

    gone: bool
    """False if finalizers keep the object, or if a dry run of a graceful deletion does not remove the object."""
    data: bytes
    """The object after the request or, if it was removed, the object before the request."""
    uid: str


async def delete(op: Operation) -> Response:
    response_format = respond.negotiate(op)
    options = await op.lane.read(op.body, _decode_options, op)
    if options.ignore_read_error:
        from polykind.verbs.unreadable import delete_unreadable

        if (removed := await delete_unreadable(op, options)) is not None:
            return respond.status_response(op, response_format, removed)
    _warn_about_default_policy(op, options)
    try:
        deletion = await delete_object(op, options)
    except ConversionFailedError as error:
        from polykind.verbs.stored_delete import delete_as_stored

        status, deleted = await delete_as_stored(op, options, error)
        return respond.status_response(op, response_format, deleted, status)
    if not deletion.gone:
        status = 202 if options.orphan_dependents is False else 200
        return await respond.object_response(op, response_format, status, deletion.data)
    resource = op.resource
    if op.version.strategy.returns_deleted_object:
        return await respond.object_response(op, response_format, 200, deletion.data)
    details = {"name": op.name, "group": resource.group, "kind": resource.plural, "uid": deletion.uid}
    status_object = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": {k: v for k, v in details.items() if v},
    }
    return respond.status_response(op, response_format, status_object)


async def deletecollection(op: Operation) -> Response | Stream:
    response_format = respond.negotiate(op)
    list_options = await op.lane.run_long_if(has_long_query(op), ListOptions.from_query, op.query)
    options = await op.lane.read(op.body, _decode_options, op)
    if options.ignore_read_error and op.backend.unsafe_deletion:
        text = "is not allowed with DELETECOLLECTION, try again after removing the option"
        field_error = errors.invalid("ignoreStoreReadErrorWithClusterBreakingPotential", True, text)
        raise errors.InvalidError("DeleteOptions", "meta.k8s.io", "", [field_error])
    _warn_about_default_policy(op, options)
    selection = await op.lane.run_long_if(has_long_query(op), RequestSelection, op, list_options)
    paged = not (list_options.resource_version_match or list_options.limit or selection.single)
    if paged and list_options.resource_version not in ("", "0"):
        # kube-apiserver always lists in pages here, and reads each page at exactly the requested revision.
        list_options = replace(list_options, resource_version_match="Exact")
    selected, metadata = await collect(op, list_options, selection)
    items = list(zip(selected.objects, selected.representations, strict=True))
    deleted: list[bytes] = []
    for start in range(0, len(items), _CONCURRENT_DELETES):
        batch = items[start : start + _CONCURRENT_DELETES]
        results = await asyncio.gather(*(_delete_listed(op, c, options) for c, _ in batch), return_exceptions=True)
        for (_, representation), result in zip(batch, results, strict=True):
            if isinstance(result, BaseException):
                raise result
            deleted.append(representation.data)
    return await respond.list_response(op, response_format, deleted, metadata)


async def _delete_listed(op: Operation, cached: CachedObject, options: DeleteOptions) -> None:
    """Delete one object of a collection. Do nothing if the object is already deleted."""
    namespace = cached.namespace if op.resource.namespaced else None
    with suppress(errors.NotFoundError):
        listed = op.at(op.version, namespace=namespace, name=cached.name, subresource="")
        await delete_object(listed, options, named=False)


def _warn_about_default_policy(op: Operation, options: DeleteOptions) -> None:
    text = op.version.strategy.default_policy_warning
    if text and options.propagation_policy is None and options.orphan_dependents is None:
        op.notes.warn(text)


def _decode_options(op: Operation) -> DeleteOptions:
    """Return the DeleteOptions of the body or, if the body is empty, of the query."""
    body = op.body
    if not body:
        return DeleteOptions.from_query(op.query)
    media = negotiation.body_media(op.media.content_type, offers=negotiation.BUILTIN_MEDIA)
    if media == "protobuf":
        value = _decode_protobuf_options(body)
    else:
        value = yaml_codec.decode(body) if media == "yaml" else json_codec.decode(body)
    options = DeleteOptions.from_body(value)
    op.notes.record_options(value)
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
    op: Operation, options: DeleteOptions, *, named: bool = True, admission: bool = True
) -> Deletion:
    """Delete an object, or mark it as terminating if finalizers or a grace period keep it.

    `named` is false in a deletecollection. `admission` is false if admission has already handled the request, for
    example as an eviction.
    """
    resource = op.resource
    if op.name in resource.protected_names and (named or not resource.collection_ignores_protection):
        raise errors.ForbiddenError(resource.plural, resource.group, op.name, resource.protection_reason)
    while True:
        old = await read_existing(op)
        _check_preconditions(op, old.obj["metadata"], options)
        if admission:
            await approve_delete(op, old.obj, options, named=named)
        uid, before = old.obj["metadata"].get("uid", ""), old.data
        grace = _apply_grace_period(op, old.obj, options)
        if grace is _Grace.PENDING:
            return Deletion(False, before, uid)
        kept = await op.lane.run(_mark_terminating, op, old.obj, options, grace is _Grace.BEGUN)
        try:
            if not kept:
                await _remove(op, old.cached, options)
                return Deletion(True, before, uid)
            return await _keep(op, old, options, uid, grace)
        except LostRaceError:
            continue


async def _keep(op: Operation, old: Existing, options: DeleteOptions, uid: str, grace: _Grace) -> Deletion:
    """Store an object that is marked as terminating, unless nothing keeps it."""
    resource, obj = op.resource, old.obj
    if obj["metadata"].get("finalizers") or resource.has_spec_finalizers(obj) or _has_grace_period(obj):
        data = await (await _store_marked(op, old, options)).data()
        if not options.dry_run:
            await resource.after_write(op.name)
        return Deletion(False, data, uid)
    data = old.data
    if grace is _Grace.BEGUN:
        # As in kube-apiserver, watches see an update to a grace period of zero seconds before the removal.
        # Remove what was written here: the key may already hold another object of the same name.
        marked = await _store_marked(op, old, options)
        data = await marked.data()
        await _remove_marked(op, marked.cached, options)
    elif options.dry_run and resource.deletion_bumps_generation:
        # In this dry run kube-apiserver has no written object to return, so it returns an object without content.
        empty = {"apiVersion": op.version.api_version, "kind": resource.kind}
        return Deletion(False, json_codec.encode(empty), uid)
    else:
        await _remove(op, old.cached, options)
    return Deletion(True, data, uid)


async def _store_marked(op: Operation, old: Existing, options: DeleteOptions) -> Written:
    """Store an object whose metadata a deletion has changed in place."""
    return await commit(op, op.key, Settled(old.obj, old, Learnt.MARKED), dry_run=options.dry_run)


async def _remove(op: Operation, cached: CachedObject, options: DeleteOptions) -> None:
    if not options.dry_run:
        await _check_storable(op, cached)
        await remove(op, op.key, cached)
        await op.resource.after_write(op.name)
    if op.resource.has_effects:
        representation = op.version.representer.ready(cached) or await op.version.representer.view(cached)
        await op.resource.after_delete(op, json_codec.decode(representation.data), dry_run=options.dry_run)


async def _check_storable(op: Operation, cached: CachedObject) -> None:
    """Raise APIError if an object cannot be converted from the request's version to the storage version.

    kube-apiserver encodes an object before it deletes it. So an object that was stored at another version outlives a
    converter that fails on it, unless the server has a conversion fallback.
    """
    storage, representer = op.resource.storage, op.version.representer
    if not op.version.converts or representer.has_fallback or storage in (op.version.version, cached.version):
        return
    representation = representer.known(cached) or await representer.view(cached)
    await representer.to_storage(json_codec.decode(representation.data))


async def _remove_marked(op: Operation, marked: CachedObject, options: DeleteOptions) -> None:
    """Remove an object that has been updated to a grace period of zero seconds.

    Its node may be faster and remove the object first. As in kube-apiserver, that is no error.
    """
    try:
        await _remove(op, marked, options)
    except LostRaceError:
        cache = op.resource.cache
        await op.backend.cache.wait_until_fresh(cache)
        current = cache.get(op.key)
        if current is not None and current.decode()["metadata"]["uid"] == marked.decode()["metadata"]["uid"]:
            raise


class _Grace(Enum):
    """The effect of a delete on an object's grace period."""

    NONE = "the object has no grace period"
    BEGUN = "the grace period begins or becomes shorter"
    PENDING = "the grace period has already begun"


def _apply_grace_period(op: Operation, obj: JsonObject, options: DeleteOptions) -> _Grace:
    """Set the grace period of an object whose kind has one, such as a pod."""
    meta, requested = obj["metadata"], options.grace_period_seconds
    if requested is not None and requested < 0:
        requested = 1
    period = op.version.strategy.grace_period(obj, requested)
    if period is None:
        return _Grace.NONE
    now = op.backend.clock.now().astimezone(UTC)
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


def _check_preconditions(op: Operation, meta: JsonObject, options: DeleteOptions) -> None:
    """Raise ConflictError if the object's uid or resourceVersion differs from the precondition in `options`."""
    resource, group = op.resource, op.version.strategy.error_group
    group = resource.group if group is None else group
    if not resource.deletion_bumps_generation:
        _check_storage_preconditions(op, meta, options)
    if options.uid is not None and options.uid != meta.get("uid"):
        reason = (
            f"the UID in the precondition ({options.uid}) does not match the UID in record ({meta.get('uid')}). "
            "The object might have been deleted and then recreated"
        )
        raise errors.conflict(resource.kind, group, op.name, reason)
    if options.resource_version is not None and options.resource_version != meta.get("resourceVersion"):
        reason = (
            f"the ResourceVersion in the precondition ({options.resource_version}) does not match the ResourceVersion "
            f"in record ({meta.get('resourceVersion')}). The object might have been modified"
        )
        raise errors.conflict(resource.kind, group, op.name, reason)


def _check_storage_preconditions(op: Operation, meta: JsonObject, options: DeleteOptions) -> None:
    """Raise ConflictError if a delete of a CRD or Namespace has a precondition that the object does not fulfil.

    kube-apiserver checks the preconditions of these kinds in its storage layer, with another error message.
    """
    for word, wanted, key in (
        ("UID", options.uid, "uid"),
        ("ResourceVersion", options.resource_version, "resourceVersion"),
    ):
        if wanted is not None and wanted != meta.get(key):
            reason = f"Precondition failed: {word} in precondition: {wanted}, {word} in object meta: {meta.get(key)}"
            raise errors.conflict(op.resource.plural, op.resource.group, op.name, reason)


def _mark_terminating(op: Operation, obj: JsonObject, options: DeleteOptions, graceful: bool) -> bool:
    """Mark the object as terminating. Return False if neither a finalizer nor a grace period keeps it."""
    resource, meta = op.resource, obj["metadata"]
    finalizers = meta.get("finalizers") or []
    terminating = bool(meta.get("deletionTimestamp"))
    applies_policy = not resource.has_spec_finalizers(obj) if terminating else resource.deletion_applies_policy
    non_orphan_policy = "Background" if terminating else resource.non_orphan_policy
    default = op.version.strategy.default_propagation_policy
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
    if not terminating:
        _begin_deletion(op, meta)
    elif not resource.has_spec_finalizers(obj):
        meta.setdefault("deletionGracePeriodSeconds", 0)
    return True


def _begin_deletion(op: Operation, meta: JsonObject) -> None:
    meta["deletionTimestamp"] = op.now()
    if op.resource.deletion_bumps_generation:
        meta["deletionGracePeriodSeconds"] = 0
        if meta.get("generation"):
            meta["generation"] += 1


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
