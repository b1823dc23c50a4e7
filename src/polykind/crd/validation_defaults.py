"""Validation of defaults in schemas. A default must be valid and have no unknown fields."""

from __future__ import annotations

from typing import Any, Final

from polykind.contract import JsonObject
from polykind.crd.cel_rules import RuleChecker
from polykind.crd.schema_walker import EMBEDDED, VALIDATIONS, all_schemas
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
    """Validate the defaults of a structural schema. As in kube-apiserver, those in additionalProperties are skipped.

    The metadata of embedded resources inside defaults is coerced in place.
    """
    errors: list[FieldError] = []
    root = {**schema, EMBEDDED: True}
    _DefaultsWalker(pruned, rules, errors).visit(root, path, root, (), False)
    return errors


def has_unpruned_defaults(schema: JsonObject) -> bool:
    """True if a default has fields that its schema does not specify."""
    return any("default" in node and not _is_pruned(node) for node in all_schemas(schema))


def _is_pruned(schema: JsonObject) -> bool:
    if type(schema["default"]) in _SCALARS:
        return True
    value = deep_copy(schema["default"])
    prune(SchemaNode(schema), value, "", None, root=EMBEDDED in schema)
    return deep_equal(value, schema["default"])


class _DefaultsWalker:
    """Visits all schemas that can have defaults and validates the defaults."""

    def __init__(self, pruned: bool, rules: RuleChecker | None, errors: list[FieldError]) -> None:
        self.pruned, self.rules, self.errors = pruned, rules, errors

    def _check_default(
        self, schema: JsonObject, path: str, resource: JsonObject, meta_keys: tuple[str | int, ...] | None
    ) -> None:
        """Validate the default of `schema`. `meta_keys` is its path in `resource` if that is inside of metadata."""
        if meta_keys is not None:
            errors = _validate_metadata_default(schema, path, resource, meta_keys)
        else:
            if self.pruned and not _is_pruned(schema):
                # kube-apiserver reports unknown fields in addition to other errors of the same default.
                self.errors.append(invalid(path, schema["default"], "must not have unknown fields"))
            errors = _validate_default(schema, path)
        if not errors and self.rules is not None and any(VALIDATIONS in node for node in all_schemas(schema)):
            errors = self.rules.check_default(schema, schema["default"], path, root=schema is resource)
        self.errors += errors

    def visit(
        self, schema: JsonObject, path: str, resource: JsonObject, keys: tuple[str | int, ...], inside_meta: bool
    ) -> None:
        """Validate the defaults in `schema`, which is at the path `keys` in `resource`.

        `resource` is the schema of the enclosing object: the root or an embedded resource.
        """
        if EMBEDDED in schema:
            resource, keys, inside_meta = schema, (), False
        if "default" in schema:
            self._check_default(schema, f"{path}.default", resource, keys if inside_meta else None)
        items = schema.get("items")
        if items is not None:
            self.visit(items, f"{path}.items", resource, (*keys, 0), inside_meta)
        for name, child in (schema.get("properties") or {}).items():
            if _DEFAULTING.isdisjoint(child):
                continue
            meta = inside_meta or (EMBEDDED in schema and name in META_KEYS)
            self.visit(child, f"{path}.properties[{name}]", resource, (*keys, name), meta)


def _validate_default(schema: JsonObject, default_path: str) -> list[FieldError]:
    if _is_valid_scalar(schema, schema["default"]):
        return []
    if type(schema["default"]) in _SCALARS and EMBEDDED not in schema:
        # A scalar contains no embedded resource, so no coercion is needed.
        return field_errors(
            validate_value(SchemaNode(schema, for_defaults=True), schema["default"]).errors, default_path
        )
    # As in kube-apiserver, coercion changes the default in the CRD itself, so that the coerced metadata is stored.
    node, value = SchemaNode(schema), schema["default"]
    try:
        coerce_embedded(node, value, default_path, [], strict=True)
    except EmbeddedResourceError as error:
        return [error.error]
    errors: list[FieldError] = []
    validate_embedded(node, value, default_path, errors)
    return errors or field_errors(validate_value(SchemaNode(schema, for_defaults=True), value).errors, default_path)


def _is_valid_scalar(schema: JsonObject, value: Any) -> bool:
    """True if a value is a bool, an integer or a string that meets a schema with common keywords. This is fast."""
    type_ = type(value)
    if type_ is not _SIMPLE_TYPES.get(schema.get("type", "")) or not schema.keys() <= _SIMPLE_KEYWORDS:
        return False
    if type_ is str:
        enum, longest = schema.get("enum"), schema.get("maxLength")
        return (
            (enum is None or value in enum)
            and schema.get("minLength", 0) <= len(value)
            and (longest is None or len(value) <= longest)
        )
    if type_ is int:
        return "enum" not in schema and schema.get("minimum", value) <= value <= schema.get("maximum", value)
    return "enum" not in schema


_SIMPLE_TYPES: Final = {"boolean": bool, "integer": int, "string": str}
_SIMPLE_KEYWORDS: Final = frozenset(
    ("default", "description", "enum", "maxLength", "maximum", "minLength", "minimum", "title", "type")
)


def _validate_metadata_default(
    schema: JsonObject, default_path: str, resource: JsonObject, keys: tuple[str | int, ...]
) -> list[FieldError]:
    value = schema["default"]
    metadata: Any = deep_copy(value)
    for key in reversed(keys):
        metadata = [metadata] if key == 0 and isinstance(key, int) else {key: metadata}
    embedding_object: JsonObject = {**_TYPE_META, **metadata}
    node = SchemaNode(resource)
    errors: list[FieldError] = []
    try:
        coerce_embedded(node, embedding_object, "", [], strict=True)
        validate_embedded(node, embedding_object, "", errors)
    except EmbeddedResourceError as error:
        errors = [error.error]
    if errors:
        return [invalid(default_path, value, f"must result in valid metadata: {aggregate_message(errors)}")]
    return field_errors(validate_value(SchemaNode(schema, for_defaults=True), value).errors, default_path)
