"""scale: an object's replicas, read and written through the paths that its definition names."""

from __future__ import annotations

from typing import Any

from polykind import errors
from polykind.apis import machinery
from polykind.apis.core.types import SCALE
from polykind.apis.machinery.protobuf_reader import decode_message
from polykind.apply import body, jsonpatch, managed, mergepatch
from polykind.apply import scale as scaling
from polykind.apply.typemodel import SCALE_MODEL
from polykind.codec import json_codec, negotiation, yaml_codec
from polykind.codec.negotiation import ResponseFormat
from polykind.codec.protobuf_envelope import decode_envelope
from polykind.codec.protobuf_wire import ProtobufError
from polykind.codec.table import SCALES
from polykind.contract import JsonObject
from polykind.golang.fmt import go_quote
from polykind.http.messages import Response
from polykind.http.options import PatchOptions, UpdateOptions, WriteOptions, manager_name
from polykind.resources.resource import APPLY_PATCH, JSON_PATCH
from polykind.schema.scale_validation import nested_value, split_path
from polykind.verbs import admitting, answer, revisions
from polykind.verbs.apply import only_owned, read_applied
from polykind.verbs.context import RequestContext
from polykind.verbs.lifecycle import match_namespace
from polykind.verbs.patch import Fragment, read_fragment, worded
from polykind.verbs.update import Change, change_object, check_name, check_uid

_API_VERSION = "autoscaling/v1"
_NO_SUCH_TYPE = (
    "no kind is registered for the type v1.Scale in scheme "
    '"k8s.io/apiextensions-apiserver/pkg/apiserver/customresource_handler.go:781"'
)
"""What the reference says of every Scale that it cannot read, as it looks for the kind in the wrong place."""
_UNSET = -2147483648
"""Replicas that were never set."""
_NO_VERSION = "to proper version: request to convert CR to an invalid group/version: autoscaling/v1"
"""What the reference says where it takes a Scale for an object of the definition, and finds no version for it."""
_NOBODY = (
    "failed to create manager for existing fields: failed to convert live object (/; autoscaling/v1, Kind=Scale) "
    + _NO_VERSION
)
"""What an apply is told where nobody owns the replicas yet: the reference cannot note who had them before."""


async def get_scale(call: RequestContext) -> Response:
    accepted = answer.negotiated(call)
    cache = call.resource.cache
    await revisions.at_least(call)
    await call.backend.cache.wait_until_fresh(cache, call.asked)
    entry = cache.get(call.key)
    if entry is None:
        raise call.missing()
    form = call.version.representer.ready(entry) or await call.version.representer.view(entry)
    scale, found = _scale_of(call, json_codec.decode(form.data))
    if not found:
        path = _paths(call)["specReplicasPath"]
        raise errors.InternalError(f"the spec replicas field {go_quote(path)} does not exist")
    return _answer(call, accepted, scale)


async def update_scale(call: RequestContext) -> Response:
    accepted = answer.negotiated(call)
    options = UpdateOptions.from_query(call.query)
    media = negotiation.body_media(call.request.header(b"content-type"), offers=negotiation.BUILTIN_MEDIA)
    scale, found = _read(call, media)
    if found and options.field_validation == "Strict":
        raise errors.BadRequestError(_NO_SUCH_TYPE)
    _warn(call, found, options.field_validation)
    match_namespace(call, scale["metadata"])
    check_name(call, scale)

    async def replaced(_: JsonObject) -> JsonObject:
        return {**scale, "metadata": dict(scale["metadata"])}

    return await _change(call, accepted, replaced, options, whole=True)


def _read(call: RequestContext, media: str) -> tuple[JsonObject, list[str]]:
    """The Scale in a body, and what a strict reader has against it."""
    body = call.request.body
    try:
        if media == "yaml":
            value, found = yaml_codec.decode_strict(body)
        elif media == "protobuf":
            api_version, kind, message = decode_envelope(body)
            value, found = {**decode_message(message, SCALE), "apiVersion": api_version, "kind": kind}, []
        else:
            value = json_codec.decode(body, spelled=True)
            found = json_codec.duplicate_field_errors(body, value)
        scale, unknown = _decode(value)
    except (errors.BadRequestError, yaml_codec.MalformedYAMLError, ProtobufError):
        raise errors.BadRequestError(_NO_SUCH_TYPE) from None
    return scale, found + unknown


def _warn(call: RequestContext, found: list[str], validation: str) -> None:
    if validation == "Warn":
        for text in found:
            call.request.warn(text)


async def patch_scale(call: RequestContext) -> Response:
    content_type = negotiation.patch_media_type(call.request.header(b"content-type"), offers=call.version.patch_types)
    accepted = answer.negotiated(call)
    options = PatchOptions.from_query(call.query, apply=content_type == APPLY_PATCH)
    if content_type == APPLY_PATCH:
        return await _change(call, accepted, _applying(call, options), options, applied=True)
    decoded: list[Fragment] = []

    async def patched(old: JsonObject) -> JsonObject:
        if not decoded:
            decoded.append(read_fragment(call.request.body, content_type, options.field_validation, spelled=True))
        fragment, complaints, _ = decoded[0]
        apply = jsonpatch.apply if content_type == JSON_PATCH else mergepatch.apply
        lenient = options.field_validation == "Ignore"
        made = apply(old, fragment, lenient=lenient)
        before, _ = machinery.decode(old, SCALE, report=False)
        shown = worded(before, call.request.body, made, content_type)
        try:
            # Of several values that do not fit, the first that is written is told.
            scale, unknown = _decode(json_codec.decode_literal(shown.encode())[0])
            if (found := complaints + unknown) and options.field_validation == "Strict":
                raise errors.BadRequestError(f"strict decoding error: {', '.join(found)}")
        except errors.BadRequestError as error:
            why = error.why if isinstance(error, machinery.Undecodable) else error.message
            raise errors.InvalidError("", "", "", [errors.invalid("patch", shown, why)]) from None
        _warn(call, found, options.field_validation)
        match_namespace(call, scale["metadata"])
        check_name(call, scale)
        return scale

    return await _change(call, accepted, patched, options)


def _applying(call: RequestContext, options: PatchOptions) -> Change:
    async def applied(old: JsonObject) -> JsonObject:
        sent = read_applied(call.request.body, _API_VERSION, "Scale")
        if not old["metadata"].get("managedFields"):
            raise errors.UnknownReasonError(_NOBODY)
        merged = await managed.apply(
            old,
            sent.value,
            manager=options.field_manager,
            force=options.force,
            api_version=_API_VERSION,
            kind="Scale",
            subresource="scale",
            now=call.now(),
            models={_API_VERSION: SCALE_MODEL},
            convert=_no_other_version,
        )
        if not only_owned(old, merged):
            # An applied Scale that changes anything is never taken: who applies may only come to own what is there.
            raise errors.UnknownReasonError(f"failed to convert new object ({body.shown(sent.value)}) {_NO_VERSION}")
        sent.complain(call, options)
        scale, _ = _decode(merged)
        body.check_name(scale, call.name)
        scale["metadata"]["name"] = call.name
        return scale

    return applied


async def _no_other_version(_: JsonObject, __: str) -> JsonObject | None:
    return None


async def _change(
    call: RequestContext,
    accepted: ResponseFormat,
    change: Change,
    options: WriteOptions,
    *,
    whole: bool = False,
    applied: bool = False,
) -> Response:
    """Change the Scale of an object, and by it the object. `whole`: the client sent the Scale itself."""
    paths = call.resource.replicas_paths

    async def through_scale(old: JsonObject) -> JsonObject:
        if whole:
            # Whether it is the object that the client means is asked before what it holds.
            check_uid(call, await change({}), old, options.dry_run)
        before, found = _scale_of(call, old)
        if not found:
            before["spec"] = {"replicas": _UNSET}
        entries = old["metadata"].get("managedFields") or []
        if owners := scaling.to_scale(entries, paths):
            before["metadata"]["managedFields"] = owners
        scale = await change(before)
        if not applied:
            # A Scale that does not say its version loses its managers.
            known = bool(scale["apiVersion"])
            tracked = await _track(call, before, scale, options.field_manager) if known else []
            scale["metadata"].pop("managedFields", None)
            if tracked:
                scale["metadata"]["managedFields"] = tracked
        scale = await admitting.mutated(call, scale, before, options, _restored)
        replicas = (scale.get("spec") or {}).get("replicas", 0)
        path = _paths(call)["specReplicasPath"]
        if replicas == _UNSET:
            raise errors.BadRequestError(f"the spec replicas field {go_quote(path)} cannot be empty")
        new = _with(old, split_path(path), replicas)
        meta = new["metadata"] = dict(old["metadata"])
        given = scale["metadata"].get("resourceVersion")
        if given:
            meta["resourceVersion"] = given
        scaled = scale["metadata"].get("managedFields") or []
        entries = scaling.to_parent(entries, scaled, api_version=call.version.api_version, paths=paths)
        if entries:
            meta["managedFields"] = entries
        else:
            meta.pop("managedFields", None)
        return new

    data = await change_object(
        call, through_scale, options, whole=whole, applied=True, shown=lambda obj: _scale_of(call, obj)[0]
    )
    scale, _ = _scale_of(call, json_codec.decode(data))
    return _answer(call, accepted, scale)


async def _track(call: RequestContext, before: JsonObject, scale: JsonObject, manager: str) -> list[JsonObject]:
    return await managed.update(
        before,
        scale,
        manager=manager_name(manager, call.request.headers.get(b"user-agent", b"")),
        api_version=_API_VERSION,
        subresource="scale",
        now=call.now(),
        models={_API_VERSION: SCALE_MODEL},
        convert=_no_other_version,
    )


def _answer(call: RequestContext, accepted: ResponseFormat, scale: JsonObject) -> Response:
    return answer.object_answer(call, accepted, 200, json_codec.encode_ordered(scale), SCALES)


def _decode(value: object) -> tuple[JsonObject, list[str]]:
    """A Scale, which need not say that it is one, and its unknown fields in a strict reader's words."""
    stated, kind = json_codec.read_type_meta(value)
    api_version, kind = stated or _API_VERSION, kind or "Scale"
    if (api_version, kind) != (_API_VERSION, "Scale"):
        raise errors.BadRequestError(
            f'no kind "{kind}" is registered for version "{api_version}" in scheme "k8s.io/client-go/scale/util.go:146"'
        )
    named = {**(value if isinstance(value, dict) else {}), "apiVersion": api_version, "kind": kind}
    scale, unknown = machinery.decode(named, SCALE, report=True)
    return {**scale, "apiVersion": stated}, [f"unknown field {go_quote(path)}" for path in unknown]


def _restored(made: JsonObject) -> JsonObject:
    """The Scale that others have made of one. Raises Unexplained, in the words of a converter in memory."""
    from polykind.apis.machinery import from_unstructured

    if not made.get("apiVersion"):
        raise errors.UnknownReasonError("Object 'apiVersion' is missing in 'unstructured object has no version'")
    if (made["apiVersion"], made["kind"]) != (_API_VERSION, "Scale"):
        raise errors.UnknownReasonError(
            f'no kind "{made["kind"]}" is registered for version "{made["apiVersion"]}" in scheme '
            '"k8s.io/client-go/kubernetes/scheme/register.go:82"'
        )
    if why := from_unstructured.complaint(made, SCALE):
        raise errors.UnknownReasonError(f"unable to convert unstructured object to autoscaling/v1, Kind=Scale: {why}")
    return _decode(made)[0]


def _paths(call: RequestContext) -> JsonObject:
    if call.version.scale is None:
        raise AssertionError("no scale subresource")
    return call.version.scale


def _nested(obj: JsonObject, path: str, kind: type, name: str) -> Any:
    """The value at a path, None where there is none; a 500 where something else stands there."""
    value, problem = nested_value(obj, path, kind, name)
    if problem:
        raise errors.UnknownReasonError(problem)
    return value


def _int32(obj: JsonObject, path: str) -> int | None:
    """The number at a path, of which no more than 32 bits are kept."""
    found: int | None = _nested(obj, path, int, "int64")
    return found if found is None else (found + 2**31) % 2**32 - 2**31


def _with(obj: JsonObject, keys: list[str], value: int) -> JsonObject:
    """The object with a value at a path; what is not on the path is shared."""
    out = below = dict(obj)
    for at, key in enumerate(keys[:-1]):
        found = below.get(key, {})
        if not isinstance(found, dict):
            where = ".".join(keys[: at + 1])
            raise errors.UnknownReasonError(f"value cannot be set because .{where} is not a map[string]interface{{}}")
        below[key] = below = dict(found)
    below[keys[-1]] = value
    return out


def _scale_of(call: RequestContext, obj: JsonObject) -> tuple[JsonObject, bool]:
    """The Scale of an object, and whether its replicas are set."""
    paths, meta = _paths(call), obj["metadata"]
    replicas = _int32(obj, paths["specReplicasPath"])
    status = _int32(obj, paths["statusReplicasPath"]) or 0
    selector = ""
    if paths.get("labelSelectorPath"):
        selector = _nested(obj, paths["labelSelectorPath"], str, "string") or ""
    scale: JsonObject = {
        "kind": "Scale",
        "apiVersion": _API_VERSION,
        "metadata": {
            k: meta[k] for k in ("name", "namespace", "uid", "resourceVersion", "creationTimestamp") if k in meta
        },
        "spec": {"replicas": replicas} if replicas else {},
        "status": {"replicas": status, **({"selector": selector} if selector else {})},
    }
    return scale, replicas is not None
