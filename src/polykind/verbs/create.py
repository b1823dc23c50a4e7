"""create: store a new object. For a POST of a review, the server responds without storing an object."""

from __future__ import annotations

from functools import partial

from polykind import errors
from polykind.codec import json_codec, negotiation
from polykind.contract import JsonObject
from polykind.operations.operation import Operation
from polykind.operations.options import CreateOptions
from polykind.operations.responses import Response
from polykind.strategies.authorization.strategy import ReviewStrategy
from polykind.verbs import respond
from polykind.verbs.admit import admit, approve
from polykind.verbs.commit import LostRaceError, add_warnings, commit, invalid_error, run_validation
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


async def create(op: Operation) -> Response:
    response_format = respond.negotiate(op)
    write = await decode(op, POST, op.options(CreateOptions))
    return await respond.object_response(op, response_format, 201, await create_object(op, write))


async def create_object(op: Operation, write: Write) -> bytes:
    """Store a new object that a POST, a PUT or an apply creates. Return its representation."""
    origin, dry_run, meta = write.origin, write.options.dry_run, write.obj["metadata"]
    match_namespace(op, meta)
    await op.backend.cache.load(op.resource.cache)
    await check_namespace(op, meta.get("name") or meta.get("generateName", ""))
    _check_creatable(op, meta)
    await dedupe_owners(op, write, after_admission=origin.merges)
    if not origin.merges:
        await track_create(op, write)
    if (op.backend.admission.mutates or op.version.is_builtin) and await admit(op, write):
        meta = write.obj["metadata"]
        if origin.named_by_path:
            ignore_resource_version(meta, dry_run=dry_run)
        match_namespace(op, meta)
        await dedupe_owners(op, write, after_admission=True)
    if op.version.strategy.grants:
        from polykind.verbs.privileges import check_escalation

        await check_escalation(op, write.obj, None)
    storing = _store(op, write)
    return await (write.complete(storing) if op.resource.has_effects else storing)


async def _store(op: Operation, write: Write) -> bytes:
    """Name, prepare, validate and store a new object. Return its representation."""
    origin, dry_run, meta = write.origin, write.options.dry_run, write.obj["metadata"]
    stated_revision = meta.pop("resourceVersion", "")
    prefix = "" if meta.get("name") else meta.get("generateName", "")
    for attempt in range(_NAME_ATTEMPTS if prefix else 1):
        if prefix:
            appends = op.version.strategy.appends_suffix
            meta["name"] = prefix[:_MAX_PREFIX] + op.backend.ids.suffix() if appends else prefix
        if attempt == 0:
            _assign_identity(op, write)
            if op.resource.has_effects:
                write.finish = await op.resource.begin_create(op, write.obj, dry_run=dry_run)
            if write.large:
                await op.lane.run_in_worker(partial(op.version.strategy.prepare_create, write.obj))
            else:
                op.version.strategy.prepare_create(write.obj)
            await _validate(op, write)
        if origin.named_by_path and not op.backend.authorizer.allows_everything:
            await _require_create_permission(op)
        admission = op.backend.admission
        if admission.validates or op.version.is_builtin or op.namespace in admission.quota_namespaces:
            await approve(op, write)
        # kube-apiserver's storage rejects a create with a resourceVersion, but ignores a malformed resourceVersion.
        if stated_revision and not dry_run and not resource_version_error(stated_revision) and int(stated_revision):
            raise errors.UnknownReasonError("resourceVersion should not be set on objects to be created")
        # A PUT or an apply stores the object at the key of its URL, even if a webhook has renamed the object.
        key = op.key if origin.named_by_path else op.resource.key(op.namespace or "", meta["name"])
        try:
            if dry_run and await _exists(op, key):
                raise LostRaceError
            representation = await commit(op, key, write)
        except LostRaceError:
            continue
        if dry_run:
            return _with_resource_version(representation.data, stated_revision)
        await op.resource.after_write(meta["name"])
        return representation.data
    raise await _already_exists(op, meta["name"], generated=bool(meta.get("generateName")))


def _check_creatable(op: Operation, meta: JsonObject) -> None:
    if not op.resource.creatable:
        reason = "create not allowed while custom resource definition is terminating"
        raise errors.ForbiddenError(op.resource.plural, op.resource.group, meta.get("name", ""), reason)


def _assign_identity(op: Operation, write: Write) -> None:
    meta = write.obj["metadata"]
    meta["uid"] = op.backend.ids.uid()
    meta["creationTimestamp"] = op.now()


async def _validate(op: Operation, write: Write) -> None:
    """Validate the object and send warnings to the client. Raise InvalidError if the object is invalid."""
    strategy, obj = op.version.strategy, write.obj

    if write.large or strategy.evaluates_rules:
        validate = partial(strategy.validate_create, obj, values_validated=write.values_validated)
        validation = await run_validation(op, write, lambda check: validate(check=check))
    else:
        validation = strategy.validate_create(obj, values_validated=write.values_validated)
    field_errors = validation.errors
    if field_errors and op.backend.allows_privileged:
        field_errors = [error for error in field_errors if not error.privileged]
    if write.large:
        await op.lane.run_in_worker(partial(strategy.canonicalize, obj))
    else:
        strategy.canonicalize(obj)
    if strategy.reads_params and not field_errors and not op.backend.authorizer.allows_everything:
        from polykind.verbs.privileges import param_errors

        field_errors = await param_errors(op, obj, None)
    if field_errors:
        name = obj["metadata"].get("name", "")
        group = op.resource.group if strategy.error_group is None else strategy.error_group
        raise await invalid_error(op, write, obj.get("kind", ""), group, name, field_errors)
    await add_warnings(op, write)


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


async def create_review(op: Operation) -> Response:
    """Respond to a review, such as a SubjectAccessReview.

    The review is not stored, and its namespace need not exist.
    """
    strategy = op.version.strategy
    if not isinstance(strategy, ReviewStrategy):
        raise AssertionError("not a review")
    response_format = respond.negotiate(op, negotiation.METADATA_TRANSFORMS)
    write = await decode(op, POST, op.options(CreateOptions))
    match_namespace(op, write.obj["metadata"])
    await dedupe_owners(op, write)
    await track_create(op, write)
    await admit(op, write)
    await op.lane.run(strategy.check, write.obj)
    await approve(op, write)
    answered = await strategy.answer(write.obj, op.client, op.now())
    return await respond.object_response(op, response_format, 201, await op.lane.run(json_codec.encode, answered))
