"""The changes of an object through its Scale: by a Scale in the request body, by a patch, and by an apply."""

from __future__ import annotations

from abc import abstractmethod

from polykind import errors
from polykind.apis import machinery
from polykind.apis.autoscaling.types import SCALE
from polykind.apis.machinery.apply_types import apply_model
from polykind.apply import apply_body, field_manager, json_patch, merge_patch, scale_managed_fields
from polykind.codec import json_codec
from polykind.contract import JsonObject
from polykind.operations.operation import Operation
from polykind.operations.options import PatchOptions, WriteOptions, manager_name
from polykind.resources.resource import JSON_PATCH
from polykind.verbs.admit import admit_scale
from polykind.verbs.apply import only_managers_changed, read_applied
from polykind.verbs.change import Change, check_uid
from polykind.verbs.metadata import check_name, match_namespace
from polykind.verbs.patches import decode_patch, patched_text
from polykind.verbs.scale_object import (
    API_VERSION,
    UNSET,
    decode_mutated,
    decode_scale,
    scale_of,
    warn,
    with_scale,
)
from polykind.verbs.write import Draft, Existing, Learnt

_NO_VERSION = "to proper version: request to convert CR to an invalid group/version: autoscaling/v1"
"""kube-apiserver's error when it treats a Scale as an object of the CRD and finds no version autoscaling/v1."""
_NO_MANAGERS = (
    "failed to create manager for existing fields: failed to convert live object (/; autoscaling/v1, Kind=Scale) "
    + _NO_VERSION
)
"""kube-apiserver's error for an apply of a Scale whose replicas have no manager yet."""


class ScaleChange(Change):
    """A change of an object through its Scale. Admission sees the Scale, and the field managers are those of it."""

    @abstractmethod
    async def new_scale(self, before: JsonObject) -> JsonObject:
        """Return the new Scale for an old one, with its managedFields."""

    async def change(self, old: Existing) -> Draft:
        op = self.op
        before, has_replicas = scale_of(op, old.obj)
        if not has_replicas:
            before["spec"] = {"replicas": UNSET}
        entries = old.obj["metadata"].get("managedFields") or []
        if scale_entries := scale_managed_fields.to_scale(entries, op.resource.replicas_paths):
            before["metadata"]["managedFields"] = scale_entries
        scale = await self.new_scale(before)
        scale = await admit_scale(op, scale, before, self.options, decode_mutated)
        return Draft(with_scale(op, old.obj, scale, entries), Learnt.RAW)

    async def track(self, draft: Draft, old: Existing) -> None:
        """Do nothing, because the managedFields of the Scale are tracked."""

    async def admit(self, draft: Draft, old: Existing) -> Draft:
        """Return the draft, because the Scale is admitted."""
        return draft

    def view(self, obj: JsonObject) -> JsonObject:
        return scale_of(self.op, obj)[0]


class SentScale(ScaleChange):
    """Replaces the Scale by the one in the request body."""

    def __init__(self, op: Operation, options: WriteOptions, scale: JsonObject) -> None:
        super().__init__(op, options)
        self._scale = scale

    async def change(self, old: Existing) -> Draft:
        # kube-apiserver checks the uid before it reads the object's replicas.
        check_uid(self.op, self._scale, old.obj, dry_run=self.options.dry_run)
        return await super().change(old)

    async def new_scale(self, before: JsonObject) -> JsonObject:
        scale = {**self._scale, "metadata": dict(self._scale["metadata"])}
        await _track(self.op, before, scale, self.options.field_manager)
        return scale


class PatchedScale(ScaleChange):
    """Applies a JSON patch or a merge patch to the Scale."""

    def __init__(self, op: Operation, options: WriteOptions, content_type: str) -> None:
        super().__init__(op, options)
        self._type = content_type

    async def new_scale(self, before: JsonObject) -> JsonObject:
        scale = await self.op.lane.run(self._patched, before)
        await _track(self.op, before, scale, self.options.field_manager)
        return scale

    def _patched(self, old: JsonObject) -> JsonObject:
        op, field_validation = self.op, self.options.field_validation
        patch, strict_errors, _ = decode_patch(op.body, self._type, field_validation, spelled=True)
        apply = json_patch.apply if self._type == JSON_PATCH else merge_patch.apply
        patched = apply(old, patch, lenient=field_validation == "Ignore")
        before, _ = machinery.decode(old, SCALE, report=False)
        shown = patched_text(before, op.body, patched, self._type)
        try:
            # Decode the text, so that the error reports the first invalid value in the text.
            scale, unknown = decode_scale(json_codec.decode_literal(shown.encode())[0])
            if (strict_errors := strict_errors + unknown) and field_validation == "Strict":
                raise errors.BadRequestError(f"strict decoding error: {', '.join(strict_errors)}")
        except errors.BadRequestError as error:
            reason = error.detail if isinstance(error, machinery.UndecodableObjectError) else error.message
            raise errors.InvalidError("", "", "", [errors.invalid("patch", shown, reason)]) from None
        warn(op, strict_errors, field_validation)
        match_namespace(op, scale["metadata"])
        check_name(op, scale)
        return scale


class AppliedScale(ScaleChange):
    """Applies a configuration to the Scale."""

    def __init__(self, op: Operation, options: PatchOptions) -> None:
        super().__init__(op, options)
        self._options = options

    async def new_scale(self, before: JsonObject) -> JsonObject:
        op, options = self.op, self._options
        applied = await read_applied(op, API_VERSION, "Scale")
        if not before["metadata"].get("managedFields"):
            raise errors.UnknownReasonError(_NO_MANAGERS)
        merged = await field_manager.apply(
            before,
            applied.value,
            manager=options.field_manager,
            force=options.force,
            api_version=API_VERSION,
            kind="Scale",
            subresource="scale",
            now=op.now(),
            models={API_VERSION: apply_model(SCALE)},
            convert=_no_conversion,
        )
        if not only_managers_changed(before, merged):
            # kube-apiserver fails on every applied Scale that changes a value. Only the managers can change.
            raise errors.UnknownReasonError(
                f"failed to convert new object ({apply_body.format_object(applied.value)}) {_NO_VERSION}"
            )
        applied.report_duplicates(op, options)
        scale, _ = decode_scale(merged)
        apply_body.check_name(scale, op.name)
        scale["metadata"]["name"] = op.name
        return scale


async def _no_conversion(_: JsonObject, __: str) -> JsonObject | None:
    return None


async def _track(op: Operation, before: JsonObject, scale: JsonObject, manager: str) -> None:
    """Set the managedFields of a Scale. A Scale without apiVersion loses its managers."""
    tracked: list[JsonObject] = []
    if scale["apiVersion"]:
        tracked = await field_manager.update(
            before,
            scale,
            manager=manager_name(manager, op.media.agent),
            api_version=API_VERSION,
            subresource="scale",
            now=op.now(),
            models={API_VERSION: apply_model(SCALE)},
            convert=_no_conversion,
        )
    scale["metadata"].pop("managedFields", None)
    if tracked:
        scale["metadata"]["managedFields"] = tracked
