"""Value validation with the reference's words and order: exact and unhurried, for what is refused or rarely used."""

from __future__ import annotations

from typing import Any

from polykind.golang.fmt import go_print, go_quote
from polykind.golang.regexp import PatternError
from polykind.golang.strconv import float_to_int64
from polykind.schema.correlation import Correlation
from polykind.schema.equality import deep_equal, hashable_key
from polykind.schema.node import SchemaNode
from polykind.schema.numeric_validation import check_number, is_integral
from polykind.schema.string_formats import format_check
from polykind.schema.validation_result import SchemaError, ValidationResult, invalid, wrong_type

_JSON_TYPES = {str: "string", bool: "boolean", int: "integer", float: "number", list: "array", dict: "object"}
_NUMERIC_FORMATS = {int: "int64", float: "float64"}


def validate_value(node: SchemaNode, value: Any, path: str = "", link: Correlation | None = None) -> ValidationResult:
    """Everything wrong with a value; with a link to the old value, faults of what did not change are forgiven."""
    found = _check(node, value, path, link)
    if found.errors and link is not None and link.unchanged():
        forgiven = ValidationResult()
        forgiven.match_count = found.match_count
        return forgiven
    return found


def _check(node: SchemaNode, value: Any, path: str, link: Correlation | None) -> ValidationResult:
    found = ValidationResult()
    if value is None:
        found.merge(_check_null(node, path))
        _check_enum(node, value, path, found)
        return found
    kind = type(value)
    if node.types or node.format:
        found.merge(_check_type(node, value, path))
        found.match_count += 1
    found.merge(_check_junctors(node, value, path))
    if kind is str:
        _check_string(node, value, path, found)
        found.match_count += 1
        judge = format_check(node.format) if node.format else None
        if judge:
            found.match_count += 1
            if not judge(value):
                text = f"must be of type {node.format}: {go_quote(value)}"
                fault = invalid(path, value, text)
                found.add(fault._replace(reason="FieldValueTypeInvalid"))
    elif kind is int or kind is float:
        found.merge(check_number(node, value, path))
        found.match_count += 1
    elif kind is list:
        found.merge(_check_list(node, value, path, link))
        found.match_count += 1
    _check_enum(node, value, path, found)
    found.match_count += 1
    if kind is dict:
        found.merge(_check_object(node, value, path, link))
        found.match_count += 1
    found.match_count += 1
    return found


def _check_null(node: SchemaNode, path: str) -> ValidationResult:
    if node.types and "null" not in node.types and not node.nullable:
        return ValidationResult(wrong_type(path, ",".join(node.types), "null"))
    found = ValidationResult()
    found.match_count = 1
    return found


def type_fault(node: SchemaNode, value: Any, path: str) -> SchemaError | None:
    """Why a value other than null does not have the node's type."""
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


def _check_type(node: SchemaNode, value: Any, path: str) -> ValidationResult:
    fault = type_fault(node, value, path)
    found = ValidationResult(fault)
    found.match_count = 0 if fault else 1
    return found


def _check_string(node: SchemaNode, value: str, path: str, found: ValidationResult) -> None:
    """Only the first keyword that fails is told."""
    if node.max_length is not None and len(value) > node.max_length:
        text = f"{path} in body should be at most {node.max_length} chars long"
        found.add(SchemaError(text, "FieldValueTooLong", path, value, node.max_length))
    elif node.min_length is not None and len(value) < node.min_length:
        found.add(invalid(path, value, f"should be at least {node.min_length} chars long"))
    elif node.pattern:
        matcher = node.matcher()
        if isinstance(matcher, PatternError):
            found.add(invalid(path, value, f"should match '{node.pattern}, but pattern is invalid: {matcher}'"))
        elif matcher and not matcher(value):
            found.add(invalid(path, value, f"should match '{node.pattern}'"))


def is_in_enum(node: SchemaNode, value: Any) -> bool:
    """Whether an enum has the value; null is never listed."""
    if value is None:
        return False
    for listed in node.enum:
        if listed is None:
            continue
        if deep_equal(listed, value):
            return True
        if _converted(value, type(listed)) == listed:
            return True
    return False


def _converted(value: Any, kind: type) -> Any:
    """A number as Go converts it to the type of a listed value: truncated, or even to the character of that code."""
    if type(value) is float and kind is int:
        return float_to_int64(value)
    if type(value) is int and kind is float:
        return float(value) if abs(value) < 2**63 else None
    if type(value) is int and kind is str:
        return chr(value) if 0 <= value <= 0x10FFFF and not 0xD800 <= value < 0xE000 else "\ufffd"
    return None


def _check_enum(node: SchemaNode, value: Any, path: str, found: ValidationResult) -> None:
    if node.enum and not is_in_enum(node, value):
        text = f"{path} in body should be one of {go_print(node.enum)}"
        found.add(SchemaError(text, "FieldValueNotSupported", path, value, node.enum))


def _check_list(node: SchemaNode, value: list[Any], path: str, link: Correlation | None) -> ValidationResult:
    found = ValidationResult()
    items = node.items
    if items is not None:
        for at, item in enumerate(value):
            found.merge(validate_value(items, item, f"{path}[{at}]", link.index(at) if link else None))
    size = len(value)
    if node.min_items is not None and size < node.min_items:
        found.add(invalid(path, size, f"should have at least {node.min_items} items"))
    if node.max_items is not None and size > node.max_items:
        text = f"{path} in body should have at most {node.max_items} items"
        found.add(SchemaError(text, "FieldValueTooMany", path, size, node.max_items))
    if node.unique_items and len(set(map(hashable_key, value))) < size:
        found.add(invalid(path, None, "shouldn't contain duplicates"))
    found.match_count += 1
    return found


def _check_object(node: SchemaNode, value: dict[str, Any], path: str, link: Correlation | None) -> ValidationResult:
    found = ValidationResult()
    size = len(value)
    if node.min_properties is not None and size < node.min_properties:
        found.add(invalid(path, size, f"should have at least {node.min_properties} properties"))
    if node.max_properties is not None and size > node.max_properties:
        text = f"{path} in body should have at most {node.max_properties} properties"
        found.add(SchemaError(text, "FieldValueTooMany", path, size, node.max_properties))
    more = node.additional
    if node.additional_allowed is False:
        for key in sorted(value):
            if not node.has_property(key):
                found.add(SchemaError(f"{path}.{key} in body is a forbidden property", "FieldValueInvalid", path, key))
    elif more is not None:
        for key in sorted(value):
            if not node.has_property(key):
                found.merge(validate_value(more, value[key], f"{path}.{key}", _link(link, path, key)))
    for key in sorted(value):
        child = node.property_node(key)
        if child is not None:
            found.merge(validate_value(child, value[key], f"{path}.{key}" if path else key, _link(link, path, key)))
    for key in node.required:
        if key not in value:
            name = f"{path}.{key}"
            found.add(SchemaError(f"{name} in body is required", "FieldValueRequired", name))
    return found


def _link(link: Correlation | None, path: str, key: str) -> Correlation | None:
    """Type metadata at the root is never forgiven: its change cannot be seen, as both objects have the same version."""
    if link is None or (not path and key in ("kind", "apiVersion")):
        return None
    return link.key(key)


def _check_junctors(node: SchemaNode, value: Any, path: str) -> ValidationResult:
    """anyOf, oneOf, allOf and not; what fails in them is never forgiven by itself."""
    found = ValidationResult()
    if node.any_of:
        tried = [_check(branch, value, path, None) for branch in node.any_of]
        good = next((result for result in tried if not result.errors), None)
        if good is None:
            found.add(SchemaError(f"{go_quote(path)} must validate at least one schema (anyOf)"))
        found.merge(good or max(tried, key=lambda result: result.match_count))
    if node.one_of:
        tried = [_check(branch, value, path, None) for branch in node.one_of]
        valid = [result for result in tried if not result.errors]
        if len(valid) == 1:
            found.merge(valid[0])
        else:
            told = f"Found {len(valid)} valid alternatives" if valid else "Found none valid"
            found.add(SchemaError(f"{go_quote(path)} must validate one and only one schema (oneOf). {told}"))
            if not valid:
                found.merge(max(tried, key=lambda result: result.match_count))
    if node.all_of:
        tried = [_check(branch, value, path, None) for branch in node.all_of]
        for result in tried:
            found.merge(result)
        failed = sum(1 for result in tried if result.errors)
        if failed:
            told = ". None validated" if failed == len(tried) else ""
            found.add(SchemaError(f"{go_quote(path)} must validate all the schemas (allOf){told}"))
    if node.not_ is not None and not _check(node.not_, value, path, None).errors:
        found.add(SchemaError(f"{go_quote(path)} must not validate the schema (not)"))
    found.match_count += 2
    return found
