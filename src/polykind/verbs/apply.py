"""apply: an object as one of its managers wants it, merged with what the others want."""

from __future__ import annotations

from polykind import errors
from polykind.apply import body, managed
from polykind.contract import JsonObject
from polykind.verbs.call import Call
from polykind.verbs.create import create_object
from polykind.verbs.lifecycle import match_namespace
from polykind.verbs.update import Change
from polykind.wire import codec, yamlcodec
from polykind.wire.options import CreateOptions, PatchOptions


def applied_object(call: Call, options: PatchOptions) -> JsonObject:
    """The body of an apply: YAML or JSON."""
    try:
        value, complaints = yamlcodec.decode_strict(call.request.body)
    except (errors.BadRequest, yamlcodec.MalformedYAML) as error:
        raise errors.BadRequest(f"error decoding YAML: {error}") from None
    if not isinstance(value, dict):
        raise errors.BadRequest("error decoding YAML: the body is not an object")
    body.check(value, call.version.api_version, call.kind.kind)
    if complaints and options.field_validation != "Ignore":
        text = yamlcodec.strict_error(complaints)
        if options.field_validation == "Strict":
            raise errors.BadRequest(f"error strict decoding YAML: {text}")
        call.request.warn(text)
    return value


async def _merged(call: Call, live: JsonObject | None, applied: JsonObject, options: PatchOptions) -> JsonObject:
    return await managed.apply(
        live,
        applied,
        manager=options.field_manager,
        force=options.force,
        api_version=call.version.api_version,
        kind=call.kind.kind,
        subresource=call.subresource,
        now=call.now(),
        models=call.kind.models,
        convert=call.version.at_version,
        reset=call.kind.reset(call.version, call.subresource),
    )


def _decoded(call: Call, merged: JsonObject) -> JsonObject:
    """The merged object as it would be if it had been sent."""
    body.check_name(merged, call.name)
    if call.kind.namespaced:
        body.check_namespace(merged, call.namespace or "")
    obj = call.version.default(codec.decode(codec.encode(merged)))
    obj["metadata"]["name"] = call.name
    match_namespace(call, obj["metadata"])
    return obj


def apply_change(call: Call, applied: JsonObject, options: PatchOptions) -> Change:
    async def change(old: JsonObject) -> JsonObject:
        merged = await _merged(call, old, applied, options)
        new = _decoded(call, merged)
        if managed.same_but_times(old, new):
            return old
        return new

    return change


async def apply_create(call: Call, applied: JsonObject, options: PatchOptions) -> bytes:
    """An apply where nothing is yet: a create."""
    meta = applied.get("metadata")
    uid = meta.get("uid") if isinstance(meta, dict) else None
    if uid:
        raise body.uid_mismatch(call.kind.plural, call.kind.group, call.name, uid)
    obj = _decoded(call, await _merged(call, None, applied, options))
    obj["metadata"].pop("resourceVersion", None)
    return await create_object(call, obj, CreateOptions(dry_run=options.dry_run), tracked=True)
