"""Stages of a write that handle metadata: namespace, name, resourceVersion, owners and field managers."""

from __future__ import annotations

from functools import partial

from polykind import errors, names
from polykind.apply import field_manager
from polykind.contract import JsonObject
from polykind.golang.fmt import go_quote
from polykind.operations.operation import Operation
from polykind.operations.options import WriteOptions, manager_name
from polykind.schema import metadata_validation, object_meta
from polykind.verbs.write import Draft, Existing, Learnt

_SERVER_FIELDS = frozenset(("creationTimestamp", "uid", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"))
"""Metadata fields that a client cannot set in a POST."""
_OVERWRITTEN = frozenset(("name", "namespace", "uid", "resourceVersion", "creationTimestamp", "generation", "selfLink"))
"""Metadata fields that the server sets on every write, so that invalid values of the client have no effect."""
_MAX_REVISION = 2**64 - 1
_MAX_DIGITS = 20

# ---------------------------------------------------------------------- namespace and name


async def check_namespace(op: Operation, name: str) -> None:
    """Raise NotFoundError if the namespace of a create does not exist, ForbiddenError if it is terminating."""
    if not op.resource.namespaced or op.namespace == "":
        # Validation rejects an object without a namespace.
        return
    namespaces = op.backend.registry.resource("", "namespaces")
    if namespaces is None:
        raise AssertionError("namespaces are always served")
    await op.backend.cache.load(namespaces.cache)
    namespace = op.namespace or ""
    cached = namespaces.cache.get(namespace)
    if cached is None:
        # Another replica may have created the namespace a moment ago.
        await op.backend.cache.wait_until_fresh(namespaces.cache)
        cached = namespaces.cache.get(namespace)
    if cached is None:
        if reasons := names.path_segment(namespace):
            # kube-apiserver looks the namespace up with an HTTP client, which rejects invalid path segments.
            raise errors.InternalError(f"invalid resource name {go_quote(namespace)}: [{' '.join(reasons)}]")
        raise errors.NotFoundError("namespaces", "", namespace)
    if cached.terminating():
        reason = f"unable to create new content in namespace {namespace} because it is being terminated"
        cause = {
            "reason": "NamespaceTerminating",
            "message": f"namespace {namespace} is being terminated",
            "field": "metadata.namespace",
        }
        raise errors.ForbiddenError(op.resource.plural, op.resource.group, name, reason, causes=[cause])


def match_namespace(op: Operation, meta: JsonObject) -> None:
    """Set metadata.namespace to the namespace in the URL. Raise BadRequestError if `meta` has another namespace."""
    if not op.resource.namespaced:
        meta.pop("namespace", None)
        return
    requested = meta.get("namespace")
    if requested and op.namespace and requested != op.namespace:
        raise errors.BadRequestError(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    meta["namespace"] = op.namespace or ""


def check_name(op: Operation, obj: JsonObject) -> None:
    """Raise BadRequestError if the object's name differs from the name in the URL."""
    name = obj["metadata"].get("name")
    if not name:
        raise errors.BadRequestError(
            f"the name of the object ({op.name} based on URL) was undeterminable: name must be provided"
        )
    if name != op.name:
        raise errors.BadRequestError(f"the name of the object ({name}) does not match the name on the URL ({op.name})")


# ---------------------------------------------------------------------- resourceVersion


def parse_resource_version(text: str, *, for_list: bool) -> int:
    """Return the revision that a resourceVersion denotes, or 0 for an empty text.

    Raise an error for a malformed text: BadRequestError if `for_list` is true, else UnknownReasonError.
    """
    if not text:
        return 0
    reason = resource_version_error(text)
    if not reason:
        return int(text.lstrip("0") or 0)
    message = f"resourceVersion: Invalid value: {go_quote(text)}: {reason}"
    if for_list:
        raise errors.BadRequestError(f"invalid resource version: {message}")
    raise errors.UnknownReasonError(message)


def resource_version_error(text: str) -> str:
    """Return the reason, in the words of Go's ParseUint, why a text is not a resourceVersion.

    Return "" if it is valid.
    """
    if text.isascii() and text.isdigit():
        digits = text.lstrip("0")
        reason = "value out of range" if len(digits) > _MAX_DIGITS or int(digits or 0) > _MAX_REVISION else ""
    else:
        reason = "invalid syntax"
    return f"strconv.ParseUint: parsing {go_quote(text)}: {reason}" if reason else ""


def ignore_resource_version(meta: JsonObject, *, dry_run: bool) -> None:
    """Remove the resourceVersion of an object that a PUT or an apply creates. Raise an error if it is malformed.

    A dry run keeps the resourceVersion, because the response shows it.
    """
    requested = meta.get("resourceVersion", "")
    if requested and (reason := resource_version_error(requested)):
        raise errors.UnknownReasonError(reason)
    if not dry_run:
        meta.pop("resourceVersion", None)


# ---------------------------------------------------------------------- owners and field managers


async def dedupe_owners(op: Operation, meta: JsonObject, *, after_admission: bool = False) -> None:
    """Drop duplicate owner references and send a warning. The text of the warning depends on `after_admission`."""
    if not meta.get("ownerReferences"):
        return
    dedupe = partial(metadata_validation.dedupe_owner_references, meta, after_admission=after_admission)
    for warning in await op.lane.run(dedupe):
        op.notes.warn(warning)


async def track_create(op: Operation, draft: Draft, options: WriteOptions, *, wipe: bool = True) -> None:
    """Set managedFields for a create. For a POST, if `wipe` is true, first remove the fields that only the server can
    set.
    """
    meta = draft.obj["metadata"]
    if op.verb == "create" and wipe:
        for name in _SERVER_FIELDS & meta.keys():
            del meta[name]
    _set_managers(meta, await op.lane.run_async(_track(op, draft, None, options)))


async def track_update(op: Operation, draft: Draft, old: Existing, options: WriteOptions) -> None:
    """Set managedFields for an update or a patch.

    Clear managedFields if the object has an unknown kind or apiVersion.
    """
    new = draft.obj
    known = new.get("kind") == op.resource.kind and new.get("apiVersion") in op.resource.models
    managers = await op.lane.run_async(_track(op, draft, old.obj, options)) if known else []
    _set_managers(new["metadata"], managers)


def _set_managers(meta: JsonObject, managed_fields: list[JsonObject]) -> None:
    if managed_fields:
        meta["managedFields"] = managed_fields
    else:
        meta.pop("managedFields", None)


async def _track(op: Operation, draft: Draft, old: JsonObject | None, options: WriteOptions) -> list[JsonObject]:
    return await field_manager.update(
        old,
        draft.obj,
        manager=manager_name(options.field_manager, op.media.agent),
        api_version=op.version.api_version,
        subresource=op.subresource,
        now=op.now(),
        models=op.resource.models,
        convert=op.version.representer.convert,
        reset=op.resource.reset(op.version, op.subresource),
        raise_conversion_errors=op.version.representer.has_fallback,
        validated=draft.learnt is Learnt.VALID,
    )


def keep_manager_times(new: JsonObject, old: JsonObject) -> None:
    """Keep the old managedFields if only their times differ, so that the write changes nothing."""
    if "managedFields" in old["metadata"] and field_manager.equal_ignoring_times(old, new):
        new["metadata"]["managedFields"] = old["metadata"]["managedFields"]


# ---------------------------------------------------------------------- metadata that a merge or a webhook produced


def metadata_decode_error(metadata: JsonObject) -> str:
    """Return the reason why Go's decoder rejects metadata fields, "" if it accepts them.

    Ignore fields that the server overwrites.
    """
    try:
        object_meta.coerce({name: value for name, value in metadata.items() if name not in _OVERWRITTEN}, strict=True)
    except object_meta.BadObjectMetaError as error:
        return error.detail
    return ""


def raw_metadata(requested: JsonObject, coerced: JsonObject) -> JsonObject:
    """Return the metadata fields that coercion has changed, such as empty maps and values of a wrong type."""
    return {k: v for k, v in requested.items() if k not in _OVERWRITTEN and coerced.get(k, ...) != v}
