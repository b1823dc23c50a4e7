"""Traversal of the schemas inside a schema, and checks of single schema nodes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from polykind.contract import JsonObject
from polykind.errors import FieldError, forbidden, required

TYPES = frozenset({"array", "boolean", "integer", "number", "object", "string"})

PRESERVE = "x-kubernetes-preserve-unknown-fields"
EMBEDDED = "x-kubernetes-embedded-resource"
INT_OR_STRING = "x-kubernetes-int-or-string"
LIST_TYPE = "x-kubernetes-list-type"
LIST_MAP_KEYS = "x-kubernetes-list-map-keys"
MAP_TYPE = "x-kubernetes-map-type"
VALIDATIONS = "x-kubernetes-validations"

_EXTENSIONS = frozenset({PRESERVE, EMBEDDED, INT_OR_STRING, LIST_TYPE})
SINGLE = frozenset({"not", "items", "additionalProperties", "additionalItems"})
LISTED = frozenset({"allOf", "anyOf", "oneOf"})
NAMED = frozenset({"properties", "patternProperties", "definitions", "dependencies"})
NESTING = SINGLE | LISTED | NAMED


def all_schemas(schema: JsonObject) -> list[JsonObject]:
    """Return a schema and all schemas inside it, parents first."""
    out: list[JsonObject] = []
    pending = [schema]
    while pending:
        node = pending.pop()
        out.append(node)
        if not NESTING.isdisjoint(node):
            pending.extend(reversed(_children(node)))
    return out


def _children(node: JsonObject) -> list[JsonObject]:
    schemas: list[JsonObject] = []
    for key, value in node.items():
        if key in NESTING:
            children: Iterable[Any] = value.values() if key in NAMED else value if isinstance(value, list) else (value,)
            schemas += [child for child in children if isinstance(child, dict)]
    return schemas


def root_schemas(internal: JsonObject) -> list[JsonObject]:
    """Return the root schemas of an internal spec: the schema at the top level, then the schemas of version entries."""
    schema_settings = [
        internal.get("validation"),
        *(version.get("schema") for version in internal.get("versions") or ()),
    ]
    return [s["openAPIV3Schema"] for s in schema_settings if s is not None and s.get("openAPIV3Schema") is not None]


def has_default(node: JsonObject) -> bool:
    """True if a schema node has a default."""
    return "default" in node


def has_extension(node: JsonObject) -> bool:
    """True if a schema node has an x-kubernetes- extension that requires a structural schema."""
    return not _EXTENSIONS.isdisjoint(node) or bool(node.get(LIST_MAP_KEYS) or node.get(VALIDATIONS))


def has_invalid_type(node: JsonObject) -> bool:
    """True if a schema node has an unknown type."""
    return bool(node.get("type")) and node["type"] not in TYPES


def has_non_atomic_set_items(node: JsonObject) -> bool:
    """True for a list of type set whose items are lists or objects that are not atomic."""
    items = node.get("items")
    if node.get(LIST_TYPE) != "set" or not isinstance(items, dict):
        return False
    if items.get("type") == "array":
        return items.get(LIST_TYPE) not in (None, "atomic")
    return items.get("type") == "object" and items.get(MAP_TYPE) != "atomic"


def validate_list_keys(node: JsonObject, path: str) -> list[FieldError]:
    """Check that items of set and map lists are not nullable, and that list map keys are required or have a default and
    are not nullable.
    """
    items, list_type = node.get("items"), node.get(LIST_TYPE)
    if list_type not in ("set", "map") or not isinstance(items, dict):
        return []
    errors = []
    if items.get("nullable"):
        errors.append(
            forbidden(f"{path}.items.nullable", f"cannot be nullable when x-kubernetes-list-type is {list_type}")
        )
    if list_type == "set":
        return errors
    required_properties = items.get("required") or ()
    properties = items.get("properties") or {}
    for key in node.get(LIST_MAP_KEYS) or ():
        field = properties.get(key)
        if field is None:
            continue
        at = f"{path}.items.properties[{key}]"
        if key not in required_properties and "default" not in field:
            detail = (
                "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property"
            )
            errors.append(required(f"{at}.default", detail))
        if field.get("nullable"):
            detail = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable"
            errors.append(forbidden(f"{at}.nullable", detail))
    return errors
