"""The types of the fields of a kind at one version, derived from its schema."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from polykind.apply.model import (
    ANY,
    BOOLEAN,
    DEDUCED,
    NUMERIC,
    SCALAR,
    STRING,
    UNTYPED,
    Field,
    ListType,
    MapType,
    Type,
)
from polykind.contract import JsonObject


class TypeModel:
    """The types of one version of a kind, derived from its OpenAPI schema at the first use, or given as `root`.

    `zero` is the object with which a new object is compared. For a built-in kind, it has the zero values of the
    required fields of the Go struct. If `ordered` is true, the keys of field sets are sorted in kube-apiserver's order.
    Objects whose keys JSON encoding does not sort need this.
    """

    def __init__(
        self,
        openapi: JsonObject | None,
        preserve_unknown: bool = False,
        *,
        root: Type | None = None,
        zero: JsonObject | None = None,
        ordered: bool = False,
    ) -> None:
        self._openapi = openapi
        self._preserve_unknown = preserve_unknown
        if root is not None:
            self.root = root
        self.zero: JsonObject = zero or {}
        self.ordered = ordered

    @cached_property
    def root(self) -> Type:
        try:
            root = _kind(self._openapi, preserve=self._preserve_unknown)
        except RecursionError:
            root = DEDUCED
        self._openapi = None
        return root


def _kind(openapi: JsonObject | None, *, preserve: bool) -> Type:
    if not openapi:
        return Type(map_type=MapType({}, DEDUCED, atomic=False))
    properties = _dict(openapi.get("properties"))
    root = _type({**openapi, "type": "object", "properties": {**properties, **_EMBEDDED}}, preserve)
    if root.map is not None:
        root.map.fields.update(_embedded_fields())
    return root


def _type(schema: Any, preserve: bool) -> Type:
    if not isinstance(schema, dict):
        return UNTYPED
    preserve = preserve or schema.get("x-kubernetes-preserve-unknown-fields") is True
    kind = schema.get("type")
    if kind in ("integer", "number"):
        return NUMERIC
    if kind == "boolean":
        return BOOLEAN
    if kind == "string":
        return STRING if schema.get("format") in (None, "", "byte") else SCALAR
    if kind == "object":
        return Type(map_type=_map(schema, preserve))
    if kind == "array":
        return Type(list_type=_list(schema, preserve))
    if schema.keys().isdisjoint(_CONTAINED):
        return ANY
    return Type("untyped", _map(schema, preserve), _list(schema, preserve))


def _map(schema: JsonObject, preserve: bool) -> MapType:
    properties = _dict(schema.get("properties"))
    fields = {}
    for name, below in properties.items():
        default = below.get("default") if isinstance(below, dict) else None
        fields[name] = Field(f"f:{name}", _type(below, preserve), default)
    if schema.get("x-kubernetes-embedded-resource") is True:
        fields.update(_embedded_fields())
    return MapType(
        fields,
        _element(schema.get("additionalProperties"), preserve or not properties, preserve),
        atomic=schema.get("x-kubernetes-map-type") == "atomic",
    )


def _element(additional: Any, free: bool, preserve: bool) -> Type | None:
    """Return the type of undeclared fields, or None if they are forbidden.

    `additional` is the value of additionalProperties. If it is None, undeclared fields are allowed if `free` is true.
    """
    if additional is None:
        return DEDUCED if free else None
    if isinstance(additional, dict):
        return _type(additional, preserve)
    return DEDUCED if additional else None


def _list(schema: JsonObject, preserve: bool) -> ListType:
    items = schema.get("items")
    element = UNTYPED if items is None else _type(items, preserve)
    kind = schema.get("x-kubernetes-list-type")
    keys = schema.get("x-kubernetes-list-map-keys")
    if kind == "map" and isinstance(keys, list):
        return ListType(element, atomic=False, keys=tuple(key for key in keys if isinstance(key, str)))
    return ListType(element, atomic=kind != "set")


def _dict(value: Any) -> JsonObject:
    return value if isinstance(value, dict) else {}


_CONTAINED = {
    "properties",
    "additionalProperties",
    "items",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-map-type",
    "x-kubernetes-list-type",
    "x-kubernetes-embedded-resource",
}
_STRING_SCHEMA: JsonObject = {"type": "string"}
_REQUIRED_SCHEMA: JsonObject = {"type": "string", "default": ""}
_BOOLEAN_SCHEMA: JsonObject = {"type": "boolean"}
_INTEGER_SCHEMA: JsonObject = {"type": "integer"}
_TIME_SCHEMA: JsonObject = {"type": "string", "format": "date-time"}
_STRING_MAP_SCHEMA: JsonObject = {"type": "object", "additionalProperties": _STRING_SCHEMA}


def _strings(*names: str) -> JsonObject:
    return dict.fromkeys(names, _STRING_SCHEMA)


META = _type(
    {
        "type": "object",
        "properties": {
            **_strings("generateName", "name", "namespace", "resourceVersion", "selfLink", "uid"),
            **dict.fromkeys(("annotations", "labels"), _STRING_MAP_SCHEMA),
            **dict.fromkeys(("creationTimestamp", "deletionTimestamp"), _TIME_SCHEMA),
            **dict.fromkeys(("deletionGracePeriodSeconds", "generation"), _INTEGER_SCHEMA),
            "finalizers": {"type": "array", "items": _STRING_SCHEMA, "x-kubernetes-list-type": "set"},
            "managedFields": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        **_strings("apiVersion", "fieldsType", "manager", "operation", "subresource"),
                        "fieldsV1": {"type": "object"},
                        "time": _TIME_SCHEMA,
                    },
                },
            },
            "ownerReferences": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        **dict.fromkeys(("apiVersion", "kind", "name", "uid"), _REQUIRED_SCHEMA),
                        **dict.fromkeys(("blockOwnerDeletion", "controller"), _BOOLEAN_SCHEMA),
                    },
                    "x-kubernetes-map-type": "atomic",
                },
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["uid"],
            },
        },
    },
    preserve=False,
)
"""The type of the metadata of custom resources. It matches the declaration of ObjectMeta in `polykind.apis.meta`."""
_EMBEDDED: JsonObject = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {}}


def _embedded_fields() -> dict[str, Field]:
    kinds = {"apiVersion": STRING, "kind": STRING, "metadata": META}
    return {name: Field(f"f:{name}", kind, None) for name, kind in kinds.items()}
