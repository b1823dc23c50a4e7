"""Validation of an internal CRD spec: group, scope, versions, names, settings and conversion."""

from __future__ import annotations

from typing import Any

from polykind.contract import JsonObject
from polykind.crd import internal_json
from polykind.crd.cel_rules import RuleChecker
from polykind.crd.empty_values import equal_settings
from polykind.crd.naming import validate_spec_names
from polykind.crd.ratcheting import ValidationOptions
from polykind.crd.schema_walker import all_schemas, has_default, has_extension, root_schemas
from polykind.crd.structural import unsupported_reason
from polykind.crd.validation_conversion import validate_conversion
from polykind.crd.validation_root_schema import SchemaContext, validate_version_schema
from polykind.crd.validation_version_entry import (
    validate_deprecation,
    validate_printer_columns,
    validate_selectable_fields,
    validate_subresources,
)
from polykind.errors import FieldError, forbidden, invalid, not_supported, required
from polykind.names import dns1035_label, dns1123_subdomain

_SHARED_SETTINGS = (
    ("schema", "validation", "schemas", "validation"),
    ("subresources", "subresources", "subresources", "subresources"),
    (
        "additionalPrinterColumns",
        "additionalPrinterColumns",
        "additionalPrinterColumns",
        "additionalPrinterColumns",
    ),
)
"""For each setting: its name in version entries, its name at the top level of the spec, and its two names in errors."""


def validate_spec(spec: JsonObject, options: ValidationOptions, rules: RuleChecker | None) -> list[FieldError]:
    """Validate an internal spec."""
    preserve = bool(spec.get("preserveUnknownFields"))
    structural, defaults = True, False
    if preserve:
        all_nodes = [node for schema in root_schemas(spec) for node in all_schemas(schema)]
        defaults = options.defaults_forbidden is None and any(has_default(node) for node in all_nodes)
        structural = defaults or options.structural_required or any(map(has_extension, all_nodes))
    context = SchemaContext(options, structural=structural, rules=rules)
    errors = _validate_group_and_scope(spec)
    errors += _validate_schema_presence(spec, options, preserve)
    if defaults:
        detail = "must be false in order to use defaults in the schema"
        errors.append(invalid("spec.preserveUnknownFields", True, detail))
    subresources = _subresources_by_version(spec)
    for index, version in enumerate(spec["versions"] or ()):
        has_status = _has_status(subresources.get(version["name"]))
        errors += _validate_version_entry(version, f"spec.versions[{index}]", context, has_status=has_status)
    errors += _validate_version_list(spec)
    errors += _validate_version_field(spec)
    errors += validate_spec_names(spec["names"])
    errors += _validate_top_level_settings(spec, context)
    conversion = spec.get("conversion")
    if conversion is not None and conversion["strategy"] != "None" and preserve:
        detail = "must be None if spec.preserveUnknownFields is true"
        errors.append(invalid("spec.conversion.strategy", internal_json.as_json(conversion["strategy"]), detail))
    return errors + validate_conversion(conversion, options)


def validate_immutable_fields(new: JsonObject, old: JsonObject, *, established: bool) -> list[FieldError]:
    """Check that group and plural name did not change. If the CRD is established, check scope and kind too."""
    errors: list[FieldError] = []
    detail = "field is immutable"
    if established:
        if new["scope"] != old["scope"]:
            errors.append(invalid("spec.scope", internal_json.as_json(new["scope"]), detail))
        if new["names"]["kind"] != old["names"]["kind"]:
            errors.append(invalid("spec.names.kind", new["names"]["kind"], detail))
    if new["group"] != old["group"]:
        errors.append(invalid("spec.group", new["group"], detail))
    if new["names"]["plural"] != old["names"]["plural"]:
        errors.append(invalid("spec.names.plural", new["names"]["plural"], detail))
    return errors


def _validate_group_and_scope(spec: JsonObject) -> list[FieldError]:
    errors = []
    group, scope = spec["group"], spec["scope"]
    if not group:
        errors.append(required("spec.group"))
    elif messages := dns1123_subdomain(group):
        errors.append(invalid("spec.group", group, ",".join(messages)))
    elif "." not in group:
        errors.append(invalid("spec.group", group, "should be a domain with at least one dot"))
    if not scope:
        errors.append(required("spec.scope"))
    elif scope not in ("Cluster", "Namespaced"):
        errors.append(not_supported("spec.scope", scope, ("Cluster", "Namespaced")))
    return errors


def _validate_schema_presence(spec: JsonObject, options: ValidationOptions, preserve: bool) -> list[FieldError]:
    if _has_schema(spec.get("validation")):
        return []
    missing = [(i, v) for i, v in enumerate(spec["versions"] or ()) if not _has_schema(v.get("schema"))]
    if options.schema_required:
        return [required(f"spec.versions[{index}].schema.openAPIV3Schema") for index, _ in missing]
    if preserve:
        return []
    detail = "because otherwise all fields are pruned"
    return [required(f"spec.versions[{index}].schema.openAPIV3Schema", detail) for index, v in missing if v["served"]]


def _has_schema(context: JsonObject | None) -> bool:
    return context is not None and context.get("openAPIV3Schema") is not None


def _validate_version_entry(
    version: JsonObject, path: str, context: SchemaContext, *, has_status: bool
) -> list[FieldError]:
    errors: list[FieldError] = []
    if messages := dns1035_label(version["name"]):
        errors.append(invalid(f"{path}.name", version["name"], ",".join(messages)))
    errors += validate_deprecation(version, path)
    errors += validate_version_schema(version.get("schema"), f"{path}.schema", version["name"], context, has_status)
    errors += validate_subresources(version.get("subresources"), f"{path}.subresources")
    errors += validate_printer_columns(version.get("additionalPrinterColumns"), path)
    fields = version.get("selectableFields")
    if fields:
        if not _has_schema(version.get("schema")):
            detail = "may only be set when `version.schema.openAPIV3Schema` is not included"
            errors.append(invalid(f"{path}.selectableFields", "", detail))
        else:
            errors += _validate_selectable_fields(
                fields, version["schema"]["openAPIV3Schema"], path, context.options, version["name"]
            )
    return errors


def _validate_selectable_fields(
    fields: list[JsonObject], schema: JsonObject | None, path: str, options: ValidationOptions, version: str | None
) -> list[FieldError]:
    many_allowed = options.many_selectable_fields_allowed(version)
    message = unsupported_reason(schema) if schema is not None else None
    if message is None:
        return validate_selectable_fields(fields, schema, path, many_allowed=many_allowed)
    schema_error = invalid(f"{path}.schema.openAPIV3Schema", "", message)
    return [schema_error, *validate_selectable_fields(fields, None, path, many_allowed=many_allowed)]


def _subresources_by_version(spec: JsonObject) -> dict[str, JsonObject | None]:
    """Return the subresources of each version: from the first entry of its name or from the top level of the spec."""
    versions = spec["versions"] or ()
    if any("subresources" in version for version in versions):
        return {version["name"]: version.get("subresources") for version in reversed(versions)}
    return dict.fromkeys((version["name"] for version in versions), spec.get("subresources"))


def _has_status(subresources: JsonObject | None) -> bool:
    return subresources is not None and "status" in subresources


def _validate_version_list(spec: JsonObject) -> list[FieldError]:
    """Check that no setting is both at the top level and in version entries, that a setting differs between version
    entries, that version names are unique, and that exactly one version is the storage version.
    """
    versions = spec["versions"] or []
    errors: list[FieldError] = []
    for context, top, plural, _ in _SHARED_SETTINGS:
        if _is_set(spec, top) and any(_is_set(version, context) for version in versions):
            detail = f"top-level and per-version {plural} are mutually exclusive"
            errors.append(forbidden(f"spec.{top}", detail))
    for context, _, plural, top in _SHARED_SETTINGS:
        if versions and _identical([version.get(context) for version in versions]):
            detail = (
                f"per-version {plural} may not all be set to identical values (top-level {top} should be used instead)"
            )
            errors.append(invalid("spec.versions", internal_json.versions(versions), detail))
    names = [version["name"] for version in versions]
    if len(set(names)) != len(names):
        errors.append(invalid("spec.versions", internal_json.versions(versions), "must contain unique version names"))
    if sum(version["storage"] for version in versions) != 1:
        detail = "must have exactly one version marked as storage version"
        errors.append(invalid("spec.versions", internal_json.versions(spec["versions"]), detail))
    return errors


def _is_set(part: JsonObject, context: str) -> bool:
    """True if a setting is present and not an empty list."""
    return part.get(context) not in (None, [])


def _identical(values: list[Any]) -> bool:
    return values[0] not in (None, []) and all(equal_settings(value, values[0]) for value in values)


def _validate_version_field(spec: JsonObject) -> list[FieldError]:
    name = spec.get("version")
    if not name:
        return []
    errors = []
    if messages := dns1035_label(name):
        errors.append(invalid("spec.version", name, ",".join(messages)))
    if spec["versions"] and spec["versions"][0]["name"] != name:
        errors.append(invalid("spec.version", name, "must match the first version in spec.versions"))
    return errors


def _validate_top_level_settings(spec: JsonObject, context: SchemaContext) -> list[FieldError]:
    versions = spec["versions"] or ()
    status = _has_status(spec.get("subresources")) or any(_has_status(v.get("subresources")) for v in versions)
    validation = spec.get("validation")
    errors = validate_version_schema(validation, "spec.validation", spec.get("version", ""), context, status)
    errors += validate_subresources(spec.get("subresources"), "spec.subresources")
    errors += validate_printer_columns(spec.get("additionalPrinterColumns"), "spec")
    fields = spec.get("selectableFields")
    if fields and validation is None:
        errors.append(invalid("spec.selectableFields", "", "may only be set when validations.schema is included"))
    elif fields:
        errors += _validate_selectable_fields(
            fields, spec["validation"].get("openAPIV3Schema"), "spec", context.options, None
        )
    return errors
