"""apply: server-side apply, the merge of one field manager's intent into an object."""

from __future__ import annotations

from functools import partial
from typing import Any

import msgspec

from polykind import errors
from polykind.apis.machinery.decoding import describe
from polykind.apply import apply_body, field_manager, last_applied
from polykind.codec import json_codec, yaml_codec
from polykind.contract import JsonObject
from polykind.operations.operation import Operation
from polykind.operations.options import CreateOptions, PatchOptions
from polykind.verbs.create import create_object
from polykind.verbs.metadata import ignore_resource_version, match_namespace, metadata_decode_error, raw_metadata
from polykind.verbs.update import Change, may_share_old
from polykind.verbs.write import APPLY, Write

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
    """Decode the body of an apply (see `decode_applied`), in a worker thread if the body is large."""
    decode = partial(decode_applied, op.body, api_version, kind, op.version.strategy.max_objects)
    return await op.lane.run_in_worker(decode) if op.body_is_large else decode()


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


def apply_change(op: Operation, applied: AppliedConfiguration, options: PatchOptions) -> Change:
    """Return the change that an apply makes to an existing object."""
    unmodified = [applied]

    async def change(old: JsonObject, write: Write) -> JsonObject:
        if not unmodified:
            # An earlier attempt lost a race. It may have set defaults in the configuration, so decode it again.
            unmodified.append(await read_applied(op, op.version.api_version, op.resource.kind))
        config = unmodified.pop() if applied.integers_only else applied
        write.integers_only = config.integers_only
        merging = _merge(op, old, config.value, options)
        merged = await (op.lane.run_async_in_worker(merging) if write.large else merging)
        config.report_duplicates(op, options)
        if write.large:
            return await op.lane.run_in_worker(partial(finish_change, old, write, config, merged))
        return finish_change(old, write, config, merged)

    def finish_change(old: JsonObject, write: Write, config: AppliedConfiguration, merged: JsonObject) -> JsonObject:
        kubectl = options.field_manager == last_applied.MANAGER
        ignores_last_applied = kubectl and last_applied.is_server_annotation(old, merged, config.value)
        only_managers = only_managers_changed(old, merged, ignore_last_applied=ignores_last_applied)
        new = _decode_merged(op, write, merged, default=not only_managers)
        # If the resourceVersion differs, return the new object, so that a later stage rejects the conflict.
        same_revision = new["metadata"].get("resourceVersion") == old["metadata"].get("resourceVersion")
        if same_revision and not write.raw_metadata and field_manager.equal_ignoring_times(old, new):
            return old
        return new

    return change


async def apply_create(op: Operation, applied: AppliedConfiguration, options: PatchOptions) -> bytes:
    """Create the object that an apply request describes. Return its representation."""
    large = op.body_is_large
    merging = _merge(op, None, applied.value, options)
    merged = await (op.lane.run_async_in_worker(merging) if large else merging)
    applied.report_duplicates(op, options)
    meta = applied.value.get("metadata")
    uid = meta.get("uid") if isinstance(meta, dict) else None
    if uid:
        raise apply_body.uid_mismatch_error(op.resource.plural, op.resource.group, op.name, uid)
    write = Write({}, APPLY, CreateOptions(dry_run=options.dry_run), normalized=False)
    write.large = large
    decode = partial(_decode_merged, op, write, merged, default=True)
    write.obj = await op.lane.run_in_worker(decode) if large else decode()
    ignore_resource_version(write.obj["metadata"], dry_run=options.dry_run)
    return await create_object(op, write)


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


def _decode_merged(op: Operation, write: Write, merged: JsonObject, *, default: bool) -> JsonObject:
    """Check and return the merged object. If `default` is true, also set its defaults."""
    if op.resource.namespaced:
        apply_body.check_namespace(merged, op.namespace or "")
    apply_body.check_name(merged, op.name)
    managers: Any = None
    if write.large and isinstance(meta := merged.get("metadata"), dict):
        # The managers of many fields take much memory, and are no part of the applied configuration: do not copy them.
        managers = meta.get("managedFields")
        merged = {**merged, "metadata": {name: value for name, value in meta.items() if name != "managedFields"}}
    obj: JsonObject
    if may_share_old(op, write, merged):
        obj = {**merged, "metadata": dict(merged["metadata"])}
    else:
        encoded = json_codec.encode(merged)
        obj, write.integers_only = json_codec.decode_flagged(encoded)
        if managers is not None:
            obj["metadata"]["managedFields"] = managers
        if write.large:
            op.version.codec.check_default_size(encoded, obj)
    if default:
        requested = obj.get("metadata") or {}
        codec = op.version.codec
        decoded = codec.decode_converted(obj, report_unknown=False) if op.version.is_builtin else codec.default(obj)
        obj, _, write.values_validated = decoded
        if obj["metadata"] is not requested and not (op.version.is_builtin or op.subresource):
            write.metadata_error = metadata_decode_error(requested)
            write.raw_metadata = raw_metadata(requested, obj["metadata"])
        write.normalized = write.values_validated and not write.raw_metadata
    match_namespace(op, obj["metadata"])
    return obj


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
