"""apply: an object as one of its managers wants it, merged with what the others want."""

from __future__ import annotations

from dataclasses import dataclass

from polykind import errors
from polykind.apis.machinery.decoding import described
from polykind.apply import body, lastapplied, managed
from polykind.codec import json_codec, yaml_codec
from polykind.contract import JsonObject
from polykind.http.options import CreateOptions, PatchOptions
from polykind.verbs import admitting, revisions
from polykind.verbs.context import RequestContext
from polykind.verbs.create import create_object
from polykind.verbs.lifecycle import match_namespace
from polykind.verbs.update import Change

_NO_YAML = "error converting YAML to JSON: "


@dataclass(frozen=True, slots=True)
class Applied:
    """The body of an apply, and what a strict reader has against it."""

    value: JsonObject
    complaints: list[str]

    def complain(self, call: RequestContext, options: PatchOptions) -> None:
        """Refuse or warn of repeated keys, as is asked for; what cannot be applied at all is told before."""
        if not self.complaints or options.field_validation == "Ignore":
            return
        if options.field_validation == "Strict":
            text = yaml_codec.strict_error(self.complaints)
            raise errors.BadRequestError(f"error strict decoding YAML: {_NO_YAML}{text}")
        for complaint in self.complaints:
            call.request.warn(complaint)


def read_applied(data: bytes, api_version: str, kind: str) -> Applied:
    """The body of an apply, YAML or JSON, that has to be of a kind."""
    try:
        value, complaints = yaml_codec.decode_strict(data)
    except (errors.BadRequestError, yaml_codec.MalformedYAMLError) as error:
        raise errors.BadRequestError(f"error decoding YAML: {_NO_YAML}{error}") from None
    if value is None:
        value = {}
    if not isinstance(value, dict):
        raise errors.BadRequestError(
            "error decoding YAML: error unmarshaling JSON: while decoding JSON: "
            f"json: cannot unmarshal {described(value)} into Go value of type map[string]interface {{}}"
        )
    body.check_kind(value, api_version, kind)
    return Applied(value, complaints)


async def _merged(
    call: RequestContext, live: JsonObject | None, applied: JsonObject, options: PatchOptions
) -> JsonObject:
    merged = await managed.apply(
        live,
        applied,
        manager=options.field_manager,
        force=options.force,
        api_version=call.version.api_version,
        kind=call.resource.kind,
        subresource=call.subresource,
        now=call.now(),
        models=call.resource.models,
        convert=call.version.representer.convert,
        reset=call.resource.reset(call.version, call.subresource),
    )
    if call.version.is_builtin and (why := call.version.codec.conversion_error(merged)):
        named = body.kind_text(call.version.api_version, call.resource.kind)
        raise errors.UnknownReasonError(
            f"failed to convert new object ({body.shown(applied)}) to proper version: "
            f"unable to convert unstructured object to {named}: {why}"
        )
    return merged


def _decoded(
    call: RequestContext, merged: JsonObject, old: JsonObject | None = None, *, noted: bool = False
) -> JsonObject:
    """The merged object as it would be if it had been sent; one that stays as it was is not even given defaults."""
    if call.resource.namespaced:
        body.check_namespace(merged, call.namespace or "")
    body.check_name(merged, call.name)
    obj: JsonObject = json_codec.decode(json_codec.encode(merged))
    if old is None or not only_owned(old, merged, noted=noted):
        given = obj.get("metadata") or {}
        obj = call.version.codec.default(obj)
        if obj["metadata"] is not given and not (call.version.is_builtin or call.subresource):
            call.misfit = admitting.misfit(given)
            call.unread = admitting.unread(given, obj["metadata"])
    match_namespace(call, obj["metadata"])
    return obj


def only_owned(old: JsonObject, merged: JsonObject, *, noted: bool = False) -> bool:
    """Whether an apply has changed nothing but who owns what; `noted`: and what was noted of it for kubectl."""
    if old.keys() != merged.keys() or any(merged[key] is not old[key] for key in old if key != "metadata"):
        return False
    was, now = ({k: v for k, v in obj["metadata"].items() if k != "managedFields"} for obj in (old, merged))
    if was != now and noted:
        was, now = lastapplied.forgotten(was), lastapplied.forgotten(now)
    return was == now


def apply_change(call: RequestContext, applied: Applied, options: PatchOptions) -> Change:
    async def change(old: JsonObject) -> JsonObject:
        merged = await _merged(call, old, applied.value, options)
        applied.complain(call, options)
        noted = options.field_manager == lastapplied.MANAGER and lastapplied.is_noted(old, merged, applied.value)
        new = _decoded(call, merged, old, noted=noted)
        # Even an apply that changes nothing is refused if it states another resourceVersion.
        current = new["metadata"].get("resourceVersion") == old["metadata"].get("resourceVersion")
        if current and not call.unread and managed.same_but_times(old, new):
            return old
        return new

    return change


async def apply_create(call: RequestContext, applied: Applied, options: PatchOptions) -> bytes:
    """An apply where nothing is yet: a create."""
    merged = await _merged(call, None, applied.value, options)
    applied.complain(call, options)
    meta = applied.value.get("metadata")
    uid = meta.get("uid") if isinstance(meta, dict) else None
    if uid:
        raise body.uid_mismatch(call.resource.plural, call.resource.group, call.name, uid)
    obj = _decoded(call, merged)
    revisions.pass_over(obj["metadata"], options.dry_run)
    return await create_object(call, obj, CreateOptions(dry_run=options.dry_run), tracked=True)
