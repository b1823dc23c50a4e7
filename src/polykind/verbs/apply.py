"""apply: server-side apply, the merge of one field manager's intent into an object."""

from __future__ import annotations

from typing import Any

import msgspec

from polykind import errors
from polykind.apis.machinery.decoding import describe
from polykind.apply import apply_body, field_manager, last_applied
from polykind.codec import json_codec, yaml_codec
from polykind.contract import JsonObject
from polykind.names import path_segment
from polykind.operations.operation import Operation
from polykind.operations.options import CreateOptions, PatchOptions
from polykind.verbs.change import Change, change_object
from polykind.verbs.create import create_object
from polykind.verbs.metadata import ignore_resource_version, match_namespace, metadata_decode_error, raw_metadata
from polykind.verbs.patches import may_share_old
from polykind.verbs.write import Draft, Existing, Learnt

_YAML_ERROR = "error converting YAML to JSON: "


class AppliedConfiguration(msgspec.Struct, frozen=True):
    """The decoded body of a server-side apply request, and the messages about duplicate fields in it."""

    value: JsonObject
    duplicates: list[str]
    integers_only: bool = False
    """True if all numbers in the request's body are known to be integers. The merged object may then share values with
    the configuration.
    """

    def report_duplicates(self, op: Operation, options: PatchOptions) -> None:
        """Raise BadRequestError for duplicate fields or send warnings, as the option `field_validation` demands.

        Call this method after the merge, so that errors of the merge come first.
        """
        if not self.duplicates or options.field_validation == "Ignore":
            return
        if options.field_validation == "Strict":
            text = yaml_codec.strict_error(self.duplicates)
            raise errors.BadRequestError(f"error strict decoding YAML: {_YAML_ERROR}{text}")
        for message in self.duplicates:
            op.notes.warn(message)


async def read_applied(op: Operation, api_version: str, kind: str) -> AppliedConfiguration:
    """Decode the body of an apply (see `decode_applied`)."""
    limit = op.version.strategy.max_objects
    return await op.lane.read(op.body, decode_applied, op.body, api_version, kind, limit)


def decode_applied(data: bytes, api_version: str, kind: str, max_objects: int) -> AppliedConfiguration:
    """Decode the YAML or JSON body of an apply.

    Raise BadRequestError if the body is not of the request's kind, RequestTooLargeError if it has too many objects.
    """
    try:
        value, integers_only, duplicates = yaml_codec.decode_strict(data)
    except (errors.BadRequestError, yaml_codec.MalformedYAMLError) as error:
        raise errors.BadRequestError(f"error decoding YAML: {_YAML_ERROR}{error}") from None
    if value is None:
        value = {}
    if not isinstance(value, dict):
        raise errors.BadRequestError(
            "error decoding YAML: error unmarshaling JSON: while decoding JSON: "
            f"json: cannot unmarshal {describe(value)} into Go value of type map[string]interface {{}}"
        )
    if len(data) > 2 * max_objects:
        json_codec.check_object_count(value, max_objects)
    apply_body.check_kind(value, api_version, kind)
    return AppliedConfiguration(value, duplicates, integers_only)


async def apply(op: Operation, options: PatchOptions, *, all_versions: bool) -> tuple[int, bytes]:
    """Change the object that an operation names, or create it. Return the HTTP status and the representation."""
    await op.backend.cache.wait_until_fresh(op.resource.cache)
    missing = op.resource.cache.get(op.key) is None
    if missing and (op.subresource or path_segment(op.name) or all_versions):
        raise op.not_found()
    applied = await read_applied(op, op.version.api_version, op.resource.kind)
    if missing:
        return 201, await _create(op, applied, options)
    return 200, await change_object(Apply(op, options, applied), all_versions=all_versions)


class Apply(Change):
    """The change that an apply makes to an existing object."""

    def __init__(self, op: Operation, options: PatchOptions, applied: AppliedConfiguration) -> None:
        super().__init__(op, options)
        self._options = options
        self._applied = applied

    async def change(self, old: Existing) -> Draft:
        op, options, applied = self.op, self._options, self._applied
        merged = await op.lane.run_async(_merge(op, old.obj, applied.value, options))
        applied.report_duplicates(op, options)
        return await op.lane.run(self._finish, old, merged)

    def _finish(self, old: Existing, merged: JsonObject) -> Draft:
        """Return the merged object with its defaults or, if the apply changes nothing, the old object."""
        applied = self._applied
        kubectl = self.options.field_manager == last_applied.MANAGER
        ignores_last_applied = kubectl and last_applied.is_server_annotation(old.obj, merged, applied.value)
        only_managers = only_managers_changed(old.obj, merged, ignore_last_applied=ignores_last_applied)
        draft = _decode_merged(self.op, old, merged, integers_only=applied.integers_only, default=not only_managers)
        # If the resourceVersion differs, return the new object, so that a later stage rejects the conflict.
        meta, before = draft.obj["metadata"], old.obj["metadata"]
        same_revision = meta.get("resourceVersion") == before.get("resourceVersion")
        if same_revision and not draft.raw_metadata and field_manager.equal_ignoring_times(old.obj, draft.obj):
            # Copy the old object, because strategies may replace its fields.
            return Draft(dict(old.obj), draft.learnt, draft.integers_only, applied=True)
        return draft

    async def again(self) -> Change:
        if not self._applied.integers_only:
            return self
        # The first attempt may have set defaults in the configuration, whose values the merged object shares.
        applied = await read_applied(self.op, self.op.version.api_version, self.op.resource.kind)
        return Apply(self.op, self._options, applied)

    async def track(self, draft: Draft, old: Existing) -> None:
        """Do nothing, because the merge has set managedFields."""


async def _create(op: Operation, applied: AppliedConfiguration, options: PatchOptions) -> bytes:
    """Create the object that an apply describes. Return its representation."""
    merged = await op.lane.run_async(_merge(op, None, applied.value, options))
    applied.report_duplicates(op, options)
    meta = applied.value.get("metadata")
    uid = meta.get("uid") if isinstance(meta, dict) else None
    if uid:
        raise apply_body.uid_mismatch_error(op.resource.plural, op.resource.group, op.name, uid)
    draft = await op.lane.run(_decode_merged, op, None, merged)
    ignore_resource_version(draft.obj["metadata"], dry_run=options.dry_run)
    return await create_object(op, draft, CreateOptions(dry_run=options.dry_run))


async def _merge(op: Operation, live: JsonObject | None, applied: JsonObject, options: PatchOptions) -> JsonObject:
    """Merge the applied configuration into the live object and update managedFields."""
    merged = await field_manager.apply(
        live,
        applied,
        manager=options.field_manager,
        force=options.force,
        api_version=op.version.api_version,
        kind=op.resource.kind,
        subresource=op.subresource,
        now=op.now(),
        models=op.resource.models,
        convert=op.version.representer.convert,
        reset=op.resource.reset(op.version, op.subresource),
    )
    if op.version.is_builtin and (reason := op.version.codec.conversion_error(merged)):
        kind_text = apply_body.format_kind(op.version.api_version, op.resource.kind)
        raise errors.UnknownReasonError(
            f"failed to convert new object ({apply_body.format_object(applied)}) to proper version: "
            f"unable to convert unstructured object to {kind_text}: {reason}"
        )
    return merged


def _decode_merged(
    op: Operation, old: Existing | None, merged: JsonObject, *, integers_only: bool = False, default: bool = True
) -> Draft:
    """Check the merged object and return it as a draft. If `default` is true, also set its defaults.

    `integers_only` is true if the applied configuration is known to contain no floats.
    """
    if op.resource.namespaced:
        apply_body.check_namespace(merged, op.namespace or "")
    apply_body.check_name(merged, op.name)
    if old is not None and integers_only and may_share_old(op, old, merged):
        op.version.codec.check_default_size(op.body, merged)
        obj = {**merged, "metadata": dict(merged["metadata"])}
    else:
        obj, integers_only = _copy_merged(op, merged)
    if not default:
        match_namespace(op, obj["metadata"])
        return Draft(obj, Learnt.RAW, integers_only, applied=True)
    draft = _default(op, obj, integers_only)
    match_namespace(op, draft.obj["metadata"])
    return draft


def _copy_merged(op: Operation, merged: JsonObject) -> tuple[JsonObject, bool]:
    """Return a copy of the merged object, and True if it is known to contain no floats."""
    managers: Any = None
    if isinstance(meta := merged.get("metadata"), dict) and "managedFields" in meta:
        # The managers of many fields take much memory, and are no part of the applied configuration: do not copy them.
        managers = meta["managedFields"]
        merged = {**merged, "metadata": {name: value for name, value in meta.items() if name != "managedFields"}}
    encoded = json_codec.encode(merged)
    obj: JsonObject
    obj, integers_only = json_codec.decode_flagged(encoded)
    if managers is not None:
        obj["metadata"]["managedFields"] = managers
    op.version.codec.check_default_size(encoded, obj)
    return obj, integers_only


def _default(op: Operation, obj: JsonObject, integers_only: bool) -> Draft:
    """Set the defaults of a merged object, and coerce its metadata."""
    requested, codec = obj.get("metadata") or {}, op.version.codec
    decoded = codec.decode_converted(obj, report_unknown=False) if op.version.is_builtin else codec.default(obj)
    new, learnt = decoded.obj, Learnt.VALID if decoded.validated else Learnt.RAW
    if new["metadata"] is requested or op.version.is_builtin or op.subresource:
        return Draft(new, learnt, integers_only, applied=True)
    raw = raw_metadata(requested, new["metadata"])
    return Draft(new, learnt, integers_only, raw, metadata_decode_error(requested), applied=True)


def only_managers_changed(old: JsonObject, merged: JsonObject, *, ignore_last_applied: bool = False) -> bool:
    """True if `merged` differs from `old` only in managedFields and, if `ignore_last_applied` is true, in kubectl's
    last-applied annotation.
    """
    if old.keys() != merged.keys() or any(merged[key] is not old[key] for key in old if key != "metadata"):
        return False
    before, after = ({k: v for k, v in obj["metadata"].items() if k != "managedFields"} for obj in (old, merged))
    if before != after and ignore_last_applied:
        before, after = last_applied.without_annotation(before), last_applied.without_annotation(after)
    return before == after
