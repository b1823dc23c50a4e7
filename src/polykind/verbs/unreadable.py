"""Stored objects that cannot be read: errors that name the objects, and deletion without reading (KEP-3926)."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from polykind import errors
from polykind.cache.cached_object import CachedObject
from polykind.contract import JsonObject
from polykind.operations.options import DeleteOptions
from polykind.verbs.commit import LostRaceError, remove
from polykind.verbs.context import RequestContext

log = logging.getLogger("polykind.unreadable")

OPTION = "ignoreStoreReadErrorWithClusterBreakingPotential"
_VERB = "unsafe-delete-ignore-read-errors"
_MAX_CAUSES = 100


async def delete_unreadable(ctx: RequestContext, options: DeleteOptions) -> JsonObject | None:
    """Remove an object that cannot be decoded or converted, and return the Status of the response.

    The deletion ignores finalizers and admission, because nothing is known about the object. If the object can be read,
    return None, because kube-apiserver then ignores the option `ignoreStoreReadErrorWithClusterBreakingPotential`. If
    the feature gate of this option is enabled, raise InvalidError instead.
    """
    resource, cache, representer = ctx.resource, ctx.resource.cache, ctx.version.representer
    if ctx.backend.unsafe_deletion:
        ctx.request.notes.annotate("apiserver.k8s.io/unsafe-delete-ignore-read-error", "")
        _check_options(options)
        await _authorize(ctx)
    while True:
        await ctx.backend.cache.wait_until_fresh(cache)
        cached = cache.get(ctx.key)
        if cached is None:
            raise ctx.not_found()
        try:
            await representer.view(cached)
        except errors.APIError as error:
            reason = error.message
        else:
            if not ctx.backend.unsafe_deletion:
                return None
            text = "is exclusively used to delete corrupt object(s), try again by removing this option"
            raise errors.InvalidError(resource.plural, resource.group, ctx.name, [errors.invalid(OPTION, True, text)])
        await _authorize(ctx)
        try:
            await remove(ctx, ctx.key, cached)
        except LostRaceError:
            continue
        log.warning("delete: removed the unreadable object %s%s: %s", cache.prefix, ctx.key, reason)
        await resource.after_write(ctx.name)
        details = {"name": ctx.name, "kind": resource.kind}
        return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}


def _check_options(options: DeleteOptions) -> None:
    """Raise InvalidError if the request contains other options, which have no meaning for an unreadable object."""
    field_errors = [
        errors.invalid(OPTION, True, f"cannot be set together with .{name}") for name in options.read_error_conflicts
    ]
    if field_errors:
        raise errors.InvalidError("DeleteOptions", "meta.k8s.io", "", field_errors)


async def _authorize(ctx: RequestContext) -> None:
    """Raise ForbiddenError if the user may not delete objects of this resource without reading them."""
    if ctx.backend.authorizer.allows_everything:
        return
    from polykind.auth.authorizer import Access

    resource, namespace = ctx.resource, ctx.namespace or ""
    access = Access(
        ctx.user, _VERB, resource.group, ctx.version.version, resource.plural, namespace=namespace, name=ctx.name
    )
    decision = await ctx.backend.authorizer.decide(access)
    if not decision.allowed:
        text = f'not permitted to do "{_VERB}", reason: {decision.reason}'
        raise errors.ForbiddenError(resource.plural, resource.group, ctx.name, text)


def list_error(ctx: RequestContext, objects: Iterable[CachedObject]) -> errors.APIError | None:
    """Return the error for a list with undecodable objects, one cause for each. Return None if there are none."""
    prefix = ctx.resource.cache.prefix
    causes: list[JsonObject] = []
    for cached in objects:
        try:
            cached.decode()
        except errors.InternalError as error:
            if len(causes) == _MAX_CAUSES:
                causes.append({"reason": "FieldValueTooMany", "message": "too many errors, the list is truncated"})
                break
            text = (
                f"StorageError: corrupt object, Code: 7, Key: {prefix}{cached.key}, ResourceVersion: 0, "
                f"AdditionalErrorMsg: object not decodable revision={cached.revision}: {error.reason_text}"
            )
            causes.append({"reason": "UnexpectedServerResponse", "message": text, "field": f"{prefix}{cached.key}"})
    if not causes:
        return None
    failure = errors.StorageReadError(ctx.resource.plural, ctx.resource.group, causes)
    log.error("list: %d objects of %s cannot be decoded, responding with an error", len(causes), ctx.resource.qualified)
    return failure
