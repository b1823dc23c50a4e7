"""The scale subresource: an object's replicas, read and written through the paths that its CRD names."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from polykind import errors
from polykind.apis import machinery
from polykind.apis.autoscaling.types import SCALE
from polykind.apis.machinery.apply_types import apply_model
from polykind.apis.machinery.protobuf_envelope import decode_envelope
from polykind.apis.machinery.protobuf_reader import decode_message
from polykind.apply import apply_body, field_manager, json_patch, merge_patch, scale_managed_fields
from polykind.codec import json_codec, negotiation, yaml_codec
from polykind.codec.negotiation import ResponseFormat
from polykind.codec.protobuf_wire import ProtobufError
from polykind.contract import JsonObject
from polykind.golang.fmt import go_quote
from polykind.operations.lane import is_large
from polykind.operations.operation import Operation
from polykind.operations.options import PatchOptions, UpdateOptions, WriteOptions, manager_name
from polykind.operations.responses import Response
from polykind.resources.resource import APPLY_PATCH, JSON_PATCH
from polykind.schema.scale_validation import nested_value, split_path
from polykind.verbs import respond
from polykind.verbs.admit import admit_scale
from polykind.verbs.apply import only_managers_changed, read_applied
from polykind.verbs.get import read_object
from polykind.verbs.metadata import check_name, match_namespace
from polykind.verbs.patch import DecodedPatch, decode_patch, patched_text
from polykind.verbs.update import change_object, check_uid
from polykind.verbs.write import SCALE_PATCH, SCALE_PUT, Origin, Write

_API_VERSION = "autoscaling/v1"
_UNREGISTERED_TYPE = (
    "no kind is registered for the type v1.Scale in scheme "
    '"k8s.io/apiextensions-apiserver/pkg/apiserver/customresource_handler.go:781"'
)
"""kube-apiserver's error for every Scale that it cannot decode, because it looks the kind up in a wrong scheme."""
_UNSET = -2147483648
"""The value of a Scale's spec.replicas that stands for missing replicas."""
_NO_VERSION = "to proper version: request to convert CR to an invalid group/version: autoscaling/v1"
"""kube-apiserver's error when it treats a Scale as an object of the CRD and finds no version autoscaling/v1."""
_NO_MANAGERS = (
    "failed to create manager for existing fields: failed to convert live object (/; autoscaling/v1, Kind=Scale) "
    + _NO_VERSION
)
"""kube-apiserver's error for an apply of a Scale whose replicas have no manager yet."""

ScaleChange = Callable[[JsonObject], Awaitable[JsonObject]]
"""A function that takes the old Scale and returns the new one."""


async def get_scale(op: Operation) -> Response:
    response_format = respond.negotiate(op)
    representation = await read_object(op)
    scale, has_replicas = _scale_of(op, await _decode_object(op, representation.data))
    if not has_replicas:
        path = _paths(op)["specReplicasPath"]
        raise errors.InternalError(f"the spec replicas field {go_quote(path)} does not exist")
    return await _respond(op, response_format, scale)


async def update_scale(op: Operation) -> Response:
    response_format = respond.negotiate(op)
    options = UpdateOptions.from_query(op.query)
    media = negotiation.body_media(op.media.content_type, offers=negotiation.BUILTIN_MEDIA)
    decode = partial(_decode_body, op, media)
    scale, strict_errors = await op.lane.run_in_worker(decode) if is_large(op.body) else decode()
    if strict_errors and options.field_validation == "Strict":
        raise errors.BadRequestError(_UNREGISTERED_TYPE)
    op.notes.record_object(None, scale)
    _warn(op, strict_errors, options.field_validation)
    match_namespace(op, scale["metadata"])
    check_name(op, scale)

    async def replace(_: JsonObject) -> JsonObject:
        return {**scale, "metadata": dict(scale["metadata"])}

    return await _change_scale(op, response_format, replace, options, SCALE_PUT)


async def patch_scale(op: Operation) -> Response:
    content_type = negotiation.patch_media_type(op.media.content_type, offers=op.version.patch_types)
    response_format = respond.negotiate(op)
    options = PatchOptions.from_query(op.query, apply=content_type == APPLY_PATCH)
    op.notes.record_patch()
    if content_type == APPLY_PATCH:
        change = _apply_change(op, options)
        return await _change_scale(op, response_format, change, options, SCALE_PATCH, tracked=True)
    decoded: list[DecodedPatch] = []

    async def patch(old: JsonObject) -> JsonObject:
        apply = partial(apply_patch, old)
        return await op.lane.run_in_worker(apply) if is_large(op.body) else apply()

    def apply_patch(old: JsonObject) -> JsonObject:
        if not decoded:
            decoded.append(decode_patch(op.body, content_type, options.field_validation, spelled=True))
        patch, strict_errors, _ = decoded[0]
        apply = json_patch.apply if content_type == JSON_PATCH else merge_patch.apply
        patched = apply(old, patch, lenient=options.field_validation == "Ignore")
        before, _ = machinery.decode(old, SCALE, report=False)
        shown = patched_text(before, op.body, patched, content_type)
        try:
            # Decode the text, so that the error reports the first invalid value in the text.
            scale, unknown = _decode(json_codec.decode_literal(shown.encode())[0])
            if (strict_errors := strict_errors + unknown) and options.field_validation == "Strict":
                raise errors.BadRequestError(f"strict decoding error: {', '.join(strict_errors)}")
        except errors.BadRequestError as error:
            reason = error.detail if isinstance(error, machinery.UndecodableObjectError) else error.message
            raise errors.InvalidError("", "", "", [errors.invalid("patch", shown, reason)]) from None
        _warn(op, strict_errors, options.field_validation)
        match_namespace(op, scale["metadata"])
        check_name(op, scale)
        return scale

    return await _change_scale(op, response_format, patch, options, SCALE_PATCH)


def _apply_change(op: Operation, options: PatchOptions) -> ScaleChange:
    async def apply(old: JsonObject) -> JsonObject:
        applied = await read_applied(op, _API_VERSION, "Scale")
        if not old["metadata"].get("managedFields"):
            raise errors.UnknownReasonError(_NO_MANAGERS)
        merged = await field_manager.apply(
            old,
            applied.value,
            manager=options.field_manager,
            force=options.force,
            api_version=_API_VERSION,
            kind="Scale",
            subresource="scale",
            now=op.now(),
            models={_API_VERSION: apply_model(SCALE)},
            convert=_no_conversion,
        )
        if not only_managers_changed(old, merged):
            # kube-apiserver fails on every applied Scale that changes a value. Only the managers can change.
            raise errors.UnknownReasonError(
                f"failed to convert new object ({apply_body.format_object(applied.value)}) {_NO_VERSION}"
            )
        applied.report_duplicates(op, options)
        scale, _ = _decode(merged)
        apply_body.check_name(scale, op.name)
        scale["metadata"]["name"] = op.name
        return scale

    return apply


async def _no_conversion(_: JsonObject, __: str) -> JsonObject | None:
    return None


async def _change_scale(
    op: Operation,
    response_format: ResponseFormat,
    change: ScaleChange,
    options: WriteOptions,
    origin: Origin,
    *,
    tracked: bool = False,
) -> Response:
    """Change an object through its Scale. `tracked` is true if the change has already set managedFields."""
    paths = op.resource.replicas_paths

    async def change_through_scale(old: JsonObject, write: Write) -> JsonObject:
        if origin.replaces:
            # kube-apiserver checks the uid before it reads the object's replicas.
            check_uid(op, await change({}), old, dry_run=options.dry_run)
        before, has_replicas = _scale_of(op, old)
        if not has_replicas:
            before["spec"] = {"replicas": _UNSET}
        entries = old["metadata"].get("managedFields") or []
        if scale_entries := scale_managed_fields.to_scale(entries, paths):
            before["metadata"]["managedFields"] = scale_entries
        scale = await change(before)
        if not tracked:
            await _track(op, before, scale, options.field_manager)
        scale = await admit_scale(op, scale, before, write, _decode_mutated)
        return _apply_scale(op, old, scale, entries)

    data = await change_object(op, change_through_scale, options, origin, lambda obj: _scale_of(op, obj)[0])
    scale, _ = _scale_of(op, await _decode_object(op, data))
    return await _respond(op, response_format, scale)


async def _decode_object(op: Operation, data: bytes) -> JsonObject:
    decode = partial(json_codec.decode, data)
    obj: JsonObject = await op.lane.run_in_worker(decode) if is_large(data) else decode()
    return obj


async def _track(op: Operation, before: JsonObject, scale: JsonObject, manager: str) -> None:
    """Set the managedFields of a Scale. A Scale without apiVersion loses its managers."""
    tracked: list[JsonObject] = []
    if scale["apiVersion"]:
        tracked = await field_manager.update(
            before,
            scale,
            manager=manager_name(manager, op.media.agent),
            api_version=_API_VERSION,
            subresource="scale",
            now=op.now(),
            models={_API_VERSION: apply_model(SCALE)},
            convert=_no_conversion,
        )
    scale["metadata"].pop("managedFields", None)
    if tracked:
        scale["metadata"]["managedFields"] = tracked


def _apply_scale(op: Operation, old: JsonObject, scale: JsonObject, entries: list[JsonObject]) -> JsonObject:
    """Return the object with the replicas, resourceVersion and managers of its Scale."""
    replicas = (scale.get("spec") or {}).get("replicas", 0)
    path = _paths(op)["specReplicasPath"]
    if replicas == _UNSET:
        raise errors.BadRequestError(f"the spec replicas field {go_quote(path)} cannot be empty")
    new = _with_value(old, split_path(path), replicas)
    meta = new["metadata"] = dict(old["metadata"])
    if requested := scale["metadata"].get("resourceVersion"):
        meta["resourceVersion"] = requested
    scale_entries = scale["metadata"].get("managedFields") or []
    entries = scale_managed_fields.to_parent(
        entries, scale_entries, api_version=op.version.api_version, paths=op.resource.replicas_paths
    )
    if entries:
        meta["managedFields"] = entries
    else:
        meta.pop("managedFields", None)
    return new


async def _respond(op: Operation, response_format: ResponseFormat, scale: JsonObject) -> Response:
    return await respond.object_response(op, response_format, 200, json_codec.encode_ordered(scale), SCALE.table)


def _decode_body(op: Operation, media: str) -> tuple[JsonObject, list[str]]:
    """Decode the Scale in the request body. Return the Scale and the messages of the strict decoder."""
    data = op.body
    try:
        if media == "yaml":
            value, _, strict_errors = yaml_codec.decode_strict(data)
        elif media == "protobuf":
            api_version, kind, message = decode_envelope(data)
            value, strict_errors = {**decode_message(message, SCALE), "apiVersion": api_version, "kind": kind}, []
        else:
            value = json_codec.decode(data, keep_fractions=True)
            strict_errors = json_codec.duplicate_field_errors(data, value)
        scale, unknown = _decode(value)
    except (errors.BadRequestError, yaml_codec.MalformedYAMLError, ProtobufError):
        raise errors.BadRequestError(_UNREGISTERED_TYPE) from None
    return scale, strict_errors + unknown


def _warn(op: Operation, strict_errors: list[str], field_validation: str) -> None:
    if field_validation == "Warn":
        for text in strict_errors:
            op.notes.warn(text)


def _decode(value: object) -> tuple[JsonObject, list[str]]:
    """Decode a Scale, which may omit apiVersion and kind. Return the Scale and messages about unknown fields."""
    requested, kind = json_codec.read_type_meta(value)
    api_version, kind = requested or _API_VERSION, kind or "Scale"
    if (api_version, kind) != (_API_VERSION, "Scale"):
        raise errors.BadRequestError(
            f'no kind "{kind}" is registered for version "{api_version}" in scheme "k8s.io/client-go/scale/util.go:146"'
        )
    typed = {**(value if isinstance(value, dict) else {}), "apiVersion": api_version, "kind": kind}
    scale, unknown = machinery.decode(typed, SCALE, report=True)
    return {**scale, "apiVersion": requested}, [f"unknown field {go_quote(path)}" for path in unknown]


def _decode_mutated(mutated: JsonObject) -> JsonObject:
    """Decode a Scale that mutating admission has changed.

    Raise UnknownReasonError with Go's conversion error if the Scale is malformed.
    """
    from polykind.apis.machinery import from_unstructured

    if not mutated.get("apiVersion"):
        raise errors.UnknownReasonError("Object 'apiVersion' is missing in 'unstructured object has no version'")
    if (mutated["apiVersion"], mutated["kind"]) != (_API_VERSION, "Scale"):
        raise errors.UnknownReasonError(
            f'no kind "{mutated["kind"]}" is registered for version "{mutated["apiVersion"]}" in scheme '
            '"k8s.io/client-go/kubernetes/scheme/register.go:82"'
        )
    if reason := from_unstructured.conversion_error(mutated, SCALE):
        raise errors.UnknownReasonError(
            f"unable to convert unstructured object to autoscaling/v1, Kind=Scale: {reason}"
        )
    return _decode(mutated)[0]


def _paths(op: Operation) -> JsonObject:
    if op.version.scale is None:
        raise AssertionError("no scale subresource")
    return op.version.scale


def _nested(obj: JsonObject, path: str, kind: type, name: str) -> Any:
    """Return the value at a path, or None if the path has no value.

    Raise UnknownReasonError if the type is unexpected.
    """
    value, problem = nested_value(obj, path, kind, name)
    if problem:
        raise errors.UnknownReasonError(problem)
    return value


def _int32(obj: JsonObject, path: str) -> int | None:
    """Return the integer at a path, truncated to 32 bits as in Go, or None if the path has no value."""
    value: int | None = _nested(obj, path, int, "int64")
    return value if value is None else (value + 2**31) % 2**32 - 2**31


def _with_value(obj: JsonObject, keys: list[str], value: int) -> JsonObject:
    """Return the object with a value at a path. Everything outside the path is shared with the original."""
    copy = parent = dict(obj)
    for at, key in enumerate(keys[:-1]):
        child = parent.get(key, {})
        if not isinstance(child, dict):
            where = ".".join(keys[: at + 1])
            raise errors.UnknownReasonError(f"value cannot be set because .{where} is not a map[string]interface{{}}")
        parent[key] = parent = dict(child)
    parent[keys[-1]] = value
    return copy


def _scale_of(op: Operation, obj: JsonObject) -> tuple[JsonObject, bool]:
    """Return the Scale of an object, and True if the object has replicas."""
    paths, meta = _paths(op), obj["metadata"]
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
