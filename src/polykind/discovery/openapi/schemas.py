"""Conversion of a CRD's schema to an OpenAPI schema: complete in v3, and simplified for older clients in v2."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

import msgspec
import orjson

from polykind.contract import JsonObject

META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1."

# Kubernetes' end-to-end tests search the output of `kubectl explain` for the first words of these descriptions.
_API_VERSION: Final = "APIVersion defines the group and version of this representation of the object."
_KIND: Final = "The kind of the object, in CamelCase."
_METADATA: Final = "Standard object's metadata, which every object has."

# The keys of a schema that kube-apiserver writes before and after the child schemas, in its order.
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
_KEY_ORDER: Final = {
    key: position for position, key in enumerate((*_BEFORE_CHILDREN, *_CHILDREN, *_AFTER_CHILDREN)) if key[:2] != "x-"
}
_RULE_FIELDS: Final = ("rule", "message", "messageExpression", "reason", "fieldPath", "optionalOldSelf")
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
"""The maximum depth of a published schema. A deeper part is published as `{}`, which allows any value."""


class Dialect(msgspec.Struct, frozen=True):
    """The syntax of OpenAPI v2 if `v2` is true, else of OpenAPI v3."""

    v2: bool

    def reference(self, model: str, **siblings: Any) -> JsonObject:
        """Return a `$ref` to the schema named `model`. `siblings` are keys beside the `$ref`, such as a description.

        v3 does not allow siblings, so a reference with siblings is wrapped in allOf there.
        """
        if self.v2:
            siblings.pop("default", None)
            return {**siblings, "$ref": f"#/definitions/{model}"}
        node = {"$ref": f"#/components/schemas/{model}"}
        return {**siblings, "allOf": [node]} if siblings else node


V2: Final = Dialect(v2=True)
V3: Final = Dialect(v2=False)


def model_name(group: str, version: str, kind: str) -> str:
    """Return the name of a kind's schema, such as `com.example.v1.CronTab`: reversed group, version and kind."""
    return ".".join([*reversed(group.split(".")), version, kind])


def kind_schema(schema: JsonObject | None, dialect: Dialect, *, preserve: bool = False) -> JsonObject:
    """Return the OpenAPI schema of a kind from the schema in its CRD. `preserve` is spec.preserveUnknownFields.

    A v2 schema that preserves unknown fields has no properties. If it had some, v2 clients would reject other fields.
    """
    if schema is None or (dialect.v2 and (preserve or schema.get("x-kubernetes-preserve-unknown-fields") is True)):
        return {"type": "object"}
    return _add_object_properties(_convert(schema, dialect, 0), dialect)


def list_schema(kind: str, list_kind: str, plural: str, model: str, dialect: Dialect) -> JsonObject:
    """Return the OpenAPI schema of a kind's list. `model` is the name of the schema of the items."""
    return {
        "description": f"{list_kind} is a list of {kind}",
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": {"description": _API_VERSION, "type": "string"},
            "items": {"description": f"The list of {plural}.", "type": "array", "items": dialect.reference(model)},
            "kind": {"description": _KIND, "type": "string"},
            "metadata": dialect.reference(f"{META}ListMeta", description="Metadata that every list has."),
        },
    }


def _convert(schema: Mapping[str, Any], dialect: Dialect, depth: int, nested: bool = False) -> JsonObject:
    if depth >= MAX_DEPTH:
        return {}
    if dialect.v2:
        schema = _simplify_for_v2(schema)
    elif schema.get("x-kubernetes-int-or-string") is True and not nested:
        schema = _expand_int_or_string(schema)
    result: JsonObject = {}
    _copy_scalars(result, schema, _BEFORE_CHILDREN, dialect)
    _convert_children(result, schema, dialect, depth + 1, nested)
    _copy_scalars(result, schema, _AFTER_CHILDREN, dialect)
    if schema.get("x-kubernetes-embedded-resource") is True:
        return _add_embedded_properties(result, dialect)
    return result


def _copy_scalars(result: JsonObject, schema: Mapping[str, Any], keys: tuple[str, ...], dialect: Dialect) -> None:
    for key in keys:
        value = schema.get(key)
        if value is None or (not value and key not in _NUMBERS and key not in ("default", "example")):
            continue
        if (key == "default" and dialect.v2) or (key in _VALUES and _is_deeper_than(value, MAX_DEPTH)):
            continue
        if key == "x-kubernetes-validations":
            fields = sorted(_RULE_FIELDS) if dialect.v2 else _RULE_FIELDS
            value = [{name: rule[name] for name in fields if rule.get(name) not in (None, "")} for rule in value]
        result[key] = value


def _is_deeper_than(value: Any, limit: int) -> bool:
    """True if a value has more than `limit` levels of nesting and is therefore too deep to encode."""
    level = [value]
    while level and limit >= 0:
        level = [
            child
            for node in level
            if isinstance(node, dict | list)
            for child in (node.values() if isinstance(node, dict) else node)
        ]
        limit -= 1
    return bool(level)


def _convert_children(
    result: JsonObject, schema: Mapping[str, Any], dialect: Dialect, depth: int, nested: bool
) -> None:
    items = schema.get("items")
    if isinstance(items, dict):
        result["items"] = _convert(items, dialect, depth, nested)
    for junctor in ("allOf", "oneOf", "anyOf"):
        parts = schema.get(junctor)
        if parts:
            result[junctor] = [_convert(part, dialect, depth, True) for part in parts]
    negated = schema.get("not")
    if isinstance(negated, dict):
        result["not"] = _convert(negated, dialect, depth, True)
    properties = schema.get("properties")
    if properties:
        published = result["properties"] = {}
        for name in sorted(properties):
            published[name] = _convert(properties[name], dialect, depth, nested)
    additional = schema.get("additionalProperties")
    if isinstance(additional, dict) and not nested:
        result["additionalProperties"] = _convert(additional, dialect, depth)
    elif isinstance(additional, bool) and not nested:
        result["additionalProperties"] = additional


def _expand_int_or_string(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an int-or-string schema with the anyOf (integer or string) that OpenAPI clients understand."""
    any_of, all_of = schema.get("anyOf") or [], schema.get("allOf") or []
    if any_of == _INT_OR_STRING or (all_of and all_of[0].get("anyOf") == _INT_OR_STRING):
        return schema
    if not any_of:
        return {**schema, "anyOf": _INT_OR_STRING}
    return {**schema, "allOf": [{"anyOf": _INT_OR_STRING}, *all_of]}


def _simplify_for_v2(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a schema without parts that v2 clients do not support: allOf, anyOf, oneOf, not, nullable, and strict
    types.
    """
    result = {key: value for key, value in schema.items() if key not in ("allOf", "oneOf", "anyOf", "not")}
    preserving = result.get("x-kubernetes-preserve-unknown-fields") is True
    nullable = result.pop("nullable", None) is True
    if nullable:
        result.pop("type", None)
    if nullable or preserving:
        result.pop("items", None)
        result.pop("properties", None)
    if (result.get("type") == "array" and "items" not in result) or (result.get("type") == "object" and preserving):
        result.pop("type")
    _relax_required(result)
    return result


def _relax_required(schema: JsonObject) -> None:
    """Remove nullable properties from `required` in place, because v2 has no `nullable`."""
    required = schema.get("required")
    if not required:
        return
    additional = schema.get("additionalProperties")
    if isinstance(additional, dict) and additional.get("nullable") is True:
        del schema["required"]
        return
    properties = schema.get("properties") or {}
    schema["required"] = [name for name in required if properties.get(name, {}).get("nullable") is not True]


def _add_embedded_properties(result: JsonObject, dialect: Dialect) -> JsonObject:
    """Add apiVersion, kind and metadata to an embedded object, except in v2 if the object preserves unknown fields."""
    if dialect.v2 and result.get("x-kubernetes-preserve-unknown-fields") is True:
        return result
    required = result.get("required") or []
    result["required"] = [*required, *(name for name in ("kind", "apiVersion") if name not in required)]
    return ordered(_add_object_properties(result, dialect))


def _add_object_properties(result: JsonObject, dialect: Dialect) -> JsonObject:
    properties = {
        **result.get("properties", {}),
        "apiVersion": {"description": _API_VERSION, "type": "string"},
        "kind": {"description": _KIND, "type": "string"},
        "metadata": dialect.reference(f"{META}ObjectMeta", description=_METADATA),
    }
    return {**result, "properties": {name: properties[name] for name in sorted(properties)}}


def ordered(schema: JsonObject) -> JsonObject:
    """Return a schema with its keys in kube-apiserver's order. Extensions (x-...) are last, sorted by name."""
    return {key: schema[key] for key in sorted(schema, key=lambda key: (_KEY_ORDER.get(key, len(_KEY_ORDER)), key))}


def encode(value: Any) -> bytes:
    """Encode a value as JSON. orjson rejects lone surrogates and more than 254 levels, so json encodes those."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return json.dumps(value, separators=(",", ":"), allow_nan=False).encode()
