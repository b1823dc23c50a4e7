"""create: a new object."""

from __future__ import annotations

from polykind import errors
from polykind.cache.cached_object import CachedObject
from polykind.codec import json_codec
from polykind.contract import JsonObject
from polykind.http.messages import Response
from polykind.http.options import CreateOptions
from polykind.verbs import admitting, answer, managing, payload, revisions
from polykind.verbs.commit import LostRace, commit
from polykind.verbs.context import RequestContext
from polykind.verbs.lifecycle import check_namespace, match_namespace

_NAME_TRIES = 8
_BASE = 58
"""What is kept of a generateName, so that name and suffix fit into 63 characters."""


async def create(call: RequestContext) -> Response:
    accepted = answer.negotiated(call)
    options = CreateOptions.from_query(call.query)
    decoded = payload.read(call, options.field_validation)
    form = await create_object(call, decoded.obj, options, validated=decoded.validated)
    return answer.object_answer(call, accepted, 201, form)


async def create_object(
    call: RequestContext, obj: JsonObject, options: CreateOptions, *, tracked: bool = False, validated: bool = False
) -> bytes:
    """Store an object that is not there yet; what a read of it gives. `tracked`: an apply made it and its entries."""
    kind, version, meta = call.resource, call.version, obj["metadata"]
    match_namespace(call, meta)
    await call.backend.cache.load(kind.cache)
    await check_namespace(call, meta.get("name") or meta.get("generateName", ""))
    if not kind.creatable:
        why = "create not allowed while custom resource definition is terminating"
        raise errors.ForbiddenError(kind.plural, kind.group, meta.get("name", ""), why)
    managing.dedupe_owners(call, meta, made=tracked)
    if not tracked:
        await managing.created(call, obj, options.field_manager)
    made = tracked
    if call.backend.admission.mutates:
        admitted = await admitting.mutated(call, obj, None, options)
        if admitted is not obj:
            obj, meta, made, validated = admitted, admitted["metadata"], True, False
            if call.request.method != "POST":
                revisions.pass_over(meta, options.dry_run)
            match_namespace(call, meta)
            managing.dedupe_owners(call, meta, made=True)
    if version.strategy.grants:
        from polykind.verbs import granting

        await granting.check(call, obj, None)
    given = meta.pop("resourceVersion", "")
    prefix = "" if meta.get("name") else meta.get("generateName", "")
    for attempt in range(_NAME_TRIES if prefix else 1):
        if prefix:
            meta["name"] = prefix[:_BASE] + call.backend.ids.suffix()
        if attempt == 0:
            _found(call, obj, validated)
        if call.request.method != "POST" and not call.backend.authorizer.allows_everything:
            _demand_create(call)
        if call.backend.admission.validates:
            await admitting.approve(call, obj, None, options)
        # The store refuses a revision; what is none at all is passed over.
        if given and not options.dry_run and not revisions.unparsable(given) and int(given):
            raise errors.UnknownReasonError("resourceVersion should not be set on objects to be created")
        # An update or an apply has it where the path says, whatever others have named it since.
        posted = call.request.method == "POST"
        key = kind.key(call.namespace or "", meta["name"]) if posted else call.key
        try:
            if options.dry_run and await _readable(call, key):
                raise LostRace
            form = await commit(call, key, obj, None, options.dry_run, made=made)
        except LostRace:
            continue
        if not options.dry_run:
            await call.resource.after_write(meta["name"])
        return _revised(form.data, given) if given and options.dry_run else form.data
    raise await _exists(call, meta["name"], generated=bool(meta.get("generateName")))


def _revised(data: bytes, revision: str) -> bytes:
    """A dry run stores nothing that would give the object a revision of its own: the stated one stays."""
    obj: JsonObject = json_codec.decode(data)
    obj["metadata"]["resourceVersion"] = revision
    return json_codec.encode(obj)


def _demand_create(call: RequestContext) -> None:
    """Refuse who may update or patch, if that creates, and he may not create."""
    from polykind.auth.authorizer import Access
    from polykind.auth.forbidden import require

    kind, where = call.resource, call.namespace or ""
    require(
        call.backend.authorizer,
        Access(call.user, "create", kind.group, call.version.version, kind.plural, namespace=where, name=call.name),
    )


def _found(call: RequestContext, obj: JsonObject, validated: bool) -> None:
    """Give the object its identity, and judge it."""
    version, meta = call.version, obj["metadata"]
    meta["uid"] = call.backend.ids.uid()
    meta["creationTimestamp"] = call.now()
    version.strategy.prepare_create(obj)
    found = version.strategy.validate_create(obj, values_validated=validated).errors
    version.strategy.canonicalize(obj)
    if version.strategy.reads_params and not found and not call.backend.authorizer.allows_everything:
        from polykind.verbs import params

        found = params.problems(call, obj, None)
    if found:
        raise errors.InvalidError(obj.get("kind", ""), call.resource.group, meta.get("name", ""), found)
    for text in version.strategy.warnings(obj, None):
        call.request.warn(text)


async def _exists(call: RequestContext, name: str, *, generated: bool) -> errors.APIError:
    kind = call.resource
    error = errors.AlreadyExistsError(kind.plural, kind.group, name)
    key = kind.key(call.namespace or "", name)
    if await _readable(call, key) and _going(kind.cache.get(key)):
        error.message = f"object is being deleted: {error.message}"
    if generated:
        error.message += ", the server was not able to generate a unique name for the object"
        error.details["retryAfterSeconds"] = 1
    return error


async def _readable(call: RequestContext, key: str) -> bool:
    """Whether an object is there that can be had at the version of the request: one that cannot is not noticed."""
    entry = call.resource.cache.get(key)
    if entry is None:
        return False
    try:
        if call.version.representer.ready(entry) is None:
            await call.version.representer.view(entry)
    except errors.APIError:
        return False
    return True


def _going(entry: CachedObject | None) -> bool:
    return entry is not None and bool(entry.decode()["metadata"].get("deletionTimestamp"))
