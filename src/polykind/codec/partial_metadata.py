"""PartialObjectMetadata and its list, with the keys in kube-apiserver's order."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from polykind.contract import JsonObject
from polykind.errors import APIError, NotAcceptableError, UnknownReasonError

_METADATA_KEYS = (
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
_OWNER_REFERENCE_KEYS = ("apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion")
_MANAGED_FIELDS_KEYS = ("manager", "operation", "apiVersion", "time", "fieldsType", "fieldsV1", "subresource")

_FIELD_ANNOTATIONS = {
    ("apps/v1", "DaemonSet"): ("deprecated.daemonset.template.generation",),
    ("apps/v1", "Deployment"): ("deprecated.deployment.rollback.to",),
    ("autoscaling/v1", "HorizontalPodAutoscaler"): (
        "autoscaling.alpha.kubernetes.io/metrics",
        "autoscaling.alpha.kubernetes.io/current-metrics",
        "autoscaling.alpha.kubernetes.io/conditions",
        "autoscaling.alpha.kubernetes.io/behavior",
    ),
}
"""Annotations that store values of fields that exist only in other versions of the kind, by apiVersion and kind.

PartialObjectMetadata does not contain them, because kube-apiserver's internal object has the fields instead.
"""


def may_have_hidden_annotations(data: bytes) -> bool:
    """True if the JSON of an object may contain annotations that PartialObjectMetadata does not."""
    return b'"deprecated.d' in data or b'"autoscaling.alpha.kubernetes.io/' in data


def ordered_metadata(value: Any) -> JsonObject:
    """Return an object's metadata without empty values, with its keys in kube-apiserver's order."""
    out: JsonObject = {}
    if type(value) is not dict:
        return out
    for key in _METADATA_KEYS:
        item = value.get(key)
        if item or (item == 0 and key == "deletionGracePeriodSeconds"):
            out[key] = item
    for key in ("labels", "annotations"):
        if key in out:
            out[key] = dict(sorted(out[key].items()))
    if "ownerReferences" in out:
        out["ownerReferences"] = [_ordered(item, _OWNER_REFERENCE_KEYS) for item in out["ownerReferences"]]
    if "managedFields" in out:
        out["managedFields"] = [_ordered(item, _MANAGED_FIELDS_KEYS) for item in out["managedFields"]]
    return out


def _struct(name: str, keys: Iterable[str], lists: dict[str, Any]) -> Any:
    """Return a type that decodes these keys without a look at their values, and encodes them in this order.

    The values of the keys in `lists` are lists of the given types.
    """
    types: dict[str, Any] = {key: list[item] for key, item in lists.items()}  # type: ignore[valid-type]
    return msgspec.defstruct(
        name, [(key, types.get(key, msgspec.Raw) | msgspec.UnsetType, msgspec.UNSET) for key in keys]
    )


_METADATA_TYPE: Final = _struct(
    "Metadata",
    _METADATA_KEYS,
    {
        "ownerReferences": _struct("OwnerReference", _OWNER_REFERENCE_KEYS, {}),
        "managedFields": _struct("ManagedFieldsEntry", _MANAGED_FIELDS_KEYS, {}),
    },
)
_decode_metadata = msgspec.json.Decoder(msgspec.defstruct("Object", [("metadata", _METADATA_TYPE)])).decode
_needs_a_look = re.compile(
    rb':(?:""|\{\}|\[\]|null|0|false)[,}]|"deprecated\.d|"autoscaling\.alpha\.kubernetes\.io/'
).search
"""Find values that may be empty, and annotations that may be hidden, in metadata without managedFields."""


def encode_partial(data: bytes, version: str = "v1") -> bytes | None:
    """Return an object as PartialObjectMetadata, both in JSON with sorted keys, without decoding its values.

    Return None if the object may have empty values or hidden annotations, or metadata of another form. Then
    `partial_object` has to look at its values.
    """
    try:
        metadata: Any = _decode_metadata(data).metadata  # type: ignore[attr-defined]
    except (msgspec.MsgspecError, RecursionError):
        return None
    encoded = msgspec.json.encode(metadata)
    head, _, _ = encoded.partition(b'"managedFields":[{')
    if _needs_a_look(head):
        return None
    return b'{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/%b","metadata":%b}' % (version.encode(), encoded)


def _ordered(value: Any, keys: tuple[str, ...]) -> Any:
    return {key: value[key] for key in keys if key in value} if type(value) is dict else value


def partial_object(obj: JsonObject, version: str = "v1") -> JsonObject:
    """Return an object as PartialObjectMetadata."""
    metadata = ordered_metadata(obj.get("metadata"))
    hidden = _FIELD_ANNOTATIONS.get((obj.get("apiVersion", ""), obj.get("kind", "")))
    if hidden and "annotations" in metadata:
        shown = {name: value for name, value in metadata.pop("annotations").items() if name not in hidden}
        metadata = ordered_metadata({**metadata, "annotations": shown})
    return {"kind": "PartialObjectMetadata", "apiVersion": f"meta.k8s.io/{version}", "metadata": metadata}


def partial_list(objs: Iterable[JsonObject], list_metadata: JsonObject, version: str = "v1") -> JsonObject:
    """Return a list's items as PartialObjectMetadataList."""
    return {
        "kind": "PartialObjectMetadataList",
        "apiVersion": f"meta.k8s.io/{version}",
        "metadata": ordered_list_metadata(list_metadata),
        "items": [partial_object(obj, version) for obj in objs] or None,
    }


def ordered_list_metadata(value: JsonObject) -> JsonObject:
    """Return a list's metadata without empty values, with its keys in kube-apiserver's order."""
    out = {key: value[key] for key in ("resourceVersion", "continue") if value.get(key)}
    if value.get("remainingItemCount") is not None:
        out["remainingItemCount"] = value["remainingItemCount"]
    return out


def not_a_list_error(go_type: str) -> APIError:
    """Return the error for a client that requests a single object as PartialObjectMetadataList."""
    if go_type == CUSTOM_OBJECT:
        return UnknownReasonError("content is not a list")
    return NotAcceptableError(
        f"you requested PartialObjectMetadataList, but the requested object is not a list ({go_type})"
    )


def is_a_list_error(go_type: str) -> NotAcceptableError:
    """Return the error for a client that requests a list as PartialObjectMetadata."""
    return NotAcceptableError(f"you requested PartialObjectMetadata, but the requested object is a list ({go_type})")


CUSTOM_OBJECT, CUSTOM_LIST = "*unstructured.Unstructured", "*unstructured.UnstructuredList"
"""The Go types of custom objects and lists in the two errors above. Built-in types look like *core.NamespaceList."""
