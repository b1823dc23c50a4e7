"""The admission stages of a write. Writes of the server itself have no user and skip admission."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from time import perf_counter
from typing import Any

from polykind import errors
from polykind.admission.attributes import CONNECT, CREATE, DELETE, UPDATE, Attributes, RequestResource
from polykind.apply import managed_fields
from polykind.apply.model import Type
from polykind.codec import json_codec
from polykind.contract import JsonObject
from polykind.golang.fmt import go_quote
from polykind.golang.query import first_value
from polykind.operations.operation import Operation
from polykind.operations.options import DeleteOptions, WriteOptions
from polykind.resources.resource import Resource
from polykind.schema import object_meta
from polykind.verbs.metadata import metadata_decode_error
from polykind.verbs.write import Draft, Existing, Learnt, Settled

_SCALE = ("Scale", "autoscaling/v1")
_INVALID_MANAGERS = (
    ".metadata.managedFields was in an invalid state after admission; this could be caused by an outdated mutating "
    "admission controller; please fix your requests: "
)


async def admit(op: Operation, draft: Draft, old: Existing | None, options: WriteOptions) -> Draft:
    """Run mutating admission on a create or an update. Return the draft, or another if admission has changed it."""
    if op.user is None or not (op.backend.admission.mutates or _has_plugins(op)):
        return draft
    view = await op.lane.run(op.version.strategy.for_admission, draft.obj)
    mutated = await _mutate(op, view, None if old is None else old.obj, options)
    if mutated is None:
        return draft
    error = ""
    if not op.version.is_builtin:
        error = await op.lane.run(metadata_decode_error, mutated["metadata"])
        mutated["metadata"], _ = await op.lane.run(partial(object_meta.coerce, mutated["metadata"], strict=False))
    await _restore_invalid_managers(op, mutated["metadata"], draft.obj["metadata"])
    return Draft(mutated, Learnt.RAW, metadata_error=error, applied=draft.applied)


def _has_plugins(op: Operation) -> bool:
    """True if built-in plugins handle this built-in resource. `mutates` covers plugins that handle all resources."""
    return op.version.is_builtin and op.backend.admission.has_plugins(op.resource.group, op.resource.plural)


async def admit_scale(
    op: Operation,
    scale: JsonObject,
    old: JsonObject,
    options: WriteOptions,
    decode_scale: Callable[[JsonObject], JsonObject],
) -> JsonObject:
    """Run mutating admission on a Scale. Return `scale`, or the Scale that admission has put in its place, decoded."""
    if not op.backend.admission.mutates or op.user is None:
        return scale
    mutated = await _mutate(op, scale, old, options, decode_scale)
    if mutated is None:
        return scale
    await _restore_invalid_managers(op, mutated["metadata"], scale["metadata"])
    return mutated


async def _mutate(
    op: Operation,
    obj: JsonObject,
    old: JsonObject | None,
    options: WriteOptions,
    default: Callable[[JsonObject], JsonObject] | None = None,
) -> JsonObject | None:
    """Return the object that mutating admission makes of `obj`, or None if admission changes nothing."""
    attributes = _attributes(op, CREATE if old is None else UPDATE, obj, old, options)
    if default is not None:
        attributes.default = default
    await _run_step(op, "admit", op.backend.admission.mutate, attributes)
    if not attributes.changed:
        return None
    if attributes.obj is None:
        raise AssertionError("mutating admission has removed the object")
    return attributes.obj


async def _restore_invalid_managers(op: Operation, meta: JsonObject, original: JsonObject) -> None:
    """If admission has made managedFields invalid, restore those of `original` and send a warning to the client."""
    if meta.get("managedFields") is original.get("managedFields"):
        return
    if reason := await op.lane.run(managed_fields.validation_error, meta.get("managedFields")):
        meta.pop("managedFields", None)
        if "managedFields" in original:
            meta["managedFields"] = original["managedFields"]
        op.notes.warn(_INVALID_MANAGERS + reason)


async def approve(op: Operation, obj: JsonObject, old: JsonObject | None, options: WriteOptions) -> None:
    """Run validating admission on a create (`old` is None) or an update."""
    admission = op.backend.admission
    if op.user is not None and (admission.validates or op.namespace in admission.quota_namespaces or _has_plugins(op)):
        attributes = _attributes(op, CREATE if old is None else UPDATE, obj, old, options)
        await _run_step(op, "validate", admission.validate, attributes)
        if attributes.charge is not None:
            op.charges.hold(attributes.charge)


async def charge_size(op: Operation, settled: Settled, size: int, *, dry_run: bool) -> None:
    """Charge the growth of a custom object to the quotas of its namespace. Raise ForbiddenError if one is exceeded."""
    growth = size - (settled.old.cached.stored_size if settled.old is not None else 0)
    if growth <= 0 or op.user is None or op.version.is_builtin or settled.learnt is Learnt.MARKED:
        return
    resource, name = op.resource, settled.obj["metadata"].get("name", "")
    charge = await op.backend.admission.charge_size(
        op.namespace or "", resource.group, resource.plural, name, growth, dry_run=dry_run
    )
    if charge is not None:
        op.charges.hold(charge)


async def approve_delete(op: Operation, old: JsonObject, options: DeleteOptions, *, named: bool) -> None:
    """Run mutating and validating admission on a delete. `named` is false if the URL names a collection."""
    admission = op.backend.admission
    if op.user is None or not (admission.mutates or admission.validates or _has_plugins(op)):
        return
    attributes = _attributes(op, DELETE, None, old, options)
    if not named:
        attributes.name = ""
    await _run_step(op, "admit", admission.mutate, attributes)
    await _run_step(op, "validate", admission.validate, attributes)


async def admit_connect(
    op: Operation, requested: JsonObject, decode: Callable[[JsonObject], tuple[JsonObject, list[str]]]
) -> JsonObject:
    """Run mutating and validating admission on a request that connects to a pod, a service or a node.

    `decode` decodes options, such as a PodExecOptions, and returns them with the unknown fields. Return the requested
    options as mutating admission has changed them.
    """
    options, _ = decode(requested)
    admission = op.backend.admission
    if op.user is None or not (admission.mutates or admission.validates):
        return options
    attributes = _attributes(op, CONNECT, options, None, None)
    attributes.default = lambda mutated: decode(mutated)[0]
    attributes.strict_error = lambda mutated: _unknown_fields_error(decode(mutated)[1])
    attributes.apply_type = lambda api_version: None
    await _run_step(op, "admit", admission.mutate, attributes)
    await _run_step(op, "validate", admission.validate, attributes)
    return attributes.obj or options


async def _run_step(
    op: Operation,
    kind: str,
    step: Callable[[Attributes], Coroutine[Any, Any, None]],
    attributes: Attributes,
) -> None:
    """Run an admission step and record its duration.

    `kind` is the value of the metric's label `type`.
    """
    started, rejected = perf_counter(), "true"
    try:
        await op.lane.run_async(step(attributes))
        rejected = "false"
    finally:
        seconds = op.backend.metrics.admission_step_seconds
        seconds.of(kind, attributes.operation, rejected).observe(perf_counter() - started)


def _attributes(
    op: Operation,
    operation: str,
    obj: JsonObject | None,
    old: JsonObject | None,
    options: WriteOptions | DeleteOptions | None,
) -> Attributes:
    """Return the attributes of a request. A CONNECT has no options; its object is the PodExecOptions or similar."""
    resource, version = op.resource, op.version
    payload = _SCALE if op.subresource == "scale" else (resource.kind, version.api_version)
    if operation == CONNECT and obj is not None:
        payload = obj["kind"], obj["apiVersion"]
    meta = (obj or old or {}).get("metadata") or {}
    name = op.name or meta.get("name") or ""
    return Attributes(
        operation,
        RequestResource(
            resource.group,
            version.version,
            resource.plural,
            op.subresource,
            *payload,
            resource.namespaced,
            tuple(resource.versions),
            op.backend.registry.equivalents(resource, op.subresource),
        ),
        op.namespace or (name if (resource.group, resource.plural) == ("", "namespaces") else ""),
        name,
        obj,
        old,
        None if options is None else _options_object(op, operation, options),
        options is not None and options.dry_run,
        op.client,
        version.representer.convert_for_admission,
        lambda mutated: _default(op, mutated),
        lambda: _namespace_object(op, obj, old),
        op.notes,
        deadline=op.deadline,
        apply_type=lambda api_version: _root_type(op, api_version),
        strict_error=lambda mutated: _strict_decode_error(op, mutated),
        authorizer=op.backend.authorizer,
        implied_type=version.is_builtin and op.subresource != "scale",
        compute=op.lane.run,
        grow=op.lane.grow,
    )


def _resource_at(op: Operation, api_version: str) -> Resource:
    """Return the resource that serves the request's objects at an apiVersion, possibly in another group."""
    group = api_version.rpartition("/")[0]
    if group == op.resource.group or api_version not in op.backend.registry.equivalents(op.resource, ""):
        return op.resource
    return op.backend.registry.resource_of_kind(group, op.resource.kind) or op.resource


def _root_type(op: Operation, api_version: str) -> Type | None:
    # As in kube-apiserver, the field types of a Scale are unknown, so an apply configuration of a policy fails.
    model = _resource_at(op, api_version).models.get(api_version) if op.subresource != "scale" else None
    return model.root if model is not None else None


def _strict_decode_error(op: Operation, obj: JsonObject) -> str:
    """Return the reason why kube-apiserver's strict decoder rejects an object that mutating admission has changed.

    Return "" if the decoder accepts the object, or if a later stage rejects it.
    """
    version = op.version
    if not version.is_builtin:
        return "" if isinstance(obj.get("metadata") or {}, dict) else "system metadata was not initialized"
    try:
        version.codec.check_kind(str(obj.get("kind")), str(obj.get("apiVersion")))
        decoded = version.codec.decode(json_codec.decode(json_codec.encode(obj)), report_unknown=True)
    except object_meta.BadObjectMetaError as error:
        return error.detail
    except errors.APIError:
        return ""
    return _unknown_fields_error(decoded.unknown_fields)


def _unknown_fields_error(paths: Sequence[str]) -> str:
    unknown = ", ".join(f"unknown field {go_quote(path)}" for path in paths)
    return f"strict decoding error: {unknown}" if unknown else ""


def _default(op: Operation, obj: JsonObject) -> JsonObject:
    """Set the defaults of an object that mutating admission has changed, with the schema of the object's apiVersion."""
    requested = obj.get("apiVersion")
    if op.version.is_builtin:
        op.version.codec.check_kind(obj["kind"], obj["apiVersion"])
    for version in _resource_at(op, requested or "").versions.values():
        if version.api_version == requested:
            metadata = obj.get("metadata")
            defaulted = version.codec.default(obj).obj
            if not version.is_builtin and isinstance(metadata, dict):
                # Keep invalid metadata unchanged until all webhooks have run.
                defaulted["metadata"] = metadata
            return defaulted
    obj["metadata"] = metadata if isinstance(metadata := obj.get("metadata"), dict) else {}
    return obj


def _options_object(op: Operation, operation: str, options: WriteOptions | DeleteOptions) -> JsonObject:
    """Return the CreateOptions, UpdateOptions or DeleteOptions for admission. A patch is a create or an update."""
    obj: JsonObject = {"kind": f"{operation.capitalize()}Options", "apiVersion": "meta.k8s.io/v1"}
    if options.dry_run:
        obj["dryRun"] = ["All"]
    if isinstance(options, DeleteOptions):
        conditions = {"uid": options.uid, "resourceVersion": options.resource_version}
        requested = {
            "gracePeriodSeconds": options.grace_period_seconds,
            "preconditions": {k: v for k, v in conditions.items() if v is not None} or None,
            "orphanDependents": options.orphan_dependents,
            "propagationPolicy": options.propagation_policy,
        }
    else:
        requested = {name: first_value(op.query, name) or None for name in ("fieldManager", "fieldValidation")}
    return obj | {name: value for name, value in requested.items() if value is not None}


def _namespace_object(op: Operation, obj: JsonObject | None, old: JsonObject | None) -> JsonObject | None:
    """Return the namespace of the request. For a write of a Namespace, return that Namespace itself."""
    if (op.resource.group, op.resource.plural) == ("", "namespaces"):
        return obj if obj is not None else old
    namespaces = op.backend.registry.resource("", "namespaces")
    if namespaces is None or not op.namespace:
        return None
    cached = namespaces.cache.get(op.namespace)
    return cached.decode() if cached is not None else None
