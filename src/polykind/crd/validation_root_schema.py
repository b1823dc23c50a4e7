"""Validation of the schema of a version: its root, structure, defaults, keywords and CEL rules."""

from __future__ import annotations

import msgspec

from polykind.contract import JsonObject
from polykind.crd import internal_json
from polykind.crd.cel_rules import RuleChecker, RuleCheckRequest
from polykind.crd.empty_values import drop_empty_from_schema
from polykind.crd.ratcheting import ValidationOptions
from polykind.crd.structural import structural_violations, unsupported_reason
from polykind.crd.validation_defaults import validate_defaults
from polykind.crd.validation_schema import SchemaValidator
from polykind.errors import FieldError, forbidden, invalid
from polykind.schema.plain_schema import is_plain_root

_ALLOWED_AT_ROOT = {
    "Description": "description",
    "Type": "type",
    "Format": "format",
    "Title": "title",
    "Maximum": "maximum",
    "ExclusiveMaximum": "exclusiveMaximum",
    "Minimum": "minimum",
    "ExclusiveMinimum": "exclusiveMinimum",
    "MaxLength": "maxLength",
    "MinLength": "minLength",
    "Pattern": "pattern",
    "MaxItems": "maxItems",
    "MinItems": "minItems",
    "UniqueItems": "uniqueItems",
    "MultipleOf": "multipleOf",
    "Required": "required",
    "Items": "items",
    "Properties": "properties",
    "ExternalDocs": "externalDocs",
    "Example": "example",
    "XPreserveUnknownFields": "x-kubernetes-preserve-unknown-fields",
    "XValidations": "x-kubernetes-validations",
}
_ROOT_KEYWORDS = frozenset(_ALLOWED_AT_ROOT.values())
_BEFORE_TYPE = frozenset({"id", "$schema", "$ref"})


class SchemaContext(msgspec.Struct, frozen=True):
    """The options for validating all schemas of one CRD."""

    options: ValidationOptions
    structural: bool
    rules: RuleChecker | None


def validate_version_schema(
    setting: JsonObject | None, path: str, version: str, context: SchemaContext, status_enabled: bool
) -> list[FieldError]:
    """Validate the schema of a version entry or of the top level: structure first, then keywords, then CEL rules."""
    schema = (setting or {}).get("openAPIV3Schema")
    if schema is None:
        return []
    schema_path = f"{path}.openAPIV3Schema"
    errors = _validate_root_keywords(schema, schema_path) if status_enabled else []
    if schema.get("nullable"):
        errors.append(forbidden(f"{schema_path}.nullable", "nullable cannot be true at the root"))
    options = context.options
    if context.structural and options.defaults_forbidden is None and is_plain_root(schema):
        return errors + validate_defaults(schema, schema_path, pruned=options.pruned_defaults_required)
    # Validate defaults and CEL rules in the schema as it will be stored, without empty values.
    stored_schema = drop_empty_from_schema(schema)
    unsupported_message = None
    valid = False
    if context.structural:
        unsupported_message = unsupported_reason(schema)
    if context.structural and unsupported_message is None:
        structural_errors = structural_violations(schema, schema_path) or validate_defaults(
            stored_schema, schema_path, pruned=options.pruned_defaults_required, rules=context.rules
        )
        valid = not structural_errors
        errors += structural_errors
    validator = SchemaValidator(options.strictness, rules=valid)
    validator.validate(schema, schema_path)
    errors += validator.errors
    if stored_schema is not schema:
        validator = SchemaValidator(options.strictness, rules=valid)
        validator.validate(stored_schema, schema_path)
    errors += _check_rules(stored_schema, schema_path, validator, version, context)
    if unsupported_message is not None and not errors:
        errors.append(invalid(schema_path, "", unsupported_message))
    return errors


def _check_rules(
    schema: JsonObject, path: str, validator: SchemaValidator, version: str, context: SchemaContext
) -> list[FieldError]:
    """Check the CEL rules that the validator has found in a schema."""
    if not validator.locations or context.rules is None:
        return []
    options = context.options
    return context.rules.check(
        RuleCheckRequest(
            schema,
            path,
            validator.locations,
            options.schema_unchanged(version),
            options.old_rules,
            options.old_messages,
        )
    )


def _validate_root_keywords(schema: JsonObject, schema_path: str) -> list[FieldError]:
    """Check the keywords at the root of a schema with the status subresource, where only some keywords are allowed."""
    other_keywords = schema.keys() - _ROOT_KEYWORDS
    if "type" in schema and schema["type"] != "object" and other_keywords.isdisjoint(_BEFORE_TYPE):
        detail = 'only "object" is allowed as the type at the root of the schema if the status subresource is enabled'
        return [invalid(f"{schema_path}.type", schema["type"], detail)]
    if not other_keywords:
        return []
    allowed = " ".join(_ALLOWED_AT_ROOT)
    detail = f"only [{allowed}] fields are allowed at the root of the schema if the status subresource is enabled"
    return [invalid(schema_path, internal_json.schema(schema), detail)]
