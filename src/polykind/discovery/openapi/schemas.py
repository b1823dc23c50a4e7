"""A CRD's schema as OpenAPI publishes it, for v3 whole and for v2 simplified to what its clients can bear."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from polykind.contract import JsonObject

META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1."

_API_VERSION: Final = "The group and version of this representation of the object."
_KIND: Final = "The kind of the object, in CamelCase."
_METADATA: Final = "Metadata that every object has."

# In the order in which the reference writes them.
_BEFORE_CHILDREN: Final = (
    *("description", "type", "nullable", "format", "title", "default", "maximum", "exclusiveMaximum", "minimum"),
    *("exclusiveMinimum", "maxLength", "minLength", "pattern", "maxItems", "minItems", "uniqueItems", "multipleOf"),
    *("enum", "maxProperties", "minProperties", "required"),
)
_CHILDREN: Final = ("items", "allOf", "oneOf", "anyOf", "not", "properties", "additionalProperties")
_AFTER_CHILDREN: Final = (
    *("externalDocs", "example", "x-kubernetes-embedded-resource", "x-kubernetes-int-or-string"),
    *("x-kubernetes-list-map-keys", "x-kubernetes-list-type", "x-kubernetes-map-type"),
    *("x-kubernetes-preserve-unknown-fields", "x-kubernetes-validations"),
)
_PLACES: Final = {
    key: place for place, key in enumerate((*_BEFORE_CHILDREN, *_CHILDREN, *_AFTER_CHILDREN)) if key[:2] != "x-"
}
_RULE: Final = ("rule", "message", "messageExpression", "reason", "fieldPath", "optionalOldSelf")
_NUMBERS: Final = frozenset(
    (
        "maximum",
        "minimum",
        "maxLength",
        "minLength",
        "maxItems",
        "minItems",
        "multipleOf",
        "maxProperties",
        "minProperties",
    )
)
_VALUES: Final = frozenset(("default", "example", "enum"))
_INT_OR_STRING: Final = [{"type": "integer"}, {"type": "string"}]

MAX_DEPTH: Final = 100
"""Schemas below this depth are published as `{}`, which allows anything."""


@dataclass(frozen=True)
class Dialect:
    """How a version of OpenAPI says things."""

    v2: bool

    def reference(self, model: str, **beside: Any) -> JsonObject:
        """A reference to a model; v3 allows nothing beside a reference, so that a description needs a wrapping."""
        if self.v2:
            beside.pop("default", None)
            return {**beside, "$ref": f"#/definitions/{model}"}
        found = {"$ref": f"#/components/schemas/{model}"}
        return {**beside, "allOf": [found]} if beside else found


V2: Final = Dialect(v2=True)
V3: Final = Dialect(v2=False)


def model_name(group: str, version: str, kind: str) -> str:
    """The name of a kind's model: the group's labels in reverse, the version, the kind."""
    return ".".join([*reversed(group.split(".")), version, kind])


def kind_schema(schema: JsonObject | None, dialect: Dialect, *, preserve: bool = False) -> JsonObject:
    """The schema of a whole object; `preserve` if its CRD keeps unknown fields everywhere.

    Where v2 clients would take a list of properties for a complete one, none are listed.
    """
    if schema is None or (dialect.v2 and (preserve or schema.get("x-kubernetes-preserve-unknown-fields") is True)):
        return {"type": "object"}
    return _with_object_properties(_node(schema, dialect, 0), dialect)


def list_schema(kind: str, list_kind: str, plural: str, model: str, dialect: Dialect) -> JsonObject:
    """The schema of a list of objects."""
    return {
        "description": f"{list_kind} is a list of {kind}",
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": {"description": _API_VERSION, "type": "string"},
            "items": {"description": f"The {plural} found.", "type": "array", "items": dialect.reference(model)},
            "kind": {"description": _KIND, "type": "string"},
            "metadata": dialect.reference(f"{META}ListMeta", description="Metadata that every list has."),
        },
    }


def _node(schema: Mapping[str, Any], dialect: Dialect, depth: int, nested: bool = False) -> JsonObject:
    if depth >= MAX_DEPTH:
        return {}
    if dialect.v2:
        schema = _simplified(schema)
    elif schema.get("x-kubernetes-int-or-string") is True and not nested:
        schema = _unfolded(schema)
    out: JsonObject = {}
    _scalars(out, schema, _BEFORE_CHILDREN, dialect)
    _children(out, schema, dialect, depth + 1, nested)
    _scalars(out, schema, _AFTER_CHILDREN, dialect)
    if schema.get("x-kubernetes-embedded-resource") is True:
        return _embedded(out, dialect)
    return out


def _scalars(out: JsonObject, schema: Mapping[str, Any], keys: tuple[str, ...], dialect: Dialect) -> None:
    for key in keys:
        value = schema.get(key)
        if value is None or (not value and key not in _NUMBERS and key not in ("default", "example")):
            continue
        if (key == "default" and dialect.v2) or (key in _VALUES and _deeper(value, MAX_DEPTH)):
            continue
        if key == "x-kubernetes-validations":
            fields = sorted(_RULE) if dialect.v2 else _RULE
            value = [{name: rule[name] for name in fields if rule.get(name) not in (None, "")} for rule in value]
        out[key] = value


def _deeper(value: Any, limit: int) -> bool:
    """Whether a value is nested more than `limit` levels deep, too deep to be written down."""
    level = [value]
    while level and limit >= 0:
        level = [
            child
            for found in level
            if isinstance(found, dict | list)
            for child in (found.values() if isinstance(found, dict) else found)
        ]
        limit -= 1
    return bool(level)


def _children(out: JsonObject, schema: Mapping[str, Any], dialect: Dialect, depth: int, nested: bool) -> None:
    items = schema.get("items")
    if isinstance(items, dict):
        out["items"] = _node(items, dialect, depth, nested)
    for junctor in ("allOf", "oneOf", "anyOf"):
        parts = schema.get(junctor)
        if parts:
            out[junctor] = [_node(part, dialect, depth, True) for part in parts]
    negated = schema.get("not")
    if isinstance(negated, dict):
        out["not"] = _node(negated, dialect, depth, True)
    properties = schema.get("properties")
    if properties:
        published = out["properties"] = {}
        for name in sorted(properties):
            published[name] = _node(properties[name], dialect, depth, nested)
    additional = schema.get("additionalProperties")
    if isinstance(additional, dict) and not nested:
        out["additionalProperties"] = _node(additional, dialect, depth)
    elif isinstance(additional, bool) and not nested:
        out["additionalProperties"] = additional


def _unfolded(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """An int-or-string node that says so in the terms of OpenAPI too."""
    any_of, all_of = schema.get("anyOf") or [], schema.get("allOf") or []
    if any_of == _INT_OR_STRING or (all_of and all_of[0].get("anyOf") == _INT_OR_STRING):
        return schema
    if not any_of:
        return {**schema, "anyOf": _INT_OR_STRING}
    return {**schema, "allOf": [{"anyOf": _INT_OR_STRING}, *all_of]}


def _simplified(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """A node without what clients of v2 do not understand: junctors, null, and types that say too much."""
    out = {key: value for key, value in schema.items() if key not in ("allOf", "oneOf", "anyOf", "not")}
    preserving = out.get("x-kubernetes-preserve-unknown-fields") is True
    nullable = out.pop("nullable", None) is True
    if nullable:
        out.pop("type", None)
    if nullable or preserving:
        out.pop("items", None)
        out.pop("properties", None)
    if (out.get("type") == "array" and "items" not in out) or (out.get("type") == "object" and preserving):
        out.pop("type")
    _relax_required(out)
    return out


def _relax_required(schema: JsonObject) -> None:
    """What may be null is not said to be required."""
    required = schema.get("required")
    if not required:
        return
    additional = schema.get("additionalProperties")
    if isinstance(additional, dict) and additional.get("nullable") is True:
        del schema["required"]
        return
    properties = schema.get("properties") or {}
    schema["required"] = [name for name in required if properties.get(name, {}).get("nullable") is not True]


def _embedded(out: JsonObject, dialect: Dialect) -> JsonObject:
    """A node with what an embedded object has of its own, unless v2 clients would then refuse its other fields."""
    if dialect.v2 and out.get("x-kubernetes-preserve-unknown-fields") is True:
        return out
    required = out.get("required") or []
    out["required"] = [*required, *(name for name in ("kind", "apiVersion") if name not in required)]
    return ordered(_with_object_properties(out, dialect))


def _with_object_properties(out: JsonObject, dialect: Dialect) -> JsonObject:
    properties = {
        **out.get("properties", {}),
        "apiVersion": {"description": _API_VERSION, "type": "string"},
        "kind": {"description": _KIND, "type": "string"},
        "metadata": dialect.reference(f"{META}ObjectMeta", description=_METADATA),
    }
    return {**out, "properties": {name: properties[name] for name in sorted(properties)}}


def ordered(schema: JsonObject) -> JsonObject:
    """A schema with its keys in the order in which the reference writes them; extensions come last, by name."""
    return {key: schema[key] for key in sorted(schema, key=lambda key: (_PLACES.get(key, len(_PLACES)), key))}
