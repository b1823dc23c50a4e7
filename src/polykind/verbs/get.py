"""get: one object at the requested version."""

from __future__ import annotations

from polykind import errors
from polykind.cache.cached_object import CachedObject, Representation
from polykind.cache.watch_cache import resource_version_too_large
from polykind.codec import negotiation
from polykind.golang.query import bool_value
from polykind.http.messages import Response
from polykind.verbs import respond
from polykind.verbs.context import RequestContext
from polykind.verbs.metadata import parse_resource_version


async def get(ctx: RequestContext) -> Response:
    response_format = respond.negotiate(ctx, negotiation.VERSION_TRANSFORMS)
    cached = await _read(ctx)
    if response_format.as_kind == negotiation.OBJECT_VERSIONS:
        from polykind.verbs.object_versions import encode_versions

        data = await encode_versions(ctx.resource, cached)
    else:
        data = (ctx.version.representer.known(cached) or await _view(ctx, cached)).data
    return await respond.object_response(ctx, response_format, 200, data)


async def read_object(ctx: RequestContext) -> Representation:
    """Return the representation of the request's object, at least as new as the resourceVersion in the query."""
    cached = await _read(ctx)
    return ctx.version.representer.known(cached) or await _view(ctx, cached)


async def _view(ctx: RequestContext, cached: CachedObject) -> Representation:
    """Compute the representation of an object, which is not known yet."""
    return (await ctx.version.representer.view_for_read([cached], ctx.request.notes.warn))[0]


async def _read(ctx: RequestContext) -> CachedObject:
    """Return the request's object. Raise NotFoundError if it does not exist."""
    cache = ctx.resource.cache
    if ctx.request.query:
        await _wait_for_stated_revision(ctx)
    await ctx.backend.cache.wait_until_fresh(cache, ctx.revision_read)
    cached = cache.get(ctx.key)
    if cached is None:
        raise ctx.not_found()
    return cached


async def _wait_for_stated_revision(ctx: RequestContext) -> None:
    if bool_value(ctx.query, "export"):
        raise errors.BadRequestError("the export parameter, deprecated since v1.14, is no longer supported")
    values = ctx.query.get("resourceVersion")
    if values and values[0]:
        # kube-apiserver has no watch cache for Events. It checks the revision in the store, without waiting.
        is_event = ctx.version.is_builtin and ctx.resource.plural == "events"
        revision = parse_resource_version(values[0], for_list=is_event)
        cache = ctx.backend.cache
        if revision and is_event:
            await cache.wait_until_fresh(ctx.resource.cache, ctx.revision_read)
            if revision > cache.revision:
                raise resource_version_too_large(revision, cache.revision, retry=False)
        elif revision:
            await cache.wait_for_revision(revision)
