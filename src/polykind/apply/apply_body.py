"""What the body of an apply must be."""

from __future__ import annotations

from typing import Any

from polykind import errors
from polykind.apply import managed_fields
from polykind.contract import JsonObject


def check_body(applied: JsonObject, api_version: str, kind: str) -> None:
    """Refuses the body of an apply that is not of the kind and version of the request, or that states managedFields."""
    check_kind(applied, api_version, kind)
    metadata = applied.get("metadata")
    listed = metadata.get("managedFields") if isinstance(metadata, dict) else None
    # Entries that cannot be read are none at all.
    if isinstance(listed, list) and all(map(managed_fields.has_entry_types, listed)):
        raise errors.BadRequestError("metadata.managedFields must be nil")


def check_kind(applied: JsonObject, api_version: str, kind: str) -> None:
    """Refuses the body of an apply that is not of the kind and version of the request."""
    named = format_kind(applied.get("apiVersion"), applied.get("kind"))
    if named != format_kind(api_version, kind):
        raise errors.BadRequestError(f"invalid object type: {named}")


def format_kind(api_version: Any, kind: Any) -> str:
    """A kind as the reference shows it: group/version, Kind=Kind"""
    version = api_version if isinstance(api_version, str) else ""
    if version.count("/") > 1:
        return "/, Kind="
    group, _, version = version.rpartition("/")
    return f"{group}/{version}, Kind={kind if isinstance(kind, str) else ''}"


def format_object(applied: JsonObject) -> str:
    """An object as the reference names it where something fails: namespace/name; group/version, Kind=Kind"""
    metadata = applied.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    where = "/".join(v if isinstance(v := metadata.get(k), str) else "" for k in ("namespace", "name"))
    return f"{where}; {format_kind(applied.get('apiVersion'), applied.get('kind'))}"


def check_name(merged: JsonObject, name: str) -> None:
    """Refuses a name other than that of the URL. An object that is there has one; a new one must state it."""
    metadata = merged.get("metadata")
    stated = metadata.get("name") if isinstance(metadata, dict) else None
    if not stated:
        why = f"the name of the object ({name} based on URL) was undeterminable: name must be provided"
        raise errors.BadRequestError(why)
    if stated != name:
        raise errors.BadRequestError(f"the name of the object ({stated}) does not match the name on the URL ({name})")


def check_namespace(merged: JsonObject, namespace: str) -> None:
    """Refuses a namespace other than that of the request; none at all is taken from there."""
    metadata = merged.get("metadata")
    stated = metadata.get("namespace") if isinstance(metadata, dict) else None
    if stated and stated != namespace:
        raise errors.BadRequestError(
            "the namespace of the provided object does not match the namespace sent on the request"
        )


def uid_mismatch_error(resource: str, group: str, name: str, uid: str) -> errors.ConflictError:
    """The answer to an apply that names the uid of an object that does not exist."""
    why = f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
    return errors.conflict(resource, group, name, why)
