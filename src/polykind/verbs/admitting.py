"""Who else is asked before a write: admission, told of the request in its own words.

Of what the server does on nobody's behalf they are not asked.
"""

from __future__ import annotations

from collections.abc import Callable

from polykind import errors
from polykind.admission.attributes import CREATE, DELETE, UPDATE, Attributes, Resource
from polykind.apply import entries
from polykind.apply.model import Type
from polykind.codec import json_codec
from polykind.contract import JsonObject
from polykind.golang.fmt import go_quote
from polykind.http.messages import first_value
from polykind.http.options import DeleteOptions, WriteOptions
from polykind.schema import object_meta
from polykind.verbs.context import RequestContext

_SCALE = ("Scale", "autoscaling/v1")
_WRITTEN_OVER = frozenset(
    ("name", "namespace", "uid", "resourceVersion", "creationTimestamp", "generation", "selfLink")
)
_BAD_MANAGERS = (
    ".metadata.managedFields was in an invalid state after admission; this could be caused by an outdated mutating "
    "admission controller; please fix your requests: "
)


async def mutated(
    call: RequestContext,
    obj: JsonObject,
    old: JsonObject | None,
    options: WriteOptions,
    read: Callable[[JsonObject], JsonObject] | None = None,
) -> JsonObject:
    """What those who may change a create or an update make of it; `read` reads that anew, if no version does."""
    if not call.backend.admission.mutates or call.request.user is None:
        return obj
    told = call.version.strategy.for_admission(obj) if read is None else obj
    asked = _attributes(call, CREATE if old is None else UPDATE, told, old, options)
    if read is not None:
        asked.default = read
    await call.backend.admission.mutate(asked)
    if not asked.changed:
        return obj
    made = asked.obj
    if made is None:
        raise AssertionError("admission took the object away")
    call.whole, call.unread = False, {}
    if read is None and not call.version.is_builtin:
        call.misfit = misfit(made["metadata"])
        made["metadata"], _ = object_meta.coerce(made["metadata"], strict=False)
    if why := entries.complaint(made["metadata"].get("managedFields")):
        _restore_managers(made["metadata"], obj["metadata"])
        call.request.warn(_BAD_MANAGERS + why)
    return made


def _restore_managers(meta: JsonObject, before: JsonObject) -> None:
    meta.pop("managedFields", None)
    if "managedFields" in before:
        meta["managedFields"] = before["managedFields"]


async def approve(call: RequestContext, obj: JsonObject, old: JsonObject | None, options: WriteOptions) -> None:
    """Ask those who may refuse a create or an update."""
    if call.backend.admission.validates and call.request.user is not None:
        await call.backend.admission.validate(_attributes(call, CREATE if old is None else UPDATE, obj, old, options))


async def approve_deletion(call: RequestContext, old: JsonObject, options: DeleteOptions, *, named: bool) -> None:
    """Ask all of them about a deletion; `named`: the request names the object, and not a collection."""
    admission = call.backend.admission
    if not (admission.mutates or admission.validates) or call.request.user is None:
        return
    asked = _attributes(call, DELETE, None, old, options)
    if not named:
        asked.name = ""
    await admission.mutate(asked)
    await admission.validate(asked)


def _attributes(
    call: RequestContext,
    operation: str,
    obj: JsonObject | None,
    old: JsonObject | None,
    options: WriteOptions | DeleteOptions,
) -> Attributes:
    kind, version = call.resource, call.version
    payload = _SCALE if call.subresource == "scale" else (kind.kind, version.api_version)
    meta = (obj or old or {}).get("metadata") or {}
    name = call.name or meta.get("name") or ""
    return Attributes(
        operation,
        Resource(
            kind.group,
            version.version,
            kind.plural,
            call.subresource,
            *payload,
            kind.namespaced,
            tuple(kind.versions),
            tuple(name for name, one in kind.versions.items() if one.has(call.subresource)),
        ),
        call.namespace or (name if (kind.group, kind.plural) == ("", "namespaces") else ""),
        name,
        obj,
        old,
        _told(call, operation, options),
        options.dry_run,
        call.user,
        version.representer.convert_for_admission,
        lambda made: _defaulted(call, made),
        lambda: _namespace(call, obj, old),
        call.request.warn,
        patience=call.request.timeout,
        model=lambda api_version: _model(call, api_version),
        complaint=lambda made: _complaint(call, made),
        authorizer=call.backend.authorizer,
        typed=version.is_builtin and call.subresource != "scale",
    )


def _model(call: RequestContext, api_version: str) -> Type | None:
    # The reference finds no type for a Scale.
    found = call.resource.models.get(api_version) if call.subresource != "scale" else None
    return found.root if found is not None else None


def _complaint(call: RequestContext, obj: JsonObject) -> str:
    version = call.version
    if not version.is_builtin:
        return "" if isinstance(obj.get("metadata") or {}, dict) else "system metadata was not initialized"
    try:
        version.codec.check_kind(str(obj.get("kind")), str(obj.get("apiVersion")))
        unknown = version.codec.decode(json_codec.decode(json_codec.encode(obj)), report_unknown=True).unknown_fields
    except object_meta.BadObjectMetaError as error:
        return error.why
    except errors.APIError:
        # Whoever reads it next says so.
        return ""
    told = ", ".join(f"unknown field {go_quote(path)}" for path in unknown)
    return f"strict decoding error: {told}" if told else ""


def _defaulted(call: RequestContext, obj: JsonObject) -> JsonObject:
    """An object at whichever version it states, its defaults filled in."""
    stated = obj.get("apiVersion")
    if call.version.is_builtin:
        call.version.codec.check_kind(obj["kind"], obj["apiVersion"])
    for version in call.resource.versions.values():
        if version.api_version == stated:
            metadata = obj.get("metadata")
            made = version.codec.default(obj)
            if not version.is_builtin and isinstance(metadata, dict):
                # What does not fit stays until all have been asked.
                made["metadata"] = metadata
            return made
    obj["metadata"] = metadata if isinstance(metadata := obj.get("metadata"), dict) else {}
    return obj


def misfit(metadata: JsonObject) -> str:
    """What a decoder has against metadata, but for what the server writes over."""
    try:
        object_meta.coerce({name: value for name, value in metadata.items() if name not in _WRITTEN_OVER}, strict=True)
    except object_meta.BadObjectMetaError as error:
        return error.why
    return ""


def unread(given: JsonObject, read: JsonObject) -> JsonObject:
    """What of metadata is not as it is read, but for what the server writes over: what is empty, and what is misfit."""
    return {k: v for k, v in given.items() if k not in _WRITTEN_OVER and read.get(k, ...) != v}


def _told(call: RequestContext, operation: str, options: WriteOptions | DeleteOptions) -> JsonObject:
    """The options as the client stated them; those of a patch are those of what it comes to."""
    told: JsonObject = {"kind": f"{operation.capitalize()}Options", "apiVersion": "meta.k8s.io/v1"}
    if options.dry_run:
        told["dryRun"] = ["All"]
    if isinstance(options, DeleteOptions):
        conditions = {"uid": options.uid, "resourceVersion": options.resource_version}
        stated = {
            "gracePeriodSeconds": options.grace_period_seconds,
            "preconditions": {k: v for k, v in conditions.items() if v is not None} or None,
            "orphanDependents": options.orphan_dependents,
            "propagationPolicy": options.propagation_policy,
        }
    else:
        stated = {name: first_value(call.query, name) or None for name in ("fieldManager", "fieldValidation")}
    return told | {name: value for name, value in stated.items() if value is not None}


def _namespace(call: RequestContext, obj: JsonObject | None, old: JsonObject | None) -> JsonObject | None:
    if (call.resource.group, call.resource.plural) == ("", "namespaces"):
        return obj if obj is not None else old
    namespaces = call.backend.registry.kind("", "namespaces")
    if namespaces is None or not call.namespace:
        return None
    entry = namespaces.cache.get(call.namespace)
    return entry.decode() if entry is not None else None
