"""create: store a new object. For a POST of a review, the server responds without storing an object."""

from __future__ import annotations

from functools import partial

from polykind import errors
from polykind.codec import json_codec, negotiation
from polykind.contract import JsonObject
from polykind.http.messages import Response
from polykind.operations.options import CreateOptions
from polykind.strategies.authorization.strategy import ReviewStrategy
from polykind.verbs import respond
from polykind.verbs.admit import admit, approve
from polykind.verbs.commit import LostRaceError, add_warnings, commit, invalid_error, run_validation
from polykind.verbs.context import RequestContext
from polykind.verbs.decode import decode
from polykind.verbs.metadata import (
    check_namespace,
    dedupe_owners,
    ignore_resource_version,
    match_namespace,
    resource_version_error,
    track_create,
)
from polykind.verbs.write import POST, Write

_NAME_ATTEMPTS = 8
_MAX_PREFIX = 58
"""The length to which a generateName is cut, so that prefix and suffix fit into 63 characters."""


async def create(ctx: RequestContext) -> Response:
    response_format = respond.negotiate(ctx)
    write = await decode(ctx, POST, ctx.write_options(CreateOptions))
    return await respond.object_response(ctx, response_format, 201, await create_object(ctx, write))


async def create_object(ctx: RequestContext, write: Write) -> bytes:
    """Store a new object that a POST, a PUT or an apply creates. Return its representation."""
    origin, dry_run, meta = write.origin, write.options.dry_run, write.obj["metadata"]
    match_namespace(ctx, meta)
    await ctx.backend.cache.load(ctx.resource.cache)
    await check_namespace(ctx, meta.get("name") or meta.get("generateName", ""))
    _check_creatable(ctx, meta)
    await dedupe_owners(ctx, write, after_admission=origin.merges)
    if not origin.merges:
        await track_create(ctx, write)
    if (ctx.backend.admission.mutates or ctx.version.is_builtin) and await admit(ctx, write):
        meta = write.obj["metadata"]
        if origin.named_by_path:
            ignore_resource_version(meta, dry_run=dry_run)
        match_namespace(ctx, meta)
        await dedupe_owners(ctx, write, after_admission=True)
    if ctx.version.strategy.grants:
        from polykind.verbs.privileges import check_escalation

        await check_escalation(ctx, write.obj, None)
    storing = _store(ctx, write)
    return await (write.complete(storing) if ctx.resource.has_effects else storing)


async def _store(ctx: RequestContext, write: Write) -> bytes:
    """Name, prepare, validate and store a new object. Return its representation."""
    origin, dry_run, meta = write.origin, write.options.dry_run, write.obj["metadata"]
    stated_revision = meta.pop("resourceVersion", "")
    prefix = "" if meta.get("name") else meta.get("generateName", "")
    for attempt in range(_NAME_ATTEMPTS if prefix else 1):
        if prefix:
            appends = ctx.version.strategy.appends_suffix
            meta["name"] = prefix[:_MAX_PREFIX] + ctx.backend.ids.suffix() if appends else prefix
        if attempt == 0:
            _assign_identity(ctx, write)
            if ctx.resource.has_effects:
                write.finish = await ctx.resource.begin_create(ctx, write.obj, dry_run=dry_run)
            if write.large:
                await ctx.compute(partial(ctx.version.strategy.prepare_create, write.obj))
            else:
                ctx.version.strategy.prepare_create(write.obj)
            await _validate(ctx, write)
        if origin.named_by_path and not ctx.backend.authorizer.allows_everything:
            await _require_create_permission(ctx)
        admission = ctx.backend.admission
        if admission.validates or ctx.version.is_builtin or ctx.namespace in admission.quota_namespaces:
            await approve(ctx, write)
        # kube-apiserver's storage rejects a create with a resourceVersion, but ignores a malformed resourceVersion.
        if stated_revision and not dry_run and not resource_version_error(stated_revision) and int(stated_revision):
            raise errors.UnknownReasonError("resourceVersion should not be set on objects to be created")
        # A PUT or an apply stores the object at the key of its URL, even if a webhook has renamed the object.
        key = ctx.key if origin.named_by_path else ctx.resource.key(ctx.namespace or "", meta["name"])
        try:
            if dry_run and await _exists(ctx, key):
                raise LostRaceError
            representation = await commit(ctx, key, write)
        except LostRaceError:
            continue
        if dry_run:
            return _with_resource_version(representation.data, stated_revision)
        await ctx.resource.after_write(meta["name"])
        return representation.data
    raise await _already_exists(ctx, meta["name"], generated=bool(meta.get("generateName")))


def _check_creatable(ctx: RequestContext, meta: JsonObject) -> None:
    if not ctx.resource.creatable:
        reason = "create not allowed while custom resource definition is terminating"
        raise errors.ForbiddenError(ctx.resource.plural, ctx.resource.group, meta.get("name", ""), reason)


def _assign_identity(ctx: RequestContext, write: Write) -> None:
    meta = write.obj["metadata"]
    meta["uid"] = ctx.backend.ids.uid()
    meta["creationTimestamp"] = ctx.now()


async def _validate(ctx: RequestContext, write: Write) -> None:
    """Validate the object and send warnings to the client. Raise InvalidError if the object is invalid."""
    strategy, obj = ctx.version.strategy, write.obj

    if write.large or strategy.evaluates_rules:
        validate = partial(strategy.validate_create, obj, values_validated=write.values_validated)
        validation = await run_validation(ctx, write, lambda check: validate(check=check))
    else:
        validation = strategy.validate_create(obj, values_validated=write.values_validated)
    field_errors = validation.errors
    if write.large:
        await ctx.compute(partial(strategy.canonicalize, obj))
    else:
        strategy.canonicalize(obj)
    if strategy.reads_params and not field_errors and not ctx.backend.authorizer.allows_everything:
        from polykind.verbs.privileges import param_errors

        field_errors = await param_errors(ctx, obj, None)
    if field_errors:
        name = obj["metadata"].get("name", "")
        group = ctx.resource.group if strategy.error_group is None else strategy.error_group
        raise await invalid_error(ctx, write, obj.get("kind", ""), group, name, field_errors)
    await add_warnings(ctx, write)


async def _require_create_permission(ctx: RequestContext) -> None:
    """Raise ForbiddenError if a PUT or an apply would create an object and the user lacks the create permission."""
    from polykind.auth.authorizer import Access
    from polykind.auth.forbidden import require

    resource, where = ctx.resource, ctx.namespace or ""
    await require(
        ctx.backend.authorizer,
        Access(
            ctx.user, "create", resource.group, ctx.version.version, resource.plural, namespace=where, name=ctx.name
        ),
    )


def _with_resource_version(data: bytes, requested: str) -> bytes:
    """Insert the client's resourceVersion into the response to a dry run, because the new object has none."""
    if not requested:
        return data
    obj: JsonObject = json_codec.decode(data)
    obj["metadata"]["resourceVersion"] = requested
    return json_codec.encode(obj)


async def _already_exists(ctx: RequestContext, name: str, *, generated: bool) -> errors.APIError:
    error = errors.AlreadyExistsError(ctx.resource.plural, ctx.resource.group, name)
    key = ctx.resource.key(ctx.namespace or "", name)
    if await _exists(ctx, key):
        cached = ctx.resource.cache.get(key)
        if cached is not None and cached.decode()["metadata"].get("deletionTimestamp"):
            error.message = f"object is being deleted: {error.message}"
    if generated:
        error.message += ", the server was not able to generate a unique name for the object"
        error.details["retryAfterSeconds"] = 1
    return error


async def _exists(ctx: RequestContext, key: str) -> bool:
    """True if the key holds an object that can be read at the request's version."""
    cached = ctx.resource.cache.get(key)
    if cached is None:
        return False
    try:
        if ctx.version.representer.ready(cached) is None:
            await ctx.version.representer.view(cached)
    except errors.APIError:
        return False
    return True


async def create_review(ctx: RequestContext) -> Response:
    """Respond to a review, such as a SubjectAccessReview.

    The review is not stored, and its namespace need not exist.
    """
    strategy = ctx.version.strategy
    if not isinstance(strategy, ReviewStrategy):
        raise AssertionError("not a review")
    response_format = respond.negotiate(ctx, negotiation.METADATA_TRANSFORMS)
    write = await decode(ctx, POST, ctx.write_options(CreateOptions))
    match_namespace(ctx, write.obj["metadata"])
    await dedupe_owners(ctx, write)
    await track_create(ctx, write)
    await admit(ctx, write)
    strategy.check(write.obj)
    await approve(ctx, write)
    answered = await strategy.answer(write.obj, ctx.user, ctx.now())
    return await respond.object_response(ctx, response_format, 201, json_codec.encode(answered))
