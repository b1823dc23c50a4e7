"""Stored objects that cannot be read: errors that name the objects, and deletion without reading (KEP-3926)."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from polykind import errors
from polykind.cache.cached_object import CachedObject
from polykind.contract import JsonObject
from polykind.operations.operation import Operation
from polykind.operations.options import DeleteOptions
from polykind.verbs.commit import LostRaceError, remove

log = logging.getLogger("polykind.unreadable")

OPTION = "ignoreStoreReadErrorWithClusterBreakingPotential"
_VERB = "unsafe-delete-ignore-read-errors"
_MAX_CAUSES = 100


async def delete_unreadable(op: Operation, options: DeleteOptions) -> JsonObject | None:
    """Remove an object that cannot be decoded or converted, and return the Status of the response.

    The deletion ignores finalizers and admission, because nothing is known about the object. If the object can be read,
    return None, because kube-apiserver then ignores the option `ignoreStoreReadErrorWithClusterBreakingPotential`. If
    the feature gate of this option is enabled, raise InvalidError instead.
    """
    resource, cache, representer = op.resource, op.resource.cache, op.version.representer
    if op.backend.unsafe_deletion:
        op.notes.annotate("apiserver.k8s.io/unsafe-delete-ignore-read-error", "")
        _check_options(options)
        await _authorize(op)
    while True:
        await op.backend.cache.wait_until_fresh(cache)
        cached = cache.get(op.key)
        if cached is None:
            raise op.not_found()
        try:
            await representer.view(cached)
        except errors.APIError as error:
            reason = error.message
        else:
            if not op.backend.unsafe_deletion:
                return None
            text = "is exclusively used to delete corrupt object(s), try again by removing this option"
            raise errors.InvalidError(resource.plural, resource.group, op.name, [errors.invalid(OPTION, True, text)])
        await _authorize(op)
        try:
            await remove(op, op.key, cached)
        except LostRaceError:
            continue
        log.warning("delete: removed the unreadable object %s%s: %s", cache.prefix, op.key, reason)
        await resource.after_write(op.name)
        details = {"name": op.name, "kind": resource.kind}
        return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}


def _check_options(options: DeleteOptions) -> None:
    """Raise InvalidError if the request contains other options, which have no meaning for an unreadable object."""
    field_errors = [
        errors.invalid(OPTION, True, f"cannot be set together with .{name}") for name in options.read_error_conflicts
    ]
    if field_errors:
        raise errors.InvalidError("DeleteOptions", "meta.k8s.io", "", field_errors)


async def _authorize(op: Operation) -> None:
    """Raise ForbiddenError if the user may not delete objects of this resource without reading them."""
    if op.backend.authorizer.allows_everything:
        return
    from polykind.auth.authorizer import Access

    resource, namespace = op.resource, op.namespace or ""
    access = Access(
        op.client, _VERB, resource.group, op.version.version, resource.plural, namespace=namespace, name=op.name
    )
    decision = await op.backend.authorizer.decide(access)
    if not decision.allowed:
        text = f'not permitted to do "{_VERB}", reason: {decision.reason}'
        if decision.error:
            text = f'error while checking permission for "{_VERB}", {decision.error}'
        raise errors.ForbiddenError(resource.plural, resource.group, op.name, text)


def list_error(op: Operation, objects: Iterable[CachedObject]) -> errors.APIError | None:
    """Return the error for a list with undecodable objects, one cause for each. Return None if there are none."""
    prefix = op.resource.cache.prefix
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
    failure = errors.StorageReadError(op.resource.plural, op.resource.group, causes)
    log.error("list: %d objects of %s cannot be decoded, responding with an error", len(causes), op.resource.qualified)
    return failure
