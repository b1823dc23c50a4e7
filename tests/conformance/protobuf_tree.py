"""Protobuf bodies as trees: dicts of protobuf field names, so that recordings show each field of a message.

A tree has no zero values, because Go writes those of fields that are no pointers. Bytes are texts that start with
`base64:`, and every time is `<time>`. The declarations of the built-in types supply the fields of each message.
"""

from __future__ import annotations

import base64
import json
import re
import struct
from functools import cache
from typing import Any

from polykind.apis.apidiscovery.types import API_GROUP_DISCOVERY_LIST
from polykind.apis.groups import find_subresource_kind
from polykind.apis.machinery import value_types as types
from polykind.apis.machinery.json_schema_types import SchemaOrArray, SchemaOrBool, SchemaOrStrings
from polykind.apis.machinery.protobuf_envelope import MAGIC, decode_envelope, encode_envelope
from polykind.apis.machinery.structs import Field, Struct
from polykind.apis.machinery.value_types import BOOL, BYTES, INT32, INT64, STRING, STRINGS, ListOf, MapOf, ValueType
from polykind.apis.meta.discovery_types import API_GROUP, API_GROUP_LIST, API_RESOURCE_LIST, API_VERSIONS
from polykind.apis.meta.types import DELETE_OPTIONS, LIST_META, PARTIAL_OBJECT_METADATA, STATUS, WATCH_EVENT
from polykind.codec.protobuf_wire import bytes_field, encode_utf8, iter_fields, varint_field

Tree = dict[str, Any]

MEDIA_TYPE = "application/vnd.kubernetes.protobuf"

_META_KINDS: dict[str, Struct] = {
    kind.kind: kind
    for kind in (
        API_GROUP,
        API_GROUP_DISCOVERY_LIST,
        API_GROUP_LIST,
        API_RESOURCE_LIST,
        API_VERSIONS,
        DELETE_OPTIONS,
        PARTIAL_OBJECT_METADATA,
        STATUS,
    )
}
"""Kinds that kube-apiserver accepts or returns in every group."""

_TIMESTAMP = Struct("v1.Time", (Field("seconds", 1, INT64), Field("nanos", 2, INT32)))
_RAW = Struct("runtime.RawExtension", (Field("raw", 1, BYTES),))
_FIELDS_V1 = Struct("v1.FieldsV1", (Field("Raw", 1, BYTES),))
_VALUE_MESSAGES: tuple[tuple[type[ValueType], Struct], ...] = (
    (types.Time, _TIMESTAMP),
    (types.Quantity, Struct("resource.Quantity", (Field("string", 1, STRING),))),
    (
        types.IntOrString,
        Struct("intstr.IntOrString", (Field("type", 1, INT64), Field("intVal", 2, INT32), Field("strVal", 3, STRING))),
    ),
    (types.Raw, _RAW),
    (types.Verbatim, _RAW),
    (types.Wrapped, Struct("v1.ExtraValue", (Field("items", 1, STRINGS),))),
)
"""The messages of types that are plain values in JSON."""

_EMBEDDED_NAMES = {"ProbeHandler": "handler"}
"""The protobuf names of embedded structs that are not the name of the type with a small first letter."""
_NAMES = {
    ("BoundObjectReference", "uid"): "uID",
    ("IngressClassParametersReference", "apiGroup"): "aPIGroup",
    ("JSONSchemaProps", "$ref"): "ref",
    ("JSONSchemaProps", "$schema"): "schema",
    ("MutatingWebhookConfiguration", "webhooks"): "Webhooks",
    ("ValidatingWebhookConfiguration", "webhooks"): "Webhooks",
    ("Validation", "expression"): "Expression",
    ("Variable", "expression"): "Expression",
    ("Variable", "name"): "Name",
}
"""The protobuf names of fields that differ from the JSON names, by type and JSON name."""


def parse_body(body: bytes) -> Any:
    """Return a JSON value, or the tree of a protobuf body. Raise ValueError if the body is neither."""
    return unwrap(body) if body.startswith(MAGIC) else json.loads(body)


def unwrap(body: bytes) -> Tree:
    """Return the tree of the object in an envelope, with its apiVersion and kind."""
    api_version, kind, message = decode_envelope(body)
    return _without_zeros({"apiVersion": api_version, "kind": kind}) | decode(message, find_message(api_version, kind))


def wrap(tree: Tree) -> bytes:
    """Encode a tree with an apiVersion and a kind, in an envelope."""
    api_version, kind = tree["apiVersion"], tree["kind"]
    return encode_envelope(api_version, kind, encode(tree, find_message(api_version, kind)))


def unwrap_event(frame: bytes) -> Tree:
    """Return a watch event: its type and the tree of its object."""
    event = decode(frame, WATCH_EVENT)
    return {"type": event.get("type"), "object": event.get("object", {}).get("raw")}


@cache
def find_message(api_version: str, kind: str) -> Struct:
    """Return the message of a kind or of its list. Raise ValueError if the kind is unknown."""
    found = find_subresource_kind(api_version, kind) or _META_KINDS.get(kind)
    if found is not None:
        return found
    if not kind.endswith("List"):
        raise ValueError(f"{api_version} {kind} is no built-in kind")
    item = find_message(api_version, kind.removesuffix("List"))
    metadata, items = (2, 1) if api_version == "meta.k8s.io/v1beta1" else (1, 2)
    fields = (Field("metadata", metadata, LIST_META), Field("items", items, ListOf(item)))
    return Struct(f"{item.version}.{kind}", fields, kind=kind, version=item.version)


def decode(message: bytes, message_type: Struct) -> Tree:
    """Return the tree of a message. A field with an unknown number N has the name `#N`."""
    fields = _fields_by_number(message_type)
    out: Tree = {}
    for number, raw in iter_fields(message):
        name, value_type = fields.get(number, (f"#{number}", BYTES))
        if isinstance(value_type, ListOf):
            out.setdefault(name, []).append(_decode_value(raw, value_type.item))
        elif isinstance(value_type, MapOf):
            entry = dict(iter_fields(_as_bytes(raw)))
            item = _decode_value(entry[2], value_type.item) if 2 in entry else ""
            out.setdefault(name, {})[_as_bytes(entry.get(1, b"")).decode()] = item
        else:
            out[name] = _decode_value(raw, value_type)
    return _without_zeros(out)


def encode(tree: Tree, message_type: Struct) -> bytes:
    """Encode the fields of a tree. Fields that the tree lacks are absent from the message."""
    out = b""
    for number, (name, value_type) in _fields_by_number(message_type).items():
        value = tree.get(name)
        if value is None:
            continue
        if isinstance(value_type, ListOf):
            out += b"".join(_encode_value(number, item, value_type.item) for item in value)
        elif isinstance(value_type, MapOf):
            for key, item in sorted(value.items()):
                out += bytes_field(number, bytes_field(1, encode_utf8(key)) + _encode_value(2, item, value_type.item))
        else:
            out += _encode_value(number, value, value_type)
    return out


def _decode_value(raw: int | bytes, value_type: ValueType) -> Any:
    if isinstance(raw, int):
        return bool(raw) if isinstance(value_type, types.Bool) else raw - (1 << 64) if raw >> 63 else raw
    if isinstance(value_type, types.Float):
        return struct.unpack("<d", raw)[0]
    if isinstance(value_type, types.String):
        return raw.decode(errors="replace")
    message_type = _value_message(value_type)
    if message_type is not None:
        tree = decode(raw, message_type)
        return "<time>" if tree and message_type is _TIMESTAMP else tree
    return unwrap(raw) if raw.startswith(MAGIC) else f"base64:{base64.b64encode(raw).decode()}"


def _encode_value(number: int, value: Any, value_type: ValueType) -> bytes:
    if isinstance(value_type, types.Bool | types.Int):
        return varint_field(number, int(value))
    message_type = _value_message(value_type)
    if message_type is not None:
        return bytes_field(number, encode(value, message_type))
    is_base64 = isinstance(value_type, types.Bytes) and value.startswith("base64:")
    return bytes_field(number, base64.b64decode(value.removeprefix("base64:")) if is_base64 else encode_utf8(value))


@cache
def _fields_by_number(message_type: Struct) -> dict[int, tuple[str, ValueType]]:
    return {field.number: (_name(message_type, field), field.type) for field in message_type.numbered}


def _name(message_type: Struct, field: Field) -> str:
    """Return the protobuf name of a field."""
    if not field.name and isinstance(field.type, Struct):
        embedded = field.type.name
        return _EMBEDDED_NAMES.get(embedded, embedded[0].lower() + embedded[1:])
    extension = re.sub(r"-(\w)", lambda match: match[1].upper(), field.name)
    return _NAMES.get((message_type.name, field.name), extension)


@cache
def _value_message(value_type: ValueType) -> Struct | None:
    """Return the message of a type. Return None for strings, numbers, bools and bytes."""
    if isinstance(value_type, Struct):
        return value_type
    if isinstance(value_type, SchemaOrBool):
        return Struct("v1.JSONSchemaPropsOrBool", (Field("allows", 1, BOOL), Field("schema", 2, value_type.schema)))
    if isinstance(value_type, SchemaOrArray):
        schemas = ListOf(value_type.schema)
        return Struct(
            "v1.JSONSchemaPropsOrArray", (Field("schema", 1, value_type.schema), Field("jSONSchemas", 2, schemas))
        )
    if isinstance(value_type, SchemaOrStrings):
        return Struct(
            "v1.JSONSchemaPropsOrStringArray", (Field("schema", 1, value_type.schema), Field("property", 2, STRINGS))
        )
    if value_type.go == _FIELDS_V1.go:
        return _FIELDS_V1
    return next((message for value_class, message in _VALUE_MESSAGES if isinstance(value_type, value_class)), None)


def _without_zeros(tree: Tree) -> Tree:
    return {name: value for name, value in tree.items() if isinstance(value, list) or value not in ("", 0, None, {})}


def _as_bytes(raw: int | bytes) -> bytes:
    if isinstance(raw, int):
        raise ValueError("a varint stands in place of a map entry")
    return raw
