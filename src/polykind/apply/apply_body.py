"""Checks of the body of an apply request."""

from __future__ import annotations

from typing import Any

from polykind import errors
from polykind.apply import managed_fields
from polykind.contract import JsonObject


def check_body(applied: JsonObject, api_version: str, kind: str) -> None:
    """Raise BadRequestError if the body sets managedFields, or has another kind or apiVersion than the URL."""
    check_kind(applied, api_version, kind)
    metadata = applied.get("metadata")
    entries = metadata.get("managedFields") if isinstance(metadata, dict) else None
    # Like kube-apiserver, ignore managedFields with entries that cannot be decoded.
    if isinstance(entries, list) and all(map(managed_fields.has_entry_types, entries)):
        raise errors.BadRequestError("metadata.managedFields must be nil")


def check_kind(applied: JsonObject, api_version: str, kind: str) -> None:
    """Raise BadRequestError if the body has another kind or apiVersion than the resource in the URL."""
    if applied.get("apiVersion") == api_version and applied.get("kind") == kind:
        return
    kind_in_body = format_kind(applied.get("apiVersion"), applied.get("kind"))
    if kind_in_body != format_kind(api_version, kind):
        raise errors.BadRequestError(f"invalid object type: {kind_in_body}")


def format_kind(api_version: Any, kind: Any) -> str:
    """Format a kind as kube-apiserver does: group/version, Kind=Kind"""
    version = api_version if isinstance(api_version, str) else ""
    if version.count("/") > 1:
        return "/, Kind="
    group, _, version = version.rpartition("/")
    return f"{group}/{version}, Kind={kind if isinstance(kind, str) else ''}"


def format_object(applied: JsonObject) -> str:
    """Format an object as kube-apiserver does in errors: namespace/name; group/version, Kind=Kind"""
    metadata = applied.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    namespace_and_name = "/".join(v if isinstance(v := metadata.get(k), str) else "" for k in ("namespace", "name"))
    return f"{namespace_and_name}; {format_kind(applied.get('apiVersion'), applied.get('kind'))}"


def check_name(merged: JsonObject, name: str) -> None:
    """Raise BadRequestError if the object has no name or a name that differs from the name in the URL."""
    metadata = merged.get("metadata")
    value = metadata.get("name") if isinstance(metadata, dict) else None
    if not value:
        message = f"the name of the object ({name} based on URL) was undeterminable: name must be provided"
        raise errors.BadRequestError(message)
    if value != name:
        raise errors.BadRequestError(f"the name of the object ({value}) does not match the name on the URL ({name})")


def check_namespace(merged: JsonObject, namespace: str) -> None:
    """Raise BadRequestError if the object has a namespace that differs from the namespace in the URL."""
    metadata = merged.get("metadata")
    value = metadata.get("namespace") if isinstance(metadata, dict) else None
    if value and value != namespace:
        raise errors.BadRequestError(
            "the namespace of the provided object does not match the namespace sent on the request"
        )


def uid_mismatch_error(resource: str, group: str, name: str, uid: str) -> errors.ConflictError:
    """Return the error for an apply whose body has a uid, although no object with the name exists."""
    message = f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
    return errors.conflict(resource, group, name, message)
