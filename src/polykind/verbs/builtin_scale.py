"""The scale subresource of built-in workloads: the replicas and the selector of an object as a Scale."""

from __future__ import annotations

from functools import cache

from polykind import errors
from polykind.apis.autoscaling.types import SCALE
from polykind.apply import scale_managed_fields
from polykind.codec import json_codec
from polykind.contract import JsonObject
from polykind.operations.operation import Operation
from polykind.operations.options import PatchOptions, UpdateOptions, WriteOptions
from polykind.operations.responses import Response
from polykind.resources.builtin import BuiltinResource, BuiltinStrategy
from polykind.resources.resource import APPLY_PATCH, ServedVersion
from polykind.schema import metadata_validation
from polykind.selectors.selector_objects import compile_label_selector
from polykind.verbs import respond
from polykind.verbs.admit import admit_scale
from polykind.verbs.apply import apply_change, read_applied
from polykind.verbs.decode import decode
from polykind.verbs.get import read_object
from polykind.verbs.metadata import check_name, match_namespace, track_update
from polykind.verbs.patch import patch_change, patch_type
from polykind.verbs.update import Change, change_object, check_uid
from polykind.verbs.write import PUT, SCALE_PATCH, SCALE_PUT, Origin, Write

_META = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


class _ScaleResource(BuiltinResource):
    """The resource of Scales, which are not stored. Verbs use it to decode, patch and track Scales like built-in
    objects.
    """

    def __init__(self) -> None:
        super().__init__(None, SCALE)
        self.namespaced = True


@cache
def _scale_version() -> ServedVersion:
    return _ScaleResource().serve(SCALE, BuiltinStrategy(SCALE))


def _scale_context(op: Operation) -> Operation:
    """Return a context for the same request in which the body is a Scale."""
    return op.at(_scale_version(), namespace=op.namespace, name=op.name, subresource=op.subresource)


async def get_scale(op: Operation) -> Response:
    scale_op = _scale_context(op)
    response_format = respond.negotiate(scale_op)
    scale = _scale_of(json_codec.decode((await read_object(op)).data))
    return await respond.object_response(scale_op, response_format, 200, json_codec.encode(scale))


async def update_scale(op: Operation) -> Response:
    scale_op = _scale_context(op)
    options = UpdateOptions.from_query(op.query)
    scale = await _decode_update(scale_op, options)
    decoded = [scale]

    async def replace(_: JsonObject, write: Write) -> JsonObject:
        # If an attempt lost a race, decode the body again, because that attempt has modified the Scale.
        return decoded.pop() if decoded else await _decode_update(scale_op, options)

    return await _change_scale(op, scale_op, replace, options, SCALE_PUT)


async def _decode_update(op: Operation, options: UpdateOptions) -> JsonObject:
    scale = (await decode(op, PUT, options)).obj
    match_namespace(op, scale["metadata"])
    check_name(op, scale)
    return scale


async def patch_scale(op: Operation) -> Response:
    scale_op = _scale_context(op)
    content_type = patch_type(scale_op)
    options = PatchOptions.from_query(op.query, apply=content_type == APPLY_PATCH)
    op.notes.record_patch()
    if content_type == APPLY_PATCH:
        applied = await read_applied(op, scale_op.version.api_version, SCALE.kind)
        change = apply_change(scale_op, applied, options)
        return await _change_scale(op, scale_op, change, options, SCALE_PATCH, tracked=True)
    change = patch_change(scale_op, content_type, options.field_validation)
    return await _change_scale(op, scale_op, change, options, SCALE_PATCH)


async def _change_scale(
    op: Operation,
    scale_op: Operation,
    change: Change,
    options: WriteOptions,
    origin: Origin,
    *,
    tracked: bool = False,
) -> Response:
    """Change an object through its Scale. `tracked` is true if the change itself sets managedFields."""
    response_format = respond.negotiate(scale_op)
    paths = op.resource.replicas_paths

    async def change_through_scale(old: JsonObject, write: Write) -> JsonObject:
        before = _scale_of(old)
        entries = old["metadata"].get("managedFields") or []
        if scale_entries := scale_managed_fields.to_scale(entries, paths):
            before["metadata"]["managedFields"] = scale_entries
        scale_write = Write({}, origin, options, before, large=write.large)
        scale_write.obj = await change(before, scale_write)
        if origin.replaces:
            check_uid(op, scale_write.obj, old, dry_run=options.dry_run)
        if not tracked:
            await track_update(scale_op, scale_write)
        scale = await admit_scale(op, scale_write.obj, before, write, _decode_mutated)
        if field_errors := _validate(scale):
            raise errors.InvalidError(SCALE.kind, SCALE.group, op.name, field_errors)
        _check_scale_uid(op, scale, old)
        new = {**old, "spec": {**old["spec"], "replicas": (scale.get("spec") or {}).get("replicas", 0)}}
        meta = new["metadata"] = {**old["metadata"], "resourceVersion": scale["metadata"].get("resourceVersion", "")}
        meta["managedFields"] = scale_managed_fields.to_parent(
            entries,
            scale["metadata"].get("managedFields") or [],
            api_version=op.version.api_version,
            paths=paths,
        )
        return new

    data = await change_object(op, change_through_scale, options, origin, _scale_of)
    scale = _scale_of(json_codec.decode(data))
    return await respond.object_response(scale_op, response_format, 200, json_codec.encode(scale))


def _check_scale_uid(op: Operation, scale: JsonObject, old: JsonObject) -> None:
    """Raise ConflictError if a patch or a mutating webhook has given the Scale another uid than the workload's."""
    wanted, actual = scale["metadata"].get("uid"), old["metadata"]["uid"]
    if wanted and wanted != actual:
        reason = f"Precondition failed: UID in precondition: {wanted}, UID in object meta: {actual}"
        raise errors.conflict(f"{op.resource.plural}/scale", op.resource.group, op.name, reason)


def _decode_mutated(mutated: JsonObject) -> JsonObject:
    """Decode a Scale that mutating admission has changed."""
    return _scale_version().codec.decode(mutated, report_unknown=False).obj


def _validate(scale: JsonObject) -> list[errors.FieldError]:
    field_errors = metadata_validation.validate_object_meta(scale["metadata"], namespaced=True)
    replicas = (scale.get("spec") or {}).get("replicas", 0)
    if replicas < 0:
        field_errors.append(errors.invalid("spec.replicas", replicas, "must be greater than or equal to 0"))
    return field_errors


def _scale_of(obj: JsonObject) -> JsonObject:
    """Return the Scale of a workload."""
    meta, spec, status = obj["metadata"], obj["spec"], obj.get("status") or {}
    selector = spec.get("selector") or {}
    if obj["kind"] == "ReplicationController":
        selector = {"matchLabels": selector}
    text = str(compile_label_selector(selector))
    replicas = spec.get("replicas", 0)
    return {
        "kind": SCALE.kind,
        "apiVersion": SCALE.group_version.api_version,
        "metadata": {name: meta[name] for name in _META if name in meta},
        "spec": {"replicas": replicas} if replicas else {},
        "status": {"replicas": status.get("replicas", 0), **({"selector": text} if text else {})},
    }
