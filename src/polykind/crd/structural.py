"""Structural schemas. Their allOf, anyOf, oneOf and not may only constrain fields that are declared outside of them."""

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
_FORBIDDEN_KEYS = frozenset(_FORBIDDEN_INSIDE)
_CONSTRAINTS = frozenset({"allOf", "anyOf", "oneOf", "not", "pattern"})

_ABSENT_IF_EMPTY = frozenset(
    {"$ref", "enum", "allOf", "anyOf", "oneOf", "patternProperties", "dependencies", "definitions"}
)
"""Keywords that are treated as absent if their value is empty. An empty `required` is treated as present."""

_UNSUPPORTED = (
    ("id", "id"),
    ("$schema", "schema"),
    ("$ref", "$ref"),
    ("patternProperties", "patternProperties"),
    ("dependencies", "dependencies"),
    ("additionalItems", "additionalItems"),
    ("definitions", "definitions"),
)


_RELEVANT = frozenset(
    {*(key for key, _ in _UNSUPPORTED), *_CONSTRAINTS, PRESERVE, "items", "properties", "additionalProperties"}
)
_NEEDS_CHECK = frozenset({"items", "properties", "additionalProperties", EMBEDDED, INT_OR_STRING, *_CONSTRAINTS})


def is_structural(schema: JsonObject) -> bool:
    """True if a schema is structural and has no unknown types."""
    try:
        return not (
            any(map(has_invalid_type, all_schemas(schema)))
            or unsupported_reason(schema)
            or structural_violations(schema, "")
        )
    except RecursionError:
        return False


def unsupported_reason(schema: JsonObject) -> str | None:
    """Return the message about the first keyword that a structural schema must not have, or None if there is none."""
    if _RELEVANT.isdisjoint(schema):
        return None
    for key, name in _UNSUPPORTED:
        if key in schema and (schema[key] or key == "additionalItems"):
            return f"OpenAPIV3Schema '{name}' is not supported"
    for clause in _clauses(schema):
        message = unsupported_reason(clause)
        if message:
            return message
    if schema.get(PRESERVE) is False:
        return "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined"
    items = schema.get("items")
    if items and isinstance(items, list):
        return "OpenAPIV3Schema 'items' must be a schema, but is an array"
    children = [items, *(schema.get("properties") or {}).values(), schema.get("additionalProperties")]
    for child in children:
        if isinstance(child, dict):
            message = unsupported_reason(child)
            if message:
                return message
    return None


def _clauses(schema: JsonObject) -> list[JsonObject]:
    if _CONSTRAINTS.isdisjoint(schema):
        return []
    clauses = [schema["not"]] if "not" in schema else []
    return [*clauses, *(schema.get("allOf") or ()), *(schema.get("anyOf") or ()), *(schema.get("oneOf") or ())]


def structural_violations(schema: JsonObject, path: str) -> list[FieldError]:
    """Return the errors of a schema that is not structural, sorted by their texts."""
    errors: list[FieldError] = []
    _check_specified(schema, _ROOT, path, errors)
    for clause, at in _clauses_with_paths(schema, path):
        _check_completeness(clause, schema, path, at, errors)
    if len(errors) > 1:
        errors.sort(key=str)
    return errors


def _check_specified(node: JsonObject, level: str, path: str, errors: list[FieldError]) -> None:
    """Check a schema that is not inside allOf, anyOf, oneOf or not, and the schemas of its fields and items."""
    type_, items, properties = node.get("type", ""), node.get("items"), node.get("properties")
    if isinstance(items, dict):
        _check_specified(items, _ITEM, f"{path}.items", errors)
    elif type_ == "array":
        errors.append(required(f"{path}.items", "must be specified"))
    if properties:
        for name, child in properties.items():
            # Most properties are scalars with a type, which need no check.
            if not _NEEDS_CHECK.isdisjoint(child) or child.get("type", "") in ("", "array"):
                _check_specified(child, _FIELD, f"{path}.properties[{name}]", errors)
    additional = node.get("additionalProperties")
    if additional is not None:
        if level is _ROOT:
            errors.append(forbidden(f"{path}.additionalProperties", "must not be used at the root"))
        if isinstance(additional, dict):
            _check_specified(additional, _FIELD, f"{path}.additionalProperties", errors)
    embedded = EMBEDDED in node
    if embedded:
        _check_embedded(node, type_, path, errors)
    if INT_OR_STRING in node:
        detail = "must be false if x-kubernetes-int-or-string is true"
        errors.extend(invalid(f"{path}.{key}", True, detail) for key in (PRESERVE, EMBEDDED) if key in node)
    elif not type_ and not embedded and PRESERVE not in node:
        errors.append(required(f"{path}.type", f"must not be empty {level}"))
    if level is _ROOT and type_ not in ("", "object"):
        errors.append(invalid(f"{path}.type", type_, "must be object at the root"))
    if properties:
        _check_type_and_object_meta(properties, level, embedded, path, errors)
    if not _CONSTRAINTS.isdisjoint(node):
        _check_clauses(node, path, errors, _is_int_or_string(node.get("anyOf")), _first_is_int_or_string(node))


def _check_embedded(node: JsonObject, type_: str, path: str, errors: list[FieldError]) -> None:
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


def _check_type_and_object_meta(
    properties: JsonObject, level: str, embedded: bool, path: str, errors: list[FieldError]
) -> None:
    """Check the types of kind, apiVersion and metadata. Root metadata may declare only name and generateName."""
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
        allowed = {k for k, v in metadata.items() if not _counts_as_absent(k, v)} <= {"type", "default", "properties"}
        named = metadata.get("properties") or {}
        if not allowed or not named.keys() <= {"name", "generateName"}:
            detail = "must not specify anything other than name and generateName, but metadata is implicitly specified"
            errors.append(forbidden(at, detail))


def _is_int_or_string(clauses: Any) -> bool:
    return bool(clauses == _INT_OR_STRING or (clauses and list(map(_without_empty, clauses)) == _INT_OR_STRING))


def _without_empty(clause: JsonObject) -> JsonObject:
    """Return a clause, a schema of an anyOf, without the empty keywords that kube-apiserver treats as absent."""
    return {
        key: value
        for key, value in clause.items()
        if not _counts_as_absent(key, value) and not (key == "additionalProperties" and value is False)
    }


def _counts_as_absent(key: str, value: Any) -> bool:
    """True if the value of a keyword is empty and kube-apiserver treats the keyword as absent."""
    return not value and (key in _ABSENT_IF_EMPTY or (key == "items" and not isinstance(value, dict)))


def _first_is_int_or_string(node: JsonObject) -> bool:
    first = (node.get("allOf") or [{}])[0]
    return _is_int_or_string(first.get("anyOf"))


def _check_clauses(
    node: JsonObject, path: str, errors: list[FieldError], skip_any_of: bool, skip_first_all_of: bool
) -> None:
    """Check allOf, anyOf, oneOf, not and the pattern of a schema.

    If `skip_any_of` is true, skip the anyOf. If `skip_first_all_of` is true, skip the anyOf in the first allOf. An
    int-or-string schema may have either.
    """
    if not skip_any_of:
        for index, clause in enumerate(node.get("anyOf") or ()):
            _check_clause(clause, f"{path}.anyOf[{index}]", errors)
    for index, clause in enumerate(node.get("allOf") or ()):
        _check_clause(clause, f"{path}.allOf[{index}]", errors, skip_any_of=skip_first_all_of and index == 0)
    for index, clause in enumerate(node.get("oneOf") or ()):
        _check_clause(clause, f"{path}.oneOf[{index}]", errors)
    if "not" in node:
        _check_clause(node["not"], f"{path}.not", errors)
    if "pattern" in node:
        try:
            compile_pattern(node["pattern"])
        except PatternError as error:
            detail = f"must be a valid regular expression, but isn't: {error}"
            errors.append(invalid(f"{path}.pattern", node["pattern"], detail))


def _check_clause(node: JsonObject, path: str, errors: list[FieldError], *, skip_any_of: bool = False) -> None:
    """Check one schema inside allOf, anyOf, oneOf or not. It may only constrain fields, not specify them."""
    if not _CONSTRAINTS.isdisjoint(node):
        _check_clauses(node, path, errors, skip_any_of, False)
    items, properties = node.get("items"), node.get("properties")
    if isinstance(items, dict):
        _check_clause(items, f"{path}.items", errors)
    if properties:
        for name, child in properties.items():
            _check_clause(child, f"{path}.properties[{name}]", errors)
        if "metadata" in properties:
            errors.append(forbidden(f"{path}.properties[metadata]", "must not be specified in a nested context"))
    if not _FORBIDDEN_KEYS.isdisjoint(node):
        errors.extend(
            forbidden(f"{path}.{key}", message)
            for key, message in _FORBIDDEN_INSIDE.items()
            if key in node and (node[key] or key not in (LIST_MAP_KEYS, VALIDATIONS))
        )
    if node.get("additionalProperties", False) is not False:
        errors.append(forbidden(f"{path}.additionalProperties", "must be undefined to be structural"))


def _clauses_with_paths(node: JsonObject, path: str) -> list[tuple[JsonObject, str]]:
    if _CONSTRAINTS.isdisjoint(node):
        return []
    clauses = [(node["not"], f"{path}.not")] if "not" in node else []
    for key in ("allOf", "anyOf", "oneOf"):
        clauses += [(clause, f"{path}.{key}[{index}]") for index, clause in enumerate(node.get(key) or ())]
    return clauses


def _check_completeness(
    clause: JsonObject, node: JsonObject | None, path: str, at: str, errors: list[FieldError]
) -> None:
    """Check that `node` declares all fields that `clause` constrains. `clause` is in its allOf, anyOf, oneOf or not."""
    if node is None:
        errors.append(required(path, f"because it is defined in {at}"))
        return
    for clauses, clause_path in _clauses_with_paths(clause, at):
        _check_completeness(clauses, node, path, clause_path, errors)
    if isinstance(clause.get("items"), dict):
        _check_completeness(clause["items"], node.get("items") or None, f"{path}.items", f"{at}.items", errors)
    specified = node.get("properties") or {}
    for name, child in (clause.get("properties") or {}).items():
        key = f".properties[{name}]"
        _check_completeness(child, specified.get(name), path + key, at + key, errors)
