"""OpenAPI models, derived from declared structs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from polykind.apis.machinery import value_types as types
from polykind.apis.machinery.kinds import Kind
from polykind.apis.machinery.structs import Field, Struct, Union
from polykind.apis.machinery.type_tables import TYPE_META
from polykind.apis.machinery.value_types import ListOf, MapOf, String, ValueType
from polykind.apis.meta.types import LIST_META
from polykind.contract import JsonObject

Model = Mapping[str, Any]
"""An OpenAPI schema in which `$ref` is the plain name of a model, without a path."""


def models(roots: Iterable[ValueType]) -> dict[str, Model]:
    """Return the models of `roots`, of the lists of kinds among them, and of all types that they refer to, by name."""
    out: dict[str, Model] = {}
    pending = list(roots)
    for root in pending:
        if isinstance(root, Kind) and root.persistent:
            out[f"{root.model}List"] = _list_model(root)
            pending.append(LIST_META)
    while pending:
        value_type = pending.pop()
        if value_type.model in out:
            continue
        if value_type.model:
            out[value_type.model] = _model(value_type)
        pending += _children(value_type)
    return {name: out[name] for name in sorted(out)}


def _children(value_type: ValueType) -> Iterator[ValueType]:
    if isinstance(value_type, Struct):
        for field in value_type.fields:
            yield from _with_model(field.type)


def _with_model(value_type: ValueType) -> Iterator[ValueType]:
    while isinstance(value_type, ListOf | MapOf):
        value_type = value_type.item
    if value_type.model:
        yield value_type


_SIMPLE_MODELS: dict[type[ValueType], JsonObject] = {
    types.Time: {"type": "string", "format": "date-time"},
    types.Quantity: {"type": "string", "oneOf": [{"type": "string"}, {"type": "number"}]},
    types.IntOrString: {
        "type": "string",
        "format": "int-or-string",
        "oneOf": [{"type": "integer"}, {"type": "string"}],
    },
    types.Verbatim: {"type": "object"},
}
"""The models of types without fields. All others have a description only."""


def _model(value_type: ValueType) -> Model:
    if not isinstance(value_type, Struct):
        simple = next((model for kind, model in _SIMPLE_MODELS.items() if isinstance(value_type, kind)), {})
        return {"description": value_type.doc, **simple}
    return _struct_model(value_type)


def _struct_model(value_type: Struct) -> Model:
    out: JsonObject = {"description": value_type.doc, "type": "object"}
    fields = value_type.fields
    if required := [field.name for field in fields if _required(field)]:
        out["required"] = required
    if fields:
        out["properties"] = {field.name: _property(field) for field in sorted(fields, key=lambda field: field.name)}
    if value_type.kind:
        group = value_type.group if isinstance(value_type, Kind) else ""
        out["x-kubernetes-group-version-kind"] = [
            {"group": group, "kind": value_type.kind, "version": value_type.version}
        ]
    if value_type.atomic:
        out["x-kubernetes-map-type"] = "atomic"
    if value_type.unions:
        out["x-kubernetes-unions"] = [_union(union) for union in value_type.unions]
    return out


def _union(union: Union) -> JsonObject:
    members = {name: name[:1].upper() + name[1:] for name in union.members}
    discriminator = {"discriminator": union.discriminator} if union.discriminator else {}
    return {**discriminator, "fields-to-discriminateBy": members}


def _required(field: Field) -> bool:
    return field.required if field.required is not None else not field.omitempty and not field.pointer


def _list_model(kind: Kind) -> Model:
    api_version, kind_name = (_schema(field.type, field.doc or "") for field in sorted(TYPE_META, key=lambda f: f.name))
    items = {"description": "", "default": {}, "$ref": kind.model}
    return {
        "description": f"{kind.kind}List is a list of {kind.kind}",
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": api_version,
            "items": {"description": "The objects of the list.", "type": "array", "items": items},
            "kind": kind_name,
            "metadata": {"description": "The standard metadata of lists.", "default": {}, "$ref": LIST_META.model},
        },
        "x-kubernetes-group-version-kind": [{"group": kind.group, "kind": f"{kind.kind}List", "version": kind.version}],
    }


def _property(field: Field) -> Model:
    value_type, default = field.type, field.default
    if default is None and not field.pointer:
        default = _zero_default(value_type, omitempty=field.omitempty)
    doc = field.doc
    if doc is None:
        doc = value_type.doc if value_type.model else ""
    out = _schema(value_type, doc, default)
    if field.keys:
        out["x-kubernetes-list-map-keys"] = list(field.keys)
    if list_type := field.list_type or ("atomic" if isinstance(value_type, ListOf) else ""):
        out["x-kubernetes-list-type"] = list_type
    if field.map_type:
        out["x-kubernetes-map-type"] = field.map_type
    if field.merge_key:
        out["x-kubernetes-patch-merge-key"] = field.merge_key
    if field.merge_key or field.patch_strategy:
        out["x-kubernetes-patch-strategy"] = field.patch_strategy or "merge"
    return out


def _zero_default(value_type: ValueType, *, omitempty: bool) -> Any:
    """Return the default that kube-openapi publishes for a field that is not a pointer, which is its zero value.

    Return None if kube-openapi publishes no default.
    """
    if isinstance(value_type, Struct):
        return {}
    return value_type.zero() if isinstance(value_type, String | types.Bool | types.Int) and not omitempty else None


def _element(value_type: ValueType) -> JsonObject:
    """Return the schema of the items of a list or map. Its default is the zero value of the items' type."""
    return _schema(value_type, "", _zero_default(value_type, omitempty=False))


def _schema(value_type: ValueType, doc: str = "", default: Any = None) -> JsonObject:
    out: JsonObject = {"description": doc}
    if value_type.model:
        return out | ({} if default is None else {"default": default}) | {"$ref": value_type.model}
    if isinstance(value_type, ListOf):
        return {**out, "type": "array", "items": _element(value_type.item)}
    if isinstance(value_type, types.Wrapped):
        return {**out, "type": "array", "items": _element(types.STRING)}
    if isinstance(value_type, MapOf):
        return {**out, "type": "object", "additionalProperties": _element(value_type.item)}
    for classes, schema in (
        (types.Bytes, {"type": "string", "format": "byte"}),
        (String, {"type": "string"}),
        (types.Bool, {"type": "boolean"}),
        (types.Float, {"type": "number", "format": "double"}),
    ):
        if isinstance(value_type, classes):
            out |= schema
            break
    else:
        out |= (
            {"type": "integer", "format": f"int{value_type.bits}"}
            if isinstance(value_type, types.Int)
            else {"type": "object"}
        )
    if default is not None:
        out["default"] = default
    if isinstance(value_type, String) and value_type.values:
        out["enum"] = list(value_type.values)
    return out
