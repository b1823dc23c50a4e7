"""create: store a new object."""

from __future__ import annotations

from polykind import errors
from polykind.codec import json_codec
from polykind.contract import JsonObject
from polykind.operations.operation import Operation
from polykind.operations.options import CreateOptions, WriteOptions
from polykind.operations.responses import Response
from polykind.verbs import respond
from polykind.verbs.admit import admit, approve
from polykind.verbs.commit import LostRaceError, commit
from polykind.verbs.decode import decode
from polykind.verbs.effects import complete
from polykind.verbs.metadata import (
    check_namespace,
    dedupe_owners,
    ignore_resource_version,
    match_namespace,
    resource_version_error,
    track_create,
)
from polykind.verbs.settle import settle
from polykind.verbs.write import Draft, Settled

_NAME_ATTEMPTS = 8
_MAX_PREFIX = 58
"""The length to which a generateName is cut, so that prefix and suffix fit into 63 characters."""


async def create(op: Operation) -> Response:
    response_format = respond.negotiate(op)
    options = op.options(CreateOptions)
    draft = await op.lane.read(op.body, decode, op, options)
    data = await create_object(op, draft, options)
    return await respond.object_response(op, response_format, 201, data)


async def create_object(op: Operation, draft: Draft, options: WriteOptions) -> bytes:
    """Store a new object that a POST, a PUT or an apply creates. Return its representation."""
    meta, merged = draft.obj["metadata"], op.verb == "patch"
    match_namespace(op, meta)
    await op.backend.cache.load(op.resource.cache)
    await check_namespace(op, meta.get("name") or meta.get("generateName", ""))
    _check_creatable(op, meta)
    await dedupe_owners(op, meta, after_admission=merged)
    if not merged:
        # An apply has already set its managedFields.
        await track_create(op, draft, options)
    draft = await _admit(op, draft, options)
    if op.version.strategy.grants:
        from polykind.verbs.privileges import check_escalation

        await check_escalation(op, draft.obj, None)
    stated_revision = draft.obj["metadata"].pop("resourceVersion", "")
    attempts = _identify(op, draft.obj["metadata"])
    if not op.resource.has_effects:
        return await _store(op, draft, options, stated_revision, attempts)
    finish = await op.resource.begin_create(op, draft.obj, dry_run=options.dry_run)
    return await complete(finish, _store(op, draft, options, stated_revision, attempts))


async def _admit(op: Operation, draft: Draft, options: WriteOptions) -> Draft:
    """Run mutating admission, and check the metadata that it has changed."""
    admitted = await admit(op, draft, None, options)
    if admitted is not draft:
        meta = admitted.obj["metadata"]
        if _is_named_by_path(op):
            ignore_resource_version(meta, dry_run=options.dry_run)
        match_namespace(op, meta)
        await dedupe_owners(op, meta, after_admission=True)
    return admitted


def _identify(op: Operation, meta: JsonObject) -> int:
    """Set the name, the uid and the time of a new object. Return the number of names to try."""
    generated = bool(meta.get("generateName")) and not meta.get("name")
    if generated:
        meta["name"] = _generate_name(op, meta)
    meta["uid"] = op.backend.ids.uid()
    meta["creationTimestamp"] = op.now()
    return _NAME_ATTEMPTS if generated else 1


def _generate_name(op: Operation, meta: JsonObject) -> str:
    prefix: str = meta["generateName"]
    return prefix[:_MAX_PREFIX] + op.backend.ids.suffix() if op.version.strategy.appends_suffix else prefix


async def _store(op: Operation, draft: Draft, options: WriteOptions, stated_revision: str, attempts: int) -> bytes:
    """Prepare, validate, admit and store a new object, under another generated name if the first one is taken."""
    settled = await settle(op, draft, None)
    meta = settled.obj["metadata"]
    for attempt in range(attempts):
        if attempt:
            meta["name"] = _generate_name(op, meta)
        await _approve(op, settled, options, stated_revision)
        # A PUT or an apply stores the object at the key of its URL, even if a webhook has renamed the object.
        key = op.key if _is_named_by_path(op) else op.resource.key(op.namespace or "", meta["name"])
        if options.dry_run and await _exists(op, key):
            continue
        try:
            written = await commit(op, key, settled, dry_run=options.dry_run)
        except LostRaceError:
            continue
        if options.dry_run:
            return _with_resource_version(await written.data(), stated_revision)
        data = await written.data()
        await op.resource.after_write(meta["name"])
        return data
    raise await _already_exists(op, meta["name"], generated=bool(meta.get("generateName")))


def _is_named_by_path(op: Operation) -> bool:
    """True if the URL names the new object. A POST takes the name from the body."""
    return op.verb != "create"


def _check_creatable(op: Operation, meta: JsonObject) -> None:
    if not op.resource.creatable:
        reason = "create not allowed while custom resource definition is terminating"
        raise errors.ForbiddenError(op.resource.plural, op.resource.group, meta.get("name", ""), reason)


async def _approve(op: Operation, settled: Settled, options: WriteOptions, stated_revision: str) -> None:
    """Check that the client may create the object, run validating admission, and check the stated resourceVersion."""
    if _is_named_by_path(op) and not op.backend.authorizer.allows_everything:
        await _require_create_permission(op)
    await approve(op, settled.obj, None, options)
    # kube-apiserver's storage rejects a create with a resourceVersion, but ignores a malformed resourceVersion.
    if stated_revision and not options.dry_run and not resource_version_error(stated_revision) and int(stated_revision):
        raise errors.UnknownReasonError("resourceVersion should not be set on objects to be created")


async def _require_create_permission(op: Operation) -> None:
    """Raise ForbiddenError if a PUT or an apply would create an object and the user lacks the create permission."""
    from polykind.auth.authorizer import Access
    from polykind.auth.forbidden import forbidden

    group, plural, where = op.resource.group, op.resource.plural, op.namespace or ""
    access = Access(op.client, "create", group, op.version.version, plural, namespace=where, name=op.name)
    decision = await op.backend.authorizer.decide(access)
    if not decision.allowed:
        raise errors.InternalError(decision.error) if decision.error else forbidden(access, decision.reason)


def _with_resource_version(data: bytes, requested: str) -> bytes:
    """Insert the client's resourceVersion into the response to a dry run, because the new object has none."""
    if not requested:
        return data
    obj: JsonObject = json_codec.decode(data)
    obj["metadata"]["resourceVersion"] = requested
    return json_codec.encode(obj)


async def _already_exists(op: Operation, name: str, *, generated: bool) -> errors.APIError:
    error = errors.AlreadyExistsError(op.resource.plural, op.resource.group, name)
    key = op.resource.key(op.namespace or "", name)
    if await _exists(op, key):
        cached = op.resource.cache.get(key)
        if cached is not None and cached.decode()["metadata"].get("deletionTimestamp"):
            error.message = f"object is being deleted: {error.message}"
    if generated:
        error.message += ", the server was not able to generate a unique name for the object"
        error.details["retryAfterSeconds"] = 1
    return error


async def _exists(op: Operation, key: str) -> bool:
    """True if the key holds an object that can be read at the request's version."""
    cached = op.resource.cache.get(key)
    if cached is None:
        return False
    try:
        if op.version.representer.ready(cached) is None:
            await op.version.representer.view(cached)
    except errors.APIError:
        return False
    return True
