"""update: an object replaced, whole or its status; and the walk that every change of an object takes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from polykind import errors
from polykind.cache.cached_object import CachedObject
from polykind.codec import json_codec
from polykind.contract import JsonObject
from polykind.http.messages import Response
from polykind.http.options import CreateOptions, UpdateOptions, WriteOptions
from polykind.schema import metadata_validation, names
from polykind.schema.equality import deep_equal
from polykind.verbs import admitting, answer, managing, payload, revisions
from polykind.verbs.commit import LostRace, as_given, commit, modified, remove
from polykind.verbs.context import RequestContext
from polykind.verbs.create import create_object
from polykind.verbs.lifecycle import match_namespace

Change = Callable[[JsonObject], Awaitable[JsonObject]]
"""From the object as it is to the object as it shall be, both at the request's version."""


async def update(call: RequestContext) -> Response:
    accepted = answer.negotiated(call)
    options = UpdateOptions.from_query(call.query)
    unused = [_sent(call, options)]

    async def replaced(_: JsonObject) -> JsonObject:
        # Whoever lost a race has changed what was sent, and reads it again.
        return unused.pop() if unused else _sent(call, options)

    if call.resource.creates_on_update:
        created = await _created(call, options)
        if created is not None:
            return answer.object_answer(call, accepted, 201, created)
    data = await change_object(call, replaced, options, whole=True)
    return answer.object_answer(call, accepted, 200, data)


def _sent(call: RequestContext, options: UpdateOptions) -> JsonObject:
    """The object in the body."""
    obj = payload.read(call, options.field_validation).obj
    match_namespace(call, obj["metadata"])
    check_name(call, obj)
    managing.dedupe_owners(call, obj["metadata"])
    return obj


async def _created(call: RequestContext, options: UpdateOptions) -> bytes | None:
    """An update where nothing is yet: a create. None where something is."""
    await call.backend.cache.wait_until_fresh(call.resource.cache)
    if call.resource.cache.get(call.key) is not None or names.path_segment(call.name):
        return None
    obj = _sent(call, options)
    check_uid(call, obj, {"metadata": {}}, options.dry_run)
    revisions.pass_over(obj["metadata"], options.dry_run)
    try:
        return await create_object(call, obj, CreateOptions(options.dry_run, options.field_manager))
    except errors.AlreadyExistsError:
        return None


def check_name(call: RequestContext, obj: JsonObject) -> None:
    name = obj["metadata"].get("name")
    if not name:
        raise errors.BadRequestError(
            f"the name of the object ({call.name} based on URL) was undeterminable: name must be provided"
        )
    if name != call.name:
        raise errors.BadRequestError(
            f"the name of the object ({name}) does not match the name on the URL ({call.name})"
        )


async def change_object(
    call: RequestContext,
    change: Change,
    options: WriteOptions,
    *,
    whole: bool,
    applied: bool = False,
    shown: Callable[[JsonObject], JsonObject] | None = None,
) -> bytes:
    """Change an object until nobody else was faster; what a read of it gives.

    `whole`: the client sent the object itself, so its resourceVersion and uid are conditions. `applied`: the change
    has seen to managedFields itself. `shown`: what those who may refuse are shown of an object; those who may change it
    have then been asked by the change.
    """
    kind, cache = call.resource, call.resource.cache
    old: JsonObject
    while True:
        await call.backend.cache.wait_until_fresh(cache)
        entry = cache.get(call.key)
        if entry is None:
            raise call.missing()
        form = call.version.representer.ready(entry) or await call.version.representer.view(entry)
        old, call.was_whole = json_codec.decode_flagged(form.data)
        new = changed = await change(old)
        _share(new, old)
        if whole:
            check_uid(call, new, old, options.dry_run)
        if not applied:
            await managing.updated(call, new, old, options.field_manager)
        if shown is None and call.backend.admission.mutates:
            new = await admitting.mutated(call, new, old, options)
        if call.version.strategy.grants:
            from polykind.verbs import granting

            await granting.check(call, new, old)
        made = applied or new is not changed
        conditional = _check_revision(call, new, old, entry) and whole
        match_namespace(call, new["metadata"])
        managing.dedupe_owners(call, new["metadata"], made=True)
        new = _prepared(call, new, old)
        if not call.unread:
            managing.keep_times(new, old)
        if call.backend.admission.validates:
            told = (new, old) if shown is None else (shown(new), shown(old))
            await admitting.approve(call, *told, options)
        try:
            if _finished(new) and not kind.has_spec_finalizers(new):
                return await _finish(call, new, entry, options.dry_run)
            form = await commit(call, call.key, new, entry, options.dry_run, made=made)
        except LostRace:
            if conditional:
                raise modified(call, call.name) from None
            continue
        if not options.dry_run:
            await call.resource.after_write(call.name)
        return form.data


def _share(new: JsonObject, old: JsonObject) -> None:
    """Make the parts that have not changed one and the same, so that nobody need compare them again."""
    for name, value in new.items():
        before = old.get(name)
        if value is not before and name != "metadata" and deep_equal(value, before):
            new[name] = before


def check_uid(call: RequestContext, new: JsonObject, old: JsonObject, dry_run: bool) -> None:
    """Refuse where the client means another object, whoever else has yet to be asked."""
    kind, uid = call.resource, new["metadata"].get("uid")
    if uid and uid != old["metadata"].get("uid"):
        # Keys are told as the store knows them; a dry run does not get that far.
        prefix = f"/{kind.cache.prefix.removeprefix(call.backend.cache.prefix)}" if dry_run else kind.cache.prefix
        key = f"{prefix}{call.key}"
        why = (
            f"StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: "
            f"Precondition failed: UID in precondition: {uid}, UID in object meta: {old['metadata'].get('uid', '')}"
        )
        raise errors.conflict(kind.plural, kind.group, call.name, why)


def _check_revision(call: RequestContext, new: JsonObject, old: JsonObject, entry: CachedObject) -> bool:
    """Whether a revision is insisted on; refuse if it is another."""
    meta, kind = new["metadata"], call.resource
    given = meta.get("resourceVersion")
    if not given or given == "0":
        if call.version.strategy.unconditional_update:
            meta["resourceVersion"] = old["metadata"]["resourceVersion"]
            return False
        complaint = errors.invalid("metadata.resourceVersion", 0, "must be specified for an update")
        raise errors.InvalidError(kind.plural, kind.group, call.name, [complaint])
    if given != str(entry.revision):
        if nonsense := revisions.unparsable(given):
            raise errors.UnknownReasonError(nonsense)
        raise modified(call, call.name)
    return True


def _prepared(call: RequestContext, new: JsonObject, old: JsonObject) -> JsonObject:
    """The new object with what clients may not change put back, and judged."""
    version, before = call.version, old["metadata"]
    if not new.get("apiVersion"):
        raise errors.InternalError("Object 'apiVersion' is missing in 'object has no apiVersion field'")
    if call.subresource == "status":
        new = version.strategy.prepare_status(new, old)
    meta = new["metadata"]
    for kept in ("uid", "creationTimestamp"):
        if not meta.get(kept) and before.get(kept):
            meta[kept] = before[kept]
    meta["creationTimestamp"] = before.get("creationTimestamp", meta.get("creationTimestamp"))
    if "deletionTimestamp" in before:
        meta["deletionTimestamp"] = before["deletionTimestamp"]
    if "deletionGracePeriodSeconds" in before:
        meta.setdefault("deletionGracePeriodSeconds", before["deletionGracePeriodSeconds"])
    if "generation" in before:
        meta["generation"] = before["generation"]
    else:
        meta.pop("generation", None)
    if call.subresource == "status":
        judge = version.strategy.validate_status
    elif call.subresource == "finalize":
        version.strategy.prepare_finalize(new, old)
        judge = version.strategy.validate_finalize
    else:
        version.strategy.prepare_update(new, old)
        judge = version.strategy.validate_update
    found = metadata_validation.validate_object_meta(
        meta, namespaced=call.resource.namespaced, name_rule=names.path_segment
    )
    found += metadata_validation.validate_object_meta_update(meta, before)
    validation = judge(new, old)
    found += validation.errors
    if version.strategy.reads_params and not (found or call.subresource or call.backend.authorizer.allows_everything):
        from polykind.verbs import params

        found = params.problems(call, new, old)
    version.strategy.canonicalize(new)
    for text in validation.ratcheted:
        call.request.warn(text)
    if found:
        raise errors.InvalidError(
            new.get("kind", ""), new["apiVersion"].rpartition("/")[0], meta.get("name", ""), found
        )
    for text in version.strategy.warnings(new, old):
        call.request.warn(text)
    return new


def _finished(new: JsonObject) -> bool:
    """The last finalizer of an object that is being deleted has gone."""
    meta = new["metadata"]
    return (
        bool(meta.get("deletionTimestamp"))
        and not meta.get("finalizers")
        and not meta.get("deletionGracePeriodSeconds")
    )


async def _finish(call: RequestContext, new: JsonObject, entry: CachedObject, dry_run: bool) -> bytes:
    """Delete instead of writing: the reply is the object as it came in, which no storage has made anything of."""
    data = json_codec.encode(as_given(call, new))
    if not dry_run:
        await remove(call, call.key, entry)
        await call.resource.after_write(call.name)
    return data
