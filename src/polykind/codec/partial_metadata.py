"""PartialObjectMetadata: what of an object is not its kind's own, in the order of keys that the reference writes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from polykind.contract import JsonObject
from polykind.errors import APIError, NotAcceptableError, UnknownReasonError

_METADATA = (
    "name",
    "generateName",
    "namespace",
    "selfLink",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
    "managedFields",
)
_OWNER = ("apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion")
_MANAGED = ("manager", "operation", "apiVersion", "time", "fieldsType", "fieldsV1", "subresource")


def ordered_metadata(value: Any) -> JsonObject:
    """An object's metadata with its keys in order; what is empty is left out."""
    out: JsonObject = {}
    if type(value) is not dict:
        return out
    for key in _METADATA:
        item = value.get(key)
        if item or (item == 0 and key == "deletionGracePeriodSeconds"):
            out[key] = item
    for key in ("labels", "annotations"):
        if key in out:
            out[key] = dict(sorted(out[key].items()))
    if "ownerReferences" in out:
        out["ownerReferences"] = [_ordered(item, _OWNER) for item in out["ownerReferences"]]
    if "managedFields" in out:
        out["managedFields"] = [_ordered(item, _MANAGED) for item in out["managedFields"]]
    return out


def _ordered(value: Any, keys: tuple[str, ...]) -> Any:
    return {key: value[key] for key in keys if key in value} if type(value) is dict else value


def partial_object(obj: JsonObject, version: str = "v1") -> JsonObject:
    """The PartialObjectMetadata of an object."""
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": f"meta.k8s.io/{version}",
        "metadata": ordered_metadata(obj.get("metadata")),
    }


def partial_list(objs: Iterable[JsonObject], list_metadata: JsonObject, version: str = "v1") -> JsonObject:
    """The PartialObjectMetadataList of a list's items."""
    return {
        "kind": "PartialObjectMetadataList",
        "apiVersion": f"meta.k8s.io/{version}",
        "metadata": ordered_list_metadata(list_metadata),
        "items": [partial_object(obj, version) for obj in objs] or None,
    }


def ordered_list_metadata(value: JsonObject) -> JsonObject:
    """A list's metadata with its keys in order; what is empty is left out."""
    out = {key: value[key] for key in ("resourceVersion", "continue") if value.get(key)}
    if value.get("remainingItemCount") is not None:
        out["remainingItemCount"] = value["remainingItemCount"]
    return out


def not_a_list_error(shown: str) -> APIError:
    """What a request for PartialObjectMetadataList of one object is told."""
    if shown == CUSTOM_OBJECT:
        return UnknownReasonError("content is not a list")
    return NotAcceptableError(
        f"you requested PartialObjectMetadataList, but the requested object is not a list ({shown})"
    )


def is_a_list_error(shown: str) -> NotAcceptableError:
    """What a request for PartialObjectMetadata of a list is told."""
    return NotAcceptableError(f"you requested PartialObjectMetadata, but the requested object is a list ({shown})")


CUSTOM_OBJECT, CUSTOM_LIST = "*unstructured.Unstructured", "*unstructured.UnstructuredList"
"""How the reference names a custom resource and a list of them in those refusals; others are as *core.NamespaceList."""
