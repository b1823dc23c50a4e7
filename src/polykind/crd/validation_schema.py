"""Validation of schemas with the checks that apply to both structural and non-structural schemas."""

from __future__ import annotations

import re
from typing import NamedTuple

from polykind.contract import JsonObject
from polykind.crd.cel_rules import RuleLocation, SchemaStep
from polykind.crd.field_path import FieldPathError, find_field
from polykind.crd.internal_json import as_json, items_list
from polykind.crd.schema_walker import (
    EMBEDDED,
    LIST_MAP_KEYS,
    LIST_TYPE,
    MAP_TYPE,
    PRESERVE,
    TYPES,
    VALIDATIONS,
    has_non_atomic_set_items,
    validate_list_keys,
)
from polykind.crd.structural import unsupported_reason
from polykind.errors import FieldError, forbidden, invalid, not_supported, required

_REASONS = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")
_META = frozenset({"metadata", "kind", "apiVersion"})
_line_break = re.compile(r"[\n\r]").search

_UNSUPPORTED = {
    "id": "id is not supported",
    "additionalItems": "additionalItems is not supported",
    "patternProperties": "patternProperties is not supported",
    "definitions": "definitions is not supported",
    "dependencies": "dependencies is not supported",
    "$ref": "$ref is not supported",
}
_ALLOWED_IF_EMPTY = frozenset({"patternProperties", "definitions"})
"""Keywords that are forbidden only if they are not empty."""
_CHECKED = frozenset({*_UNSUPPORTED, "type", "default", "items", EMBEDDED, "uniqueItems"})
_MERGE_KEYWORDS = frozenset({PRESERVE, MAP_TYPE, LIST_TYPE, LIST_MAP_KEYS})
_NESTING = frozenset(
    {"additionalProperties", "properties", "not", "allOf", "oneOf", "anyOf", "definitions", "items", "dependencies"}
)
_NEEDS_VISIT = (_CHECKED | _MERGE_KEYWORDS | _NESTING | {VALIDATIONS}) - {"type"}


class SchemaStrictness(NamedTuple):
    """Flags that enable optional checks. A flag is false if the old CRD already fails the check (ratcheting).

    `defaults` is the reason why defaults are forbidden. It is None if they are allowed.
    """

    defaults: str | None
    types: bool
    set_items: bool
    list_keys: bool


class _Context(NamedTuple):
    """The part of the validation state that a schema node passes on to the schemas inside it."""

    defaults: str | None
    inside_meta: bool
    uncorrelated: str | None
    rules: bool


class SchemaValidator:
    """Validates one root schema. `errors` are in kube-apiserver's order. `locations` are the nodes with CEL rules."""

    def __init__(self, strictness: SchemaStrictness, *, rules: bool) -> None:
        self.strictness = strictness
        self.errors: list[FieldError] = []
        self.locations: list[RuleLocation] = []
        self._steps: list[SchemaStep] = []
        self._root = _Context(strictness.defaults, False, None, rules)

    def validate(self, schema: JsonObject, path: str) -> None:
        """Validate a root schema and all schemas inside it."""
        self._visit(schema, path, self._root, root=True)

    def _visit(self, node: JsonObject, path: str, context: _Context, *, root: bool = False) -> None:
        before = len(self.errors)
        if not _CHECKED.isdisjoint(node):
            self._validate_keywords(node, path, context)
        if not _NESTING.isdisjoint(node):
            self._visit_children(node, path, context, root)
        if not _MERGE_KEYWORDS.isdisjoint(node):
            self._validate_merge_keywords(node, path)
        if node.get(VALIDATIONS):
            for index, rule in enumerate(node[VALIDATIONS]):
                self._validate_rule(rule, f"{path}.{VALIDATIONS}[{index}]", node)
            if context.rules and len(self.errors) == before:
                self.locations.append(RuleLocation(node, path, tuple(self._steps), context.uncorrelated))

    def _validate_keywords(self, node: JsonObject, path: str, context: _Context) -> None:
        errors, type_ = self.errors, node.get("type")
        if self.strictness.types and type_ and type_ not in TYPES:
            errors.append(not_supported(f"{path}.type", type_, sorted(TYPES)))
        if context.defaults is not None and "default" in node:
            errors.append(forbidden(f"{path}.default", f"must not be set {context.defaults}".rstrip()))
        if not _UNSUPPORTED.keys().isdisjoint(node):
            errors += _unsupported_keywords(node, path)
        if type_ == "null":
            errors.append(forbidden(f"{path}.type", "type cannot be set to null, use nullable as an alternative"))
        if node.get("items") and isinstance(node["items"], list):
            errors.append(forbidden(f"{path}.items", "items must be a schema object and not an array"))
        if context.inside_meta and EMBEDDED in node:
            errors.append(forbidden(f"{path}.{EMBEDDED}", "must not be used inside of resource meta"))
        if "uniqueItems" in node:
            detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
            errors.append(forbidden(f"{path}.uniqueItems", detail))

    def _visit_children(self, node: JsonObject, path: str, context: _Context, root: bool) -> None:
        additional, properties = node.get("additionalProperties"), node.get("properties")
        if additional is not None:
            self._visit_additional(node, path, context)
        if properties:
            self._visit_properties(node, path, context, root)
        without_rules = context._replace(rules=False)
        if "not" in node:
            self._visit(node["not"], f"{path}.not", without_rules)
        for key in ("allOf", "oneOf", "anyOf"):
            for index, clause in enumerate(node.get(key) or ()):
                self._visit(clause, f"{path}.{key}[{index}]", without_rules)
        for name, child in (node.get("definitions") or {}).items():
            self._visit(child, f"{path}.definitions[{name}]", without_rules)
        if node.get("items") is not None:
            self._visit_items(node, path, context)
        for name, child in (node.get("dependencies") or {}).items():
            if isinstance(child, dict):
                self._visit(child, f"{path}.dependencies[{name}]", without_rules)

    def _visit_additional(self, node: JsonObject, path: str, context: _Context) -> None:
        additional = node["additionalProperties"]
        if node.get("properties") and additional is not True:
            detail = "additionalProperties and properties are mutual exclusive"
            self.errors.append(forbidden(f"{path}.additionalProperties", detail))
        if isinstance(additional, dict):
            if context.inside_meta:
                context = context._replace(defaults="inside additionalProperties applying to object metadata")
            self._visit_child("additionalProperties", "", node, additional, f"{path}.additionalProperties", context)

    def _visit_properties(self, node: JsonObject, path: str, context: _Context, root: bool) -> None:
        if context.uncorrelated is None and node.get(MAP_TYPE) not in (None, "granular", "atomic"):
            context = context._replace(uncorrelated=path)
        resource = root or EMBEDDED in node
        for name, child in node["properties"].items():
            # Most properties have a type and no keyword that needs a check.
            if _NEEDS_VISIT.isdisjoint(child) and child.get("type") in TYPES:
                continue
            inner = context
            if resource and name in _META:
                inner = context._replace(inside_meta=True)
                if root:
                    inner = inner._replace(defaults=f"in top-level {name}")
            self._visit_child("properties", name, node, child, f"{path}.properties[{name}]", inner)

    def _visit_items(self, node: JsonObject, path: str, context: _Context) -> None:
        items = node["items"]
        if context.uncorrelated is None and node.get(LIST_TYPE) != "map":
            context = context._replace(uncorrelated=path)
        if isinstance(items, dict):
            self._visit_child("items", "", node, items, f"{path}.items", context)
            return
        for index, child in enumerate(items or ()):
            self._visit_child("items", "", node, child, f"{path}.items[{index}]", context)

    def _visit_child(
        self, kind: str, key: str, parent: JsonObject, node: JsonObject, path: str, context: _Context
    ) -> None:
        self._steps.append(SchemaStep(kind, key, parent))
        self._visit(node, path, context)
        self._steps.pop()

    def _validate_merge_keywords(self, node: JsonObject, path: str) -> None:
        errors = self.errors
        if node.get(PRESERVE) is False:
            errors.append(invalid(f"{path}.{PRESERVE}", False, "must be true or undefined"))
        type_, map_type, list_type = node.get("type", ""), node.get(MAP_TYPE), node.get(LIST_TYPE)
        if map_type is not None:
            if type_ != "object":
                errors.append(_type_error(path, type_, "must be object if x-kubernetes-map-type is specified"))
            if map_type not in ("atomic", "granular"):
                errors.append(not_supported(f"{path}.{MAP_TYPE}", map_type, ("atomic", "granular")))
        if list_type is not None:
            if type_ != "array":
                errors.append(_type_error(path, type_, "must be array if x-kubernetes-list-type is specified"))
            elif self.strictness.set_items and has_non_atomic_set_items(node):
                errors.append(_set_items_error(node, path))
            if list_type not in ("atomic", "set", "map"):
                errors.append(not_supported(f"{path}.{LIST_TYPE}", list_type, ("atomic", "set", "map")))
        self._validate_map_keys(node, path, list_type)
        if self.strictness.list_keys:
            errors.extend(validate_list_keys(node, path))

    def _validate_map_keys(self, node: JsonObject, path: str, list_type: str | None) -> None:
        errors, keys, items = self.errors, node.get(LIST_MAP_KEYS) or [], node.get("items")
        if list_type != "map":
            if keys:
                at, detail = f"{path}.{LIST_TYPE}", "must be map if x-kubernetes-list-map-keys is non-empty"
                errors.append(required(at, detail) if list_type is None else invalid(at, list_type, detail))
            return
        if not keys:
            errors.append(required(f"{path}.{LIST_MAP_KEYS}", "must not be empty if x-kubernetes-list-type is map"))
        if items is None:
            errors.append(required(f"{path}.items", "must have a schema if x-kubernetes-list-type is map"))
        elif not isinstance(items, dict):
            detail = "must only have a single schema if x-kubernetes-list-type is map"
            errors.append(invalid(f"{path}.items", items_list(items), detail))
        elif items.get("type", "") != "object":
            detail = "must be object if parent array's x-kubernetes-list-type is map"
            errors.append(invalid(f"{path}.items.type", items.get("type", ""), detail))
        else:
            self._validate_key_properties(keys, items.get("properties") or {}, path)

    def _validate_key_properties(self, keys: list[str], properties: JsonObject, path: str) -> None:
        known = set()
        for key in keys:
            if key not in properties:
                detail = "entries must all be names of item properties"
                self.errors.append(invalid(f"{path}.{LIST_MAP_KEYS}", keys, detail))
            elif properties[key].get("type") in ("array", "object"):
                at = f"{path}.items.properties[{key}].type"
                detail = "must be a scalar type if parent array's x-kubernetes-list-type is map"
                self.errors.append(invalid(at, "object", detail))
            if key in known:
                self.errors.append(invalid(f"{path}.{LIST_MAP_KEYS}", keys, "must not contain duplicate entries"))
            known.add(key)

    def _validate_rule(self, rule: JsonObject, path: str, node: JsonObject) -> None:
        errors = self.errors
        text, message = rule["rule"].strip(), rule.get("message", "")
        if not text:
            errors.append(required(f"{path}.rule", "rule is not specified"))
        elif message and not message.strip():
            errors.append(invalid(f"{path}.message", message, "must be non-empty if specified"))
        elif _line_break(message.strip()):
            errors.append(invalid(f"{path}.message", message, "must not contain line breaks"))
        elif _line_break(text) and not message:
            errors.append(required(f"{path}.message", "message must be specified if rule contains line breaks"))
        expression = rule.get("messageExpression", "")
        if expression and not expression.strip():
            detail = "messageExpression must be non-empty if specified"
            errors.append(required(f"{path}.messageExpression", detail))
        reason = rule.get("reason")
        if reason is not None and reason not in _REASONS:
            errors.append(not_supported(f"{path}.reason", as_json(reason), _REASONS))
        self._validate_field_path(rule.get("fieldPath", ""), f"{path}.fieldPath", node)

    def _validate_field_path(self, field_path: str, at: str, node: JsonObject) -> None:
        if not field_path:
            return
        if not field_path.strip():
            self.errors.append(invalid(at, field_path, "must be non-empty if specified"))
        if _line_break(field_path):
            self.errors.append(invalid(at, field_path, "must not contain line breaks"))
        if unsupported_reason(node) is None:
            try:
                find_field(field_path, node)
            except FieldPathError:
                self.errors.append(invalid(at, field_path, "must be a valid path"))


def _type_error(path: str, type_: str, detail: str) -> FieldError:
    return invalid(f"{path}.type", type_, detail) if type_ else required(f"{path}.type", detail)


def _set_items_error(node: JsonObject, path: str) -> FieldError:
    """Return the error for a set with non-atomic items.

    As in kube-apiserver, the error always quotes the list type of the items, even if the items are objects.
    """
    items = node["items"]
    key = LIST_TYPE if items["type"] == "array" else MAP_TYPE
    detail = "must be atomic as item of a list with x-kubernetes-list-type=set"
    return invalid(f"{path}.items.{key}", items.get(LIST_TYPE), detail)


def _unsupported_keywords(node: JsonObject, path: str) -> list[FieldError]:
    return [
        forbidden(f"{path}.{key}", message)
        for key, message in _UNSUPPORTED.items()
        if key in node and (node[key] or key not in _ALLOWED_IF_EMPTY)
    ]
