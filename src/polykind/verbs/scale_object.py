"""A Scale as a view of an object, at the paths that the object's CRD names."""

from __future__ import annotations

from typing import Any

from polykind import errors
from polykind.apis import machinery
from polykind.apis.autoscaling.types import SCALE
from polykind.apis.machinery.protobuf_envelope import decode_envelope
from polykind.apis.machinery.protobuf_reader import decode_message
from polykind.apply import scale_managed_fields
from polykind.codec import json_codec, yaml_codec
from polykind.codec.protobuf_wire import ProtobufError
from polykind.contract import JsonObject
from polykind.golang.fmt import go_quote
from polykind.operations.operation import Operation
from polykind.schema.scale_validation import nested_value, split_path

API_VERSION = "autoscaling/v1"
UNREGISTERED_TYPE = (
    "no kind is registered for the type v1.Scale in scheme "
    '"k8s.io/apiextensions-apiserver/pkg/apiserver/customresource_handler.go:781"'
)
"""kube-apiserver's error for every Scale that it cannot decode, because it looks the kind up in a wrong scheme."""
UNSET = -2147483648
"""The value of a Scale's spec.replicas that stands for missing replicas."""


def decode_body(data: bytes, media: str) -> tuple[JsonObject, list[str]]:
    """Decode the Scale in the request body. Return the Scale and the messages of the strict decoder."""
    try:
        if media == "yaml":
            value, _, strict_errors = yaml_codec.decode_strict(data)
        elif media == "protobuf":
            api_version, kind, message = decode_envelope(data)
            value, strict_errors = {**decode_message(message, SCALE), "apiVersion": api_version, "kind": kind}, []
        else:
            value = json_codec.decode(data, keep_fractions=True)
            strict_errors = json_codec.duplicate_field_errors(data, value)
        scale, unknown = decode_scale(value)
    except (errors.BadRequestError, yaml_codec.MalformedYAMLError, ProtobufError):
        raise errors.BadRequestError(UNREGISTERED_TYPE) from None
    return scale, strict_errors + unknown


def warn(op: Operation, strict_errors: list[str], field_validation: str) -> None:
    """Send the messages of the strict decoder to the client if it has asked for warnings."""
    if field_validation == "Warn":
        for text in strict_errors:
            op.notes.warn(text)


def decode_scale(value: object) -> tuple[JsonObject, list[str]]:
    """Decode a Scale, which may omit apiVersion and kind. Return the Scale and messages about unknown fields."""
    requested, kind = json_codec.read_type_meta(value)
    api_version, kind = requested or API_VERSION, kind or "Scale"
    if (api_version, kind) != (API_VERSION, "Scale"):
        raise errors.BadRequestError(
            f'no kind "{kind}" is registered for version "{api_version}" in scheme "k8s.io/client-go/scale/util.go:146"'
        )
    typed = {**(value if isinstance(value, dict) else {}), "apiVersion": api_version, "kind": kind}
    scale, unknown = machinery.decode(typed, SCALE, report=True)
    return {**scale, "apiVersion": requested}, [f"unknown field {go_quote(path)}" for path in unknown]


def decode_mutated(mutated: JsonObject) -> JsonObject:
    """Decode a Scale that mutating admission has changed.

    Raise UnknownReasonError with Go's conversion error if the Scale is malformed.
    """
    from polykind.apis.machinery import from_unstructured

    if not mutated.get("apiVersion"):
        raise errors.UnknownReasonError("Object 'apiVersion' is missing in 'unstructured object has no version'")
    if (mutated["apiVersion"], mutated["kind"]) != (API_VERSION, "Scale"):
        raise errors.UnknownReasonError(
            f'no kind "{mutated["kind"]}" is registered for version "{mutated["apiVersion"]}" in scheme '
            '"k8s.io/client-go/kubernetes/scheme/register.go:82"'
        )
    if reason := from_unstructured.conversion_error(mutated, SCALE):
        raise errors.UnknownReasonError(
            f"unable to convert unstructured object to autoscaling/v1, Kind=Scale: {reason}"
        )
    return decode_scale(mutated)[0]


def with_scale(op: Operation, old: JsonObject, scale: JsonObject, entries: list[JsonObject]) -> JsonObject:
    """Return the object with the replicas, resourceVersion and managers of its Scale."""
    replicas = (scale.get("spec") or {}).get("replicas", 0)
    path = replicas_path(op)
    if replicas == UNSET:
        raise errors.BadRequestError(f"the spec replicas field {go_quote(path)} cannot be empty")
    new = _with_value(old, split_path(path), replicas)
    meta = new["metadata"] = dict(old["metadata"])
    if requested := scale["metadata"].get("resourceVersion"):
        meta["resourceVersion"] = requested
    scale_entries = scale["metadata"].get("managedFields") or []
    entries = scale_managed_fields.to_parent(
        entries, scale_entries, api_version=op.version.api_version, paths=op.resource.replicas_paths
    )
    if entries:
        meta["managedFields"] = entries
    else:
        meta.pop("managedFields", None)
    return new


def replicas_path(op: Operation) -> str:
    """Return the path of the replicas in objects of the request's version."""
    path: str = _paths(op)["specReplicasPath"]
    return path


def _paths(op: Operation) -> JsonObject:
    if op.version.scale is None:
        raise AssertionError("no scale subresource")
    return op.version.scale


def _nested(obj: JsonObject, path: str, kind: type, name: str) -> Any:
    """Return the value at a path, or None if the path has no value.

    Raise UnknownReasonError if the type is unexpected.
    """
    value, problem = nested_value(obj, path, kind, name)
    if problem:
        raise errors.UnknownReasonError(problem)
    return value


def _int32(obj: JsonObject, path: str) -> int | None:
    """Return the integer at a path, truncated to 32 bits as in Go, or None if the path has no value."""
    value: int | None = _nested(obj, path, int, "int64")
    return value if value is None else (value + 2**31) % 2**32 - 2**31


def _with_value(obj: JsonObject, keys: list[str], value: int) -> JsonObject:
    """Return the object with a value at a path. Everything outside the path is shared with the original."""
    copy = parent = dict(obj)
    for at, key in enumerate(keys[:-1]):
        child = parent.get(key, {})
        if not isinstance(child, dict):
            where = ".".join(keys[: at + 1])
            raise errors.UnknownReasonError(f"value cannot be set because .{where} is not a map[string]interface{{}}")
        parent[key] = parent = dict(child)
    parent[keys[-1]] = value
    return copy


def scale_of(op: Operation, obj: JsonObject) -> tuple[JsonObject, bool]:
    """Return the Scale of an object, and True if the object has replicas."""
    paths, meta = _paths(op), obj["metadata"]
    replicas = _int32(obj, paths["specReplicasPath"])
    status = _int32(obj, paths["statusReplicasPath"]) or 0
    selector = ""
    if paths.get("labelSelectorPath"):
        selector = _nested(obj, paths["labelSelectorPath"], str, "string") or ""
    scale: JsonObject = {
        "kind": "Scale",
        "apiVersion": API_VERSION,
        "metadata": {
            k: meta[k] for k in ("name", "namespace", "uid", "resourceVersion", "creationTimestamp") if k in meta
        },
        "spec": {"replicas": replicas} if replicas else {},
        "status": {"replicas": status, **({"selector": selector} if selector else {})},
    }
    return scale, replicas is not None
