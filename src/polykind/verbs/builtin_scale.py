"""The scale subresource of built-in workloads: the replicas and the selector of an object as a Scale."""

from __future__ import annotations

from functools import cache

from polykind import errors
from polykind.apis.autoscaling.types import SCALE
from polykind.apply import scale_managed_fields
from polykind.codec import json_codec
from polykind.contract import JsonObject
from polykind.operations.operation import Operation
from polykind.operations.options import PatchOptions, UpdateOptions
from polykind.operations.responses import Response
from polykind.resources.builtin import BuiltinResource, BuiltinStrategy
from polykind.resources.resource import APPLY_PATCH, ServedVersion
from polykind.schema import metadata_validation
from polykind.selectors.selector_objects import compile_label_selector
from polykind.verbs import respond
from polykind.verbs.admit import admit_scale
from polykind.verbs.apply import Apply, read_applied
from polykind.verbs.change import Change, change_object, check_uid
from polykind.verbs.get import read_object
from polykind.verbs.patch import patch_type
from polykind.verbs.patches import patch_of
from polykind.verbs.update import Replacement
from polykind.verbs.write import Draft, Existing, Learnt

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
    return await _change_scale(op, await Replacement.read(scale_op, options))


async def patch_scale(op: Operation) -> Response:
    scale_op = _scale_context(op)
    content_type = patch_type(scale_op)
    options = PatchOptions.from_query(op.query, apply=content_type == APPLY_PATCH)
    op.notes.record_patch()
    if content_type == APPLY_PATCH:
        applied = await read_applied(op, scale_op.version.api_version, SCALE.kind)
        return await _change_scale(op, Apply(scale_op, options, applied))
    return await _change_scale(op, patch_of(scale_op, content_type, options))


async def _change_scale(op: Operation, change: Change) -> Response:
    """Change an object through its Scale. Respond with its new Scale."""
    scale_op = change.op
    response_format = respond.negotiate(scale_op)
    scale = _scale_of(json_codec.decode(await change_object(_ScaleChange(op, change))))
    return await respond.object_response(scale_op, response_format, 200, json_codec.encode(scale))


class _ScaleChange(Change):
    """The change that a change of a Scale makes of its object. Admission sees the Scale."""

    def __init__(self, op: Operation, of_scale: Change) -> None:
        super().__init__(op, of_scale.options)
        self._of_scale = of_scale

    async def change(self, old: Existing) -> Draft:
        op, paths = self.op, self.op.resource.replicas_paths
        before = Existing(_scale_of(old.obj), old.cached)
        entries = old.obj["metadata"].get("managedFields") or []
        if scale_entries := scale_managed_fields.to_scale(entries, paths):
            before.obj["metadata"]["managedFields"] = scale_entries
        draft = await self._of_scale.change(before)
        if op.verb == "update":
            check_uid(op, draft.obj, old.obj, dry_run=self.options.dry_run)
        await self._of_scale.track(draft, before)
        scale = await admit_scale(op, draft.obj, before.obj, self.options, _decode_mutated)
        if field_errors := _validate(scale):
            raise errors.InvalidError(SCALE.kind, SCALE.group, op.name, field_errors)
        _check_scale_uid(op, scale, old.obj)
        replicas = (scale.get("spec") or {}).get("replicas", 0)
        managers = scale_managed_fields.to_parent(
            entries, scale["metadata"].get("managedFields") or [], api_version=op.version.api_version, paths=paths
        )
        revision = scale["metadata"].get("resourceVersion", "")
        meta = {**old.obj["metadata"], "resourceVersion": revision, "managedFields": managers}
        return Draft({**old.obj, "spec": {**old.obj["spec"], "replicas": replicas}, "metadata": meta}, Learnt.RAW)

    async def again(self) -> Change:
        return _ScaleChange(self.op, await self._of_scale.again())

    async def track(self, draft: Draft, old: Existing) -> None:
        """Do nothing, because the managedFields of the Scale are tracked."""

    async def admit(self, draft: Draft, old: Existing) -> Draft:
        """Return the draft, because the Scale is admitted."""
        return draft

    def view(self, obj: JsonObject) -> JsonObject:
        return _scale_of(obj)


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
