"""The rules of a schema stanza: what may stand at its root, structure, defaults, keywords, rules."""

from __future__ import annotations

from dataclasses import dataclass

from polykind.contract import JsonObject
from polykind.crd import internal_json
from polykind.crd.cel_rules import RuleChecker, RuleCheckRequest
from polykind.crd.empty_values import drop_empty_from_schema
from polykind.crd.ratcheting import ValidationOptions
from polykind.crd.structural import structural_violations, unsupported_reason
from polykind.crd.validation_defaults import validate_defaults
from polykind.crd.validation_schema import SchemaValidator
from polykind.errors import FieldError, forbidden, invalid

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
_BEFORE_TYPE = frozenset({"id", "$schema", "$ref"})


@dataclass(frozen=True, slots=True)
class SchemaContext:
    """How the schema stanzas of one definition are judged."""

    options: ValidationOptions
    structural: bool
    rules: RuleChecker | None


def validate_version_schema(
    stanza: JsonObject | None, path: str, version: str, judged: SchemaContext, status_enabled: bool
) -> list[FieldError]:
    """What is wrong with a stanza; structure first, then keywords, then rules."""
    schema = (stanza or {}).get("openAPIV3Schema")
    if schema is None:
        return []
    at = f"{path}.openAPIV3Schema"
    errors = _root_problems(schema, at) if status_enabled else []
    if schema.get("nullable"):
        errors.append(forbidden(f"{at}.nullable", "nullable cannot be true at the root"))
    # Values are judged by what will be stored.
    bare = drop_empty_from_schema(schema)
    unreadable = None
    sound = False
    if judged.structural:
        unreadable = unsupported_reason(schema)
        if unreadable is None:
            found = structural_violations(schema, at)
            pruned = judged.options.pruned_defaults_required
            found = found or validate_defaults(bare, at, pruned=pruned, rules=judged.rules)
            sound = not found
            errors += found
    walk = SchemaValidator(judged.options.strictness, rules=sound)
    walk.check(schema, at)
    errors += walk.errors
    if bare is not schema:
        walk = SchemaValidator(judged.options.strictness, rules=sound)
        walk.check(bare, at)
    if walk.sites and judged.rules is not None:
        options = judged.options
        errors += judged.rules.check(
            RuleCheckRequest(bare, at, walk.sites, options.unchanged(version), options.old_rules, options.old_messages)
        )
    if unreadable is not None and not errors:
        errors.append(invalid(at, "", unreadable))
    return errors


def _root_problems(schema: JsonObject, at: str) -> list[FieldError]:
    """A status subresource takes its schema out of the root, so nothing at the root may reach into it."""
    others = schema.keys() - set(_ALLOWED_AT_ROOT.values())
    if "type" in schema and schema["type"] != "object" and others.isdisjoint(_BEFORE_TYPE):
        detail = 'only "object" is allowed as the type at the root of the schema if the status subresource is enabled'
        return [invalid(f"{at}.type", schema["type"], detail)]
    if not others:
        return []
    allowed = " ".join(_ALLOWED_AT_ROOT)
    detail = f"only [{allowed}] fields are allowed at the root of the schema if the status subresource is enabled"
    return [invalid(at, internal_json.schema(schema), detail)]
