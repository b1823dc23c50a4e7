"""Defaults in schemas: each must be pruned, and valid by its own schema; those of metadata must make valid metadata."""

from __future__ import annotations

from typing import Any

from polykind.contract import JsonObject
from polykind.crd.cel_rules import RuleChecker
from polykind.crd.schema_walker import EMBEDDED, VALIDATIONS, all_schemas, has_default
from polykind.errors import FieldError, aggregate_message, invalid
from polykind.schema.embedded_resources import EmbeddedResourceError, coerce_embedded, validate_embedded
from polykind.schema.equality import deep_copy, deep_equal
from polykind.schema.node import META_KEYS, SchemaNode
from polykind.schema.pruning import prune
from polykind.schema.validation_result import field_errors
from polykind.schema.value_validation import validate_value

_DEFAULTING = frozenset({"default", "items", "properties"})
_SCALARS = frozenset({bool, int, float, str})
_TYPE_META = {"kind": "Validation", "apiVersion": "validation/v1"}


def validate_defaults(
    schema: JsonObject, path: str, *, pruned: bool, rules: RuleChecker | None = None
) -> list[FieldError]:
    """What is wrong with the defaults of a structural schema. Those below additionalProperties are not looked at.

    The metadata of embedded resources in them is cleaned in place.
    """
    errors: list[FieldError] = []
    if any(map(has_default, all_schemas(schema))):
        root = {**schema, EMBEDDED: True}
        _Walk(pruned, rules, errors).visit(root, path, root, (), False)
    return errors


def has_unpruned_defaults(schema: JsonObject) -> bool:
    """Whether a default has fields its schema does not know."""
    return any("default" in node and not _is_pruned(node) for node in all_schemas(schema))


def _is_pruned(schema: JsonObject) -> bool:
    if type(schema["default"]) in _SCALARS:
        return True
    value = deep_copy(schema["default"])
    prune(SchemaNode(schema), value, "", None, root=EMBEDDED in schema)
    return deep_equal(value, schema["default"])


class _Walk:
    """One walk over the schemas that can have defaults."""

    def __init__(self, pruned: bool, rules: RuleChecker | None, errors: list[FieldError]) -> None:
        self.pruned, self.rules, self.errors = pruned, rules, errors

    def visit(
        self, schema: JsonObject, path: str, resource: JsonObject, steps: tuple[str | int, ...], inside_meta: bool
    ) -> None:
        """Look at a schema that stands at `steps` below the resource, itself or embedded, that it is a part of."""
        if EMBEDDED in schema:
            resource, steps, inside_meta = schema, (), False
        if "default" in schema:
            at = f"{path}.default"
            if not inside_meta and self.pruned and not _is_pruned(schema):
                # What is unknown is told besides what else is wrong.
                self.errors.append(invalid(at, schema["default"], "must not have unknown fields"))
            found = _metadata_problems(schema, at, resource, steps) if inside_meta else _value_problems(schema, at)
            if not found and self.rules is not None and any(VALIDATIONS in node for node in all_schemas(schema)):
                found = self.rules.check_default(schema, schema["default"], at, root=schema is resource)
            self.errors += found
        items = schema.get("items")
        if items is not None:
            self.visit(items, f"{path}.items", resource, (*steps, 0), inside_meta)
        for name, child in (schema.get("properties") or {}).items():
            if _DEFAULTING.isdisjoint(child):
                continue
            meta = inside_meta or (EMBEDDED in schema and name in META_KEYS)
            self.visit(child, f"{path}.properties[{name}]", resource, (*steps, name), meta)


def _value_problems(schema: JsonObject, at: str) -> list[FieldError]:
    if type(schema["default"]) in _SCALARS and EMBEDDED not in schema:
        # There is no object in a scalar to have metadata.
        return field_errors(validate_value(SchemaNode(schema, for_defaults=True), schema["default"]).errors, at)
    # The very default of the definition is cleaned, as the reference does: what metadata cannot hold is not stored.
    node, value = SchemaNode(schema), schema["default"]
    try:
        coerce_embedded(node, value, at, [], strict=True)
    except EmbeddedResourceError as misfit:
        return [misfit.error]
    found: list[FieldError] = []
    validate_embedded(node, value, at, found)
    return found or field_errors(validate_value(SchemaNode(schema, for_defaults=True), value).errors, at)


def _metadata_problems(
    schema: JsonObject, at: str, resource: JsonObject, steps: tuple[str | int, ...]
) -> list[FieldError]:
    value = schema["default"]
    whole: Any = deep_copy(value)
    for step in reversed(steps):
        whole = [whole] if step == 0 and isinstance(step, int) else {step: whole}
    surrounding: JsonObject = {**_TYPE_META, **whole}
    node = SchemaNode(resource)
    found: list[FieldError] = []
    try:
        coerce_embedded(node, surrounding, "", [], strict=True)
        validate_embedded(node, surrounding, "", found)
    except EmbeddedResourceError as misfit:
        found = [misfit.error]
    if found:
        return [invalid(at, value, f"must result in valid metadata: {aggregate_message(found)}")]
    return field_errors(validate_value(SchemaNode(schema, for_defaults=True), value).errors, at)
