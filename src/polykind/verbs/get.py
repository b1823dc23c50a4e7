"""get: one object at the requested version."""

from __future__ import annotations

from polykind import errors
from polykind.cache.cached_object import CachedObject, Representation
from polykind.cache.watch_cache import resource_version_too_large
from polykind.codec import negotiation
from polykind.golang.query import bool_value
from polykind.operations.operation import Operation
from polykind.operations.responses import Response
from polykind.verbs import respond
from polykind.verbs.metadata import parse_resource_version


async def get(op: Operation) -> Response:
    response_format = respond.negotiate(op, negotiation.VERSION_TRANSFORMS)
    cached = await _read(op)
    if response_format.as_kind == negotiation.OBJECT_VERSIONS:
        from polykind.verbs.object_versions import encode_versions

        data = await encode_versions(op.resource, cached)
    else:
        data = (op.version.representer.known(cached) or await _view(op, cached)).data
    return await respond.object_response(op, response_format, 200, data)


async def read_object(op: Operation) -> Representation:
    """Return the representation of the request's object, at least as new as the resourceVersion in the query."""
    cached = await _read(op)
    return op.version.representer.known(cached) or await _view(op, cached)


async def _view(op: Operation, cached: CachedObject) -> Representation:
    """Compute the representation of an object, which is not known yet."""
    return (await op.version.representer.view_for_read([cached], op.notes.warn))[0]


async def _read(op: Operation) -> CachedObject:
    """Return the request's object. Raise NotFoundError if it does not exist."""
    cache = op.resource.cache
    if op.parameters:
        await _wait_for_stated_revision(op)
    await op.backend.cache.wait_until_fresh(cache, op.revision_read)
    cached = cache.get(op.key)
    if cached is None:
        raise op.not_found()
    return cached


async def _wait_for_stated_revision(op: Operation) -> None:
    if bool_value(op.query, "export"):
        raise errors.BadRequestError("the export parameter, deprecated since v1.14, is no longer supported")
    values = op.query.get("resourceVersion")
    if values and values[0]:
        # kube-apiserver has no watch cache for Events. It checks the revision in the store, without waiting.
        is_event = op.version.is_builtin and op.resource.plural == "events"
        revision = parse_resource_version(values[0], for_list=is_event)
        cache = op.backend.cache
        if revision and is_event:
            await cache.wait_until_fresh(op.resource.cache, op.revision_read)
            if revision > cache.revision:
                raise resource_version_too_large(revision, cache.revision, retry=False)
        elif revision:
            await cache.wait_for_revision(revision)
