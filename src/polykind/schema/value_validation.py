"""Value validation with kube-openapi's messages and order of errors.

This is the slow path. It validates only values that the functions of validation_program.py reject.
"""

from __future__ import annotations

from typing import Any

from polykind.golang.fmt import go_quote
from polykind.golang.regexp import Pattern, PatternError, PatternTooLargeError
from polykind.golang.sorting import sorted_strings
from polykind.golang.strconv import float_to_int64
from polykind.schema.correlation import Correlation
from polykind.schema.equality import hashable_key
from polykind.schema.node import SchemaNode
from polykind.schema.numeric_validation import is_integral, validate_number
from polykind.schema.string_formats import format_check
from polykind.schema.validation_result import SchemaError, ValidationResult, invalid, wrong_type

_JSON_TYPES = {str: "string", bool: "boolean", int: "integer", float: "number", list: "array", dict: "object"}
_NUMERIC_FORMATS = {int: "int64", float: "float64"}


def validate_value(
    node: SchemaNode, value: Any, path: str = "", correlation: Correlation | None = None
) -> ValidationResult:
    """Validate a value. If `correlation` is given, errors of values that did not change are dropped (ratcheting)."""
    result = _validate(node, value, path, correlation)
    if result.errors and correlation is not None and correlation.unchanged():
        ratcheted = ValidationResult()
        ratcheted.match_count = result.match_count
        return ratcheted
    return result


def _validate(node: SchemaNode, value: Any, path: str, correlation: Correlation | None) -> ValidationResult:
    result = ValidationResult()
    if value is None:
        result.merge(_validate_null(node, path))
        _validate_enum(node, value, path, result)
        return result
    kind = type(value)
    if node.types or node.format:
        result.merge(_validate_type(node, value, path))
        result.match_count += 1
    result.merge(_validate_junctors(node, value, path))
    if kind is str:
        _validate_string(node, value, path, result)
        result.match_count += 1
        format_accepts = format_check(node.format) if node.format else None
        if format_accepts:
            result.match_count += 1
            if not format_accepts(value):
                text = f"must be of type {node.format}: {go_quote(value)}"
                error = invalid(path, value, text)
                result.add(error._replace(reason="FieldValueTypeInvalid"))
    elif kind is int or kind is float:
        result.merge(validate_number(node, value, path))
        result.match_count += 1
    elif kind is list:
        result.merge(_validate_list(node, value, path, correlation))
        result.match_count += 1
    _validate_enum(node, value, path, result)
    result.match_count += 1
    if kind is dict:
        result.merge(_validate_object(node, value, path, correlation))
        result.match_count += 1
    result.match_count += 1
    return result


def _validate_null(node: SchemaNode, path: str) -> ValidationResult:
    if node.types and "null" not in node.types and not node.nullable:
        return ValidationResult(wrong_type(path, ",".join(node.types), "null"))
    result = ValidationResult()
    result.match_count = 1
    return result


def type_error(node: SchemaNode, value: Any, path: str) -> SchemaError | None:
    """Return the error for a non-null value that does not have the node's type. Return None if it has the type."""
    actual = _JSON_TYPES.get(type(value), "")
    types = node.types
    if actual in types or (actual == "integer" and "number" in types):
        return None
    if actual == "number" and "integer" in types and is_integral(value):
        return None
    if node.format and actual not in ("string", "array"):
        native = _NUMERIC_FORMATS.get(type(value), "")
        if native != node.format:
            return wrong_type(path, node.format, native)
    if node.format and actual in ("string", "array") and "number" not in types and "integer" not in types:
        return None
    return wrong_type(path, ",".join(types), actual)


def _validate_type(node: SchemaNode, value: Any, path: str) -> ValidationResult:
    error = type_error(node, value, path)
    result = ValidationResult(error)
    result.match_count = 0 if error else 1
    return result


def _validate_string(node: SchemaNode, value: str, path: str, result: ValidationResult) -> None:
    """Validate a string against the string keywords. Only the first keyword that fails is reported."""
    if node.max_length is not None and len(value) > node.max_length:
        text = f"{path} in body should be at most {node.max_length} chars long"
        result.add(SchemaError(text, "FieldValueTooLong", path, value, node.max_length))
    elif node.min_length is not None and len(value) < node.min_length:
        result.add(invalid(path, value, f"should be at least {node.min_length} chars long"))
    elif node.pattern:
        matcher = node.matcher()
        if isinstance(matcher, PatternError):
            result.add(invalid(path, value, f"should match '{node.pattern}, but pattern is invalid: {matcher}'"))
        elif matcher and (problem := _mismatch(node, matcher, value)):
            result.add(invalid(path, value, problem))


def _mismatch(node: SchemaNode, matcher: Pattern, value: str) -> str:
    """Return why a value does not match the pattern of its schema, or "" if it does."""
    try:
        return "" if matcher(value) else f"should match '{node.pattern}'"
    except PatternTooLargeError as error:
        return f"should match '{node.pattern}', but {error}"


def is_in_enum(node: SchemaNode, value: Any) -> bool:
    """True if the enum contains the value. Always False for null."""
    if value is None:
        return False
    enum = node.enum_index
    if hashable_key(value) in enum.keys:
        return True
    return any(hashable_key(_go_convert(value, kind)) in enum.keys for kind in enum.types)


def _go_convert(value: Any, kind: type) -> Any:
    """Convert `value` to the Python type `kind` of an enum value, as Go's reflection does.

    An int is converted to a string as a code point: 65 becomes "A".
    """
    if type(value) is float and kind is int:
        return float_to_int64(value)
    if type(value) is int and kind is float:
        return float(value) if abs(value) < 2**63 else None
    if type(value) is int and kind is str:
        return chr(value) if 0 <= value <= 0x10FFFF and not 0xD800 <= value < 0xE000 else "\ufffd"
    return None


def _validate_enum(node: SchemaNode, value: Any, path: str, result: ValidationResult) -> None:
    if node.enum and not is_in_enum(node, value):
        enum = node.enum_index
        text = f"{path} in body should be one of {enum.text}"
        result.add(SchemaError(text, "FieldValueNotSupported", path, value, enum.supported))


def _validate_list(node: SchemaNode, value: list[Any], path: str, correlation: Correlation | None) -> ValidationResult:
    result = ValidationResult()
    items = node.items
    if items is not None:
        for at, item in enumerate(value):
            result.merge(validate_value(items, item, f"{path}[{at}]", correlation.index(at) if correlation else None))
    size = len(value)
    if node.min_items is not None and size < node.min_items:
        result.add(invalid(path, size, f"should have at least {node.min_items} items"))
    if node.max_items is not None and size > node.max_items:
        text = f"{path} in body should have at most {node.max_items} items"
        result.add(SchemaError(text, "FieldValueTooMany", path, size, node.max_items))
    if node.unique_items and len(set(map(hashable_key, value))) < size:
        result.add(invalid(path, None, "shouldn't contain duplicates"))
    result.match_count += 1
    return result


def _validate_object(
    node: SchemaNode, value: dict[str, Any], path: str, correlation: Correlation | None
) -> ValidationResult:
    result = ValidationResult()
    size = len(value)
    if node.min_properties is not None and size < node.min_properties:
        result.add(invalid(path, size, f"should have at least {node.min_properties} properties"))
    if node.max_properties is not None and size > node.max_properties:
        text = f"{path} in body should have at most {node.max_properties} properties"
        result.add(SchemaError(text, "FieldValueTooMany", path, size, node.max_properties))
    additional = node.additional
    if node.additional_allowed is False:
        for key in sorted_strings(value):
            if not node.has_property(key):
                result.add(SchemaError(f"{path}.{key} in body is a forbidden property", "FieldValueInvalid", path, key))
    elif additional is not None:
        for key in sorted_strings(value):
            if not node.has_property(key):
                result.merge(
                    validate_value(additional, value[key], f"{path}.{key}", _correlate(correlation, path, key))
                )
    for key in sorted_strings(value):
        child = node.property_node(key)
        if child is not None:
            result.merge(
                validate_value(child, value[key], f"{path}.{key}" if path else key, _correlate(correlation, path, key))
            )
    for key in node.required:
        if key not in value:
            name = f"{path}.{key}"
            result.add(SchemaError(f"{name} in body is required", "FieldValueRequired", name))
    return result


def _correlate(correlation: Correlation | None, path: str, key: str) -> Correlation | None:
    """Return the correlation of a key. The root's kind and apiVersion have none, so they are never ratcheted."""
    if correlation is None or (not path and key in ("kind", "apiVersion")):
        return None
    return correlation.key(key)


def _validate_junctors(node: SchemaNode, value: Any, path: str) -> ValidationResult:
    """Validate anyOf, oneOf, allOf and not, without ratcheting: errors of unchanged values inside are not dropped."""
    result = ValidationResult()
    if node.any_of:
        branches = [_validate(schema, value, path, None) for schema in node.any_of]
        first_valid = next((branch for branch in branches if not branch.errors), None)
        if first_valid is None:
            result.add(SchemaError(f"{go_quote(path)} must validate at least one schema (anyOf)"))
        result.merge(first_valid or max(branches, key=lambda branch: branch.match_count))
    if node.one_of:
        branches = [_validate(schema, value, path, None) for schema in node.one_of]
        valid = [branch for branch in branches if not branch.errors]
        if len(valid) == 1:
            result.merge(valid[0])
        else:
            outcome = f"Found {len(valid)} valid alternatives" if valid else "Found none valid"
            result.add(SchemaError(f"{go_quote(path)} must validate one and only one schema (oneOf). {outcome}"))
            if not valid:
                result.merge(max(branches, key=lambda branch: branch.match_count))
    if node.all_of:
        branches = [_validate(schema, value, path, None) for schema in node.all_of]
        for branch in branches:
            result.merge(branch)
        failed = sum(1 for branch in branches if branch.errors)
        if failed:
            outcome = ". None validated" if failed == len(branches) else ""
            result.add(SchemaError(f"{go_quote(path)} must validate all the schemas (allOf){outcome}"))
    if node.not_ is not None and not _validate(node.not_, value, path, None).errors:
        result.add(SchemaError(f"{go_quote(path)} must not validate the schema (not)"))
    result.match_count += 2
    return result
