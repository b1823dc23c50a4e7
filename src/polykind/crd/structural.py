"""Structural schemas: every field specified once, outside of allOf, anyOf, oneOf and not, which may only narrow it."""

from __future__ import annotations

from typing import Any

from polykind.contract import JsonObject
from polykind.crd.schema_walker import (
    EMBEDDED,
    INT_OR_STRING,
    LIST_MAP_KEYS,
    LIST_TYPE,
    MAP_TYPE,
    PRESERVE,
    VALIDATIONS,
    all_schemas,
    has_invalid_type,
)
from polykind.errors import FieldError, forbidden, invalid, required
from polykind.golang.regexp import PatternError, compile_pattern

_ROOT, _ITEM, _FIELD = "at the root", "for specified array items", "for specified object fields"
_INT_OR_STRING = [{"type": "integer"}, {"type": "string"}]

_FORBIDDEN_INSIDE = {
    "type": "must be empty to be structural",
    "default": "must be undefined to be structural",
    "title": "must be empty to be structural",
    "description": "must be empty to be structural",
    "nullable": "must be false to be structural",
    PRESERVE: "must be false to be structural",
    EMBEDDED: "must be false to be structural",
    INT_OR_STRING: "must be false to be structural",
    LIST_MAP_KEYS: "must be empty to be structural",
    LIST_TYPE: "must be undefined to be structural",
    MAP_TYPE: "must be undefined to be structural",
    VALIDATIONS: "must be empty to be structural",
}
_JUDGED_INSIDE = frozenset(_FORBIDDEN_INSIDE)
_NARROWING = frozenset({"allOf", "anyOf", "oneOf", "not", "pattern"})

_OVERLOOKED = frozenset({"$ref", "enum", "allOf", "anyOf", "oneOf", "patternProperties", "dependencies", "definitions"})
"""What an empty one of counts as none; an empty `required` does not."""

_UNSUPPORTED = (
    ("id", "id"),
    ("$schema", "schema"),
    ("$ref", "$ref"),
    ("patternProperties", "patternProperties"),
    ("dependencies", "dependencies"),
    ("additionalItems", "additionalItems"),
    ("definitions", "definitions"),
)


_READ = frozenset(
    {*(key for key, _ in _UNSUPPORTED), *_NARROWING, PRESERVE, "items", "properties", "additionalProperties"}
)
_SPECIFIED = frozenset({"items", "properties", "additionalProperties", EMBEDDED, INT_OR_STRING, *_NARROWING})


def is_structural(schema: JsonObject) -> bool:
    """Whether nothing at all is in the way of reading a schema as structural."""
    try:
        return not (
            any(map(has_invalid_type, all_schemas(schema)))
            or unsupported_reason(schema)
            or structural_violations(schema, "")
        )
    except RecursionError:
        return False


def unsupported_reason(schema: JsonObject) -> str | None:
    """Why a schema cannot even be read as structural: keywords and shapes there is no place for."""
    if _READ.isdisjoint(schema):
        return None
    for key, name in _UNSUPPORTED:
        if key in schema and (schema[key] or key == "additionalItems"):
            return f"OpenAPIV3Schema '{name}' is not supported"
    for clause in _clauses(schema):
        why = unsupported_reason(clause)
        if why:
            return why
    if schema.get(PRESERVE) is False:
        return "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined"
    items = schema.get("items")
    if items and isinstance(items, list):
        return "OpenAPIV3Schema 'items' must be a schema, but is an array"
    children = [items, *(schema.get("properties") or {}).values(), schema.get("additionalProperties")]
    for child in children:
        if isinstance(child, dict):
            why = unsupported_reason(child)
            if why:
                return why
    return None


def _clauses(schema: JsonObject) -> list[JsonObject]:
    if _NARROWING.isdisjoint(schema):
        return []
    inside = [schema["not"]] if "not" in schema else []
    return [*inside, *(schema.get("allOf") or ()), *(schema.get("anyOf") or ()), *(schema.get("oneOf") or ())]


def structural_violations(schema: JsonObject, path: str) -> list[FieldError]:
    """Every way a readable schema falls short of being structural, in the order of the texts."""
    errors: list[FieldError] = []
    _specified(schema, _ROOT, path, errors)
    for clause, at in _narrowings(schema, path):
        _complete(clause, schema, path, at, errors)
    if len(errors) > 1:
        errors.sort(key=str)
    return errors


def _specified(node: JsonObject, level: str, path: str, errors: list[FieldError]) -> None:
    """The rules of a schema that specifies fields, as against one that only narrows them."""
    type_, items, properties = node.get("type", ""), node.get("items"), node.get("properties")
    if isinstance(items, dict):
        _specified(items, _ITEM, f"{path}.items", errors)
    elif type_ == "array":
        errors.append(required(f"{path}.items", "must be specified"))
    if properties:
        for name, child in properties.items():
            # Most fields are scalars with a type, and have no rule to break.
            if not _SPECIFIED.isdisjoint(child) or child.get("type", "") in ("", "array"):
                _specified(child, _FIELD, f"{path}.properties[{name}]", errors)
    additional = node.get("additionalProperties")
    if additional is not None:
        if level is _ROOT:
            errors.append(forbidden(f"{path}.additionalProperties", "must not be used at the root"))
        if isinstance(additional, dict):
            _specified(additional, _FIELD, f"{path}.additionalProperties", errors)
    embedded = EMBEDDED in node
    if embedded:
        _embedded(node, type_, path, errors)
    if INT_OR_STRING in node:
        detail = "must be false if x-kubernetes-int-or-string is true"
        errors.extend(invalid(f"{path}.{key}", True, detail) for key in (PRESERVE, EMBEDDED) if key in node)
    elif not type_ and not embedded and PRESERVE not in node:
        errors.append(required(f"{path}.type", f"must not be empty {level}"))
    if level is _ROOT and type_ not in ("", "object"):
        errors.append(invalid(f"{path}.type", type_, "must be object at the root"))
    if properties:
        _type_and_object_meta(properties, level, embedded, path, errors)
    if not _NARROWING.isdisjoint(node):
        _narrowing(node, path, errors, _is_int_or_string(node.get("anyOf")), _first_is_int_or_string(node))


def _embedded(node: JsonObject, type_: str, path: str, errors: list[FieldError]) -> None:
    if type_ != "object":
        detail = "must be object if x-kubernetes-embedded-resource is true"
        errors.append(invalid(f"{path}.type", type_, detail) if type_ else required(f"{path}.type", detail))
    if "additionalProperties" in node:
        detail = "must not be used if x-kubernetes-embedded-resource is set"
        errors.append(forbidden(f"{path}.additionalProperties", detail))
    if PRESERVE not in node and not node.get("properties"):
        detail = (
            "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields"
        )
        errors.append(required(f"{path}.properties", detail))


def _type_and_object_meta(
    properties: JsonObject, level: str, embedded: bool, path: str, errors: list[FieldError]
) -> None:
    """kind, apiVersion and metadata of a resource have their types; a root may only narrow names in metadata."""
    resource = level is _ROOT or embedded
    if resource:
        for name in ("kind", "apiVersion"):
            if name in properties and properties[name].get("type", "") != "string":
                at = f"{path}.properties[{name}].type"
                errors.append(invalid(at, properties[name].get("type", ""), "must be string"))
    metadata = properties.get("metadata")
    if metadata is None or not resource:
        return
    at = f"{path}.properties[metadata]"
    if metadata.get("type", "") != "object":
        errors.append(invalid(f"{at}.type", metadata.get("type", ""), "must be object"))
    if level is _ROOT:
        allowed = {k for k, v in metadata.items() if not _overlooked(k, v)} <= {"type", "default", "properties"}
        named = metadata.get("properties") or {}
        if not allowed or not named.keys() <= {"name", "generateName"}:
            detail = "must not specify anything other than name and generateName, but metadata is implicitly specified"
            errors.append(forbidden(at, detail))


def _is_int_or_string(clauses: Any) -> bool:
    return bool(clauses == _INT_OR_STRING or (clauses and list(map(_judged, clauses)) == _INT_OR_STRING))


def _judged(clause: JsonObject) -> JsonObject:
    """A clause without what is overlooked there, or says that nothing is added."""
    return {
        key: value
        for key, value in clause.items()
        if not _overlooked(key, value) and not (key == "additionalProperties" and value is False)
    }


def _overlooked(key: str, value: Any) -> bool:
    """Whether something is stated, but so empty that a structural schema has nothing of it."""
    return not value and (key in _OVERLOOKED or (key == "items" and not isinstance(value, dict)))


def _first_is_int_or_string(node: JsonObject) -> bool:
    first = (node.get("allOf") or [{}])[0]
    return _is_int_or_string(first.get("anyOf"))


def _narrowing(node: JsonObject, path: str, errors: list[FieldError], skip_any: bool, skip_first: bool) -> None:
    """Clauses and pattern of a schema. Integer-or-string may be spelled out in anyOf, or in the first of allOf."""
    if not skip_any:
        for index, clause in enumerate(node.get("anyOf") or ()):
            _clause(clause, f"{path}.anyOf[{index}]", errors)
    for index, clause in enumerate(node.get("allOf") or ()):
        _clause(clause, f"{path}.allOf[{index}]", errors, skip_any=skip_first and index == 0)
    for index, clause in enumerate(node.get("oneOf") or ()):
        _clause(clause, f"{path}.oneOf[{index}]", errors)
    if "not" in node:
        _clause(node["not"], f"{path}.not", errors)
    if "pattern" in node:
        try:
            compile_pattern(node["pattern"])
        except PatternError as error:
            detail = f"must be a valid regular expression, but isn't: {error}"
            errors.append(invalid(f"{path}.pattern", node["pattern"], detail))


def _clause(node: JsonObject, path: str, errors: list[FieldError], *, skip_any: bool = False) -> None:
    """The rules of a schema that only narrows what another specifies."""
    if not _NARROWING.isdisjoint(node):
        _narrowing(node, path, errors, skip_any, False)
    items, properties = node.get("items"), node.get("properties")
    if isinstance(items, dict):
        _clause(items, f"{path}.items", errors)
    if properties:
        for name, child in properties.items():
            _clause(child, f"{path}.properties[{name}]", errors)
        if "metadata" in properties:
            errors.append(forbidden(f"{path}.properties[metadata]", "must not be specified in a nested context"))
    if not _JUDGED_INSIDE.isdisjoint(node):
        errors.extend(
            forbidden(f"{path}.{key}", why)
            for key, why in _FORBIDDEN_INSIDE.items()
            if key in node and (node[key] or key not in (LIST_MAP_KEYS, VALIDATIONS))
        )
    if node.get("additionalProperties", False) is not False:
        errors.append(forbidden(f"{path}.additionalProperties", "must be undefined to be structural"))


def _narrowings(node: JsonObject, path: str) -> list[tuple[JsonObject, str]]:
    if _NARROWING.isdisjoint(node):
        return []
    inside = [(node["not"], f"{path}.not")] if "not" in node else []
    for key in ("allOf", "anyOf", "oneOf"):
        inside += [(clause, f"{path}.{key}[{index}]") for index, clause in enumerate(node.get(key) or ())]
    return inside


def _complete(clause: JsonObject, node: JsonObject | None, path: str, at: str, errors: list[FieldError]) -> None:
    """Whatever a clause at the root narrows must be specified as well."""
    if node is None:
        errors.append(required(path, f"because it is defined in {at}"))
        return
    for inside, inside_at in _narrowings(clause, at):
        _complete(inside, node, path, inside_at, errors)
    if isinstance(clause.get("items"), dict):
        _complete(clause["items"], node.get("items") or None, f"{path}.items", f"{at}.items", errors)
    specified = node.get("properties") or {}
    for name, child in (clause.get("properties") or {}).items():
        key = f".properties[{name}]"
        _complete(child, specified.get(name), path + key, at + key, errors)
