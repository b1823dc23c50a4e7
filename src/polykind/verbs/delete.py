"""delete: an object goes, at once or when its finalizers are done."""

from __future__ import annotations

from polykind import errors
from polykind.apis.machinery.protobuf_reader import decode_message
from polykind.apis.meta.types import DELETE_OPTIONS
from polykind.cache.cached_object import CachedObject
from polykind.codec import json_codec, negotiation, yaml_codec
from polykind.codec.protobuf_envelope import decode_envelope
from polykind.codec.protobuf_wire import ProtobufError
from polykind.contract import JsonObject
from polykind.http.messages import Response
from polykind.http.options import DeleteOptions
from polykind.verbs import admitting, answer
from polykind.verbs.commit import LostRace, commit, remove
from polykind.verbs.context import RequestContext

FOREGROUND = "foregroundDeletion"
ORPHAN = "orphan"


async def delete(call: RequestContext) -> Response:
    accepted = answer.negotiated(call)
    options = delete_options(call)
    gone, data, uid = await delete_object(call, options)
    if not gone:
        status = 202 if options.orphan_dependents is False else 200
        return answer.object_answer(call, accepted, status, data)
    if call.resource.returns_deleted_object:
        return answer.object_answer(call, accepted, 200, data)
    kind = call.resource
    details = {"name": call.name, "group": kind.group, "kind": kind.plural, "uid": uid}
    status_object = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": {k: v for k, v in details.items() if v},
    }
    return answer.status_answer(call, accepted, status_object)


def delete_options(call: RequestContext) -> DeleteOptions:
    """From the body if there is one, else from the query."""
    body = call.request.body
    if not body:
        return DeleteOptions.from_query(call.query)
    media = negotiation.body_media(call.request.header(b"content-type"), offers=negotiation.BUILTIN_MEDIA)
    if media == "protobuf":
        return DeleteOptions.from_body(_message(body))
    return DeleteOptions.from_body(yaml_codec.decode(body) if media == "yaml" else json_codec.decode(body))


def _message(body: bytes) -> JsonObject:
    try:
        api_version, kind, message = decode_envelope(body)
        named = {"apiVersion": "" if api_version.count("/") > 1 else api_version, "kind": kind}
        if kind not in ("", DELETE_OPTIONS.kind):
            return named
        return {**decode_message(message, DELETE_OPTIONS), **named}
    except ProtobufError as error:
        raise errors.BadRequestError(str(error)) from None


async def delete_object(call: RequestContext, options: DeleteOptions, *, named: bool = True) -> tuple[bool, bytes, str]:
    """Delete or begin to: whether it is gone, the object as it is (or was), and its uid.

    `named`: it is asked for by its name, and not with all of its collection.
    """
    kind, cache = call.resource, call.resource.cache
    if call.name in kind.protected_names:
        raise errors.ForbiddenError(kind.plural, kind.group, call.name, "this namespace may not be deleted")
    while True:
        await call.backend.cache.wait_until_fresh(cache)
        entry = cache.get(call.key)
        if entry is None:
            raise call.missing()
        form = call.version.representer.ready(entry) or await call.version.representer.view(entry)
        obj: JsonObject = json_codec.decode(form.data)
        _check_preconditions(call, obj, options)
        await admitting.approve_deletion(call, obj, options, named=named)
        uid = obj["metadata"].get("uid", "")
        try:
            if _mark(call, obj, options):
                if not obj["metadata"].get("finalizers") and not kind.has_spec_finalizers(obj):
                    if options.dry_run and kind.deletion_bumps_generation:
                        # Nothing was written that could be shown: the reference shows an object without content.
                        return (
                            False,
                            json_codec.encode({"apiVersion": call.version.api_version, "kind": kind.kind}),
                            uid,
                        )
                    await _remove(call, entry, options)
                    return True, form.data, uid
                kept = await commit(call, call.key, obj, entry, options.dry_run)
                if not options.dry_run:
                    await call.resource.after_write(call.name)
                return False, kept.data, uid
            await _remove(call, entry, options)
        except LostRace:
            continue
        return True, form.data, uid


async def _remove(call: RequestContext, entry: CachedObject, options: DeleteOptions) -> None:
    if not options.dry_run:
        await remove(call, call.key, entry)
        await call.resource.after_write(call.name)


def _check_preconditions(call: RequestContext, obj: JsonObject, options: DeleteOptions) -> None:
    meta, kind = obj["metadata"], call.resource
    if not kind.deletion_bumps_generation:
        _check_definition_preconditions(call, meta, options)
    if options.uid is not None and options.uid != meta.get("uid"):
        why = (
            f"the UID in the precondition ({options.uid}) does not match the UID in record ({meta.get('uid')}). "
            "The object might have been deleted and then recreated"
        )
        raise errors.conflict(kind.kind, kind.group, call.name, why)
    if options.resource_version is not None and options.resource_version != meta.get("resourceVersion"):
        why = (
            f"the ResourceVersion in the precondition ({options.resource_version}) does not match the ResourceVersion "
            f"in record ({meta.get('resourceVersion')}). The object might have been modified"
        )
        raise errors.conflict(kind.kind, kind.group, call.name, why)


def _check_definition_preconditions(call: RequestContext, meta: JsonObject, options: DeleteOptions) -> None:
    """Definitions word it otherwise."""
    for word, wanted, key in (
        ("UID", options.uid, "uid"),
        ("ResourceVersion", options.resource_version, "resourceVersion"),
    ):
        if wanted is not None and wanted != meta.get(key):
            why = f"Precondition failed: {word} in precondition: {wanted}, {word} in object meta: {meta.get(key)}"
            raise errors.conflict(call.resource.plural, call.resource.group, call.name, why)


def _mark(call: RequestContext, obj: JsonObject, options: DeleteOptions) -> bool:
    """Prepare an object that must stay for a while; False if nothing keeps it."""
    meta = obj["metadata"]
    finalizers = meta.get("finalizers") or []
    begun = bool(meta.get("deletionTimestamp"))
    minded = not call.resource.has_spec_finalizers(obj) if begun else call.resource.deletion_applies_policy
    unorphaned = "Background" if begun else call.resource.non_orphan_policy
    wanted = _garbage_finalizers(finalizers, options, unorphaned) if minded else list(finalizers)
    lingers = call.resource.prepare_delete(obj)
    if not wanted and not finalizers and not lingers:
        return False
    wanted += [f for f in meta.get("finalizers") or [] if f not in wanted and f not in finalizers]
    if wanted:
        meta["finalizers"] = wanted
    else:
        meta.pop("finalizers", None)
    if not meta.get("deletionTimestamp"):
        meta["deletionTimestamp"] = call.now()
        if call.resource.deletion_bumps_generation:
            meta["deletionGracePeriodSeconds"] = 0
            if meta.get("generation"):
                meta["generation"] += 1
    elif not call.resource.has_spec_finalizers(obj):
        meta.setdefault("deletionGracePeriodSeconds", 0)
    return True


def _garbage_finalizers(finalizers: list[str], options: DeleteOptions, unorphaned: str) -> list[str]:
    """The finalizers as the propagation policy wants them; `unorphaned`: the policy of who wants no orphans."""
    policy = options.propagation_policy
    if policy is None and options.orphan_dependents is not None:
        policy = "Orphan" if options.orphan_dependents else unorphaned
    if policy is None:
        return list(finalizers)
    wanted = [f for f in finalizers if f not in (FOREGROUND, ORPHAN)]
    if policy == "Orphan":
        wanted.append(ORPHAN)
    elif policy == "Foreground":
        wanted.append(FOREGROUND)
    # What is wanted and there already stays where it stands.
    return list(finalizers) if set(wanted) == set(finalizers) else wanted
