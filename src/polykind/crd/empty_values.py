"""Empty lists and objects in CRDs. Validation distinguishes them from absent fields, but the stored CRD omits them."""

from __future__ import annotations

from typing import Any

from polykind.contract import JsonObject
from polykind.crd.schema_walker import LIST_MAP_KEYS, LISTED, NAMED, NESTING, SINGLE, VALIDATIONS
from polykind.schema.equality import deep_equal

_OMITTED = NAMED | LISTED | {"enum", "required", LIST_MAP_KEYS, VALIDATIONS}
_CHECKED_KEYS = _OMITTED | SINGLE
_SETTINGS = frozenset({"schema", "validation", "additionalPrinterColumns", "selectableFields"})


def drop_empty_values(crd: JsonObject) -> JsonObject:
    """Return a CRD without empty values, as it is stored. Return the same object if it has no empty values."""
    spec = drop_empty_from_spec(crd["spec"])
    return crd if spec is crd["spec"] else {**crd, "spec": spec}


def drop_empty_from_spec(spec: JsonObject, *, keep_items: bool = False) -> JsonObject:
    """Remove empty values like `drop_empty_values` from a v1 or internal spec.

    If `keep_items` is true, an `items` that is neither a schema nor a list of schemas becomes False instead of being
    removed.
    """
    reduced = _drop_empty_from_settings(spec, keep_items)
    conversion = spec.get("conversion")
    if conversion and conversion.get("webhook") == {"conversionReviewVersions": []}:
        reduced = {**reduced, "conversion": {"strategy": conversion["strategy"]}}
    versions = [_drop_empty_from_settings(version, keep_items) for version in spec.get("versions") or ()]
    if not all(map(_is_same, versions, spec.get("versions") or ())):
        return {**reduced, "versions": versions}
    return reduced


def drop_empty_from_setting(setting: Any, *, keep_items: bool = False) -> Any:
    """Remove empty values like `drop_empty_values` from one setting of a version entry, such as `schema`.

    Return None for an empty list.
    """
    if isinstance(setting, list):
        return setting or None
    schema = (setting or {}).get("openAPIV3Schema")
    reduced = None if schema is None else drop_empty_from_schema(schema, keep_items=keep_items)
    return setting if reduced is schema else {**setting, "openAPIV3Schema": reduced}


def drop_empty_from_schema(node: JsonObject, *, keep_items: bool = False) -> JsonObject:
    """Remove empty values like `drop_empty_values` from a schema."""
    changed: JsonObject = {}
    for key, value in node.items():
        if not value:
            if key in _OMITTED:
                changed[key] = None
            elif key == "items" and not isinstance(value, dict):
                changed[key] = False if keep_items else None
        elif key in NESTING:
            reduced = _drop_empty_from_children(key, value, keep_items)
            if reduced is not value:
                changed[key] = reduced
    if not changed:
        return node
    return {k: changed.get(k, v) for k, v in node.items() if k not in changed or changed[k] is not None}


def _drop_empty_from_children(key: str, value: Any, keep_items: bool) -> Any:
    if isinstance(value, list):
        children = [drop_empty_from_schema(child, keep_items=keep_items) for child in value]
        return value if all(map(_is_same, children, value)) else children
    if not isinstance(value, dict):
        return value
    if key not in NAMED:
        return drop_empty_from_schema(value, keep_items=keep_items)
    changed = {}
    for name, child in value.items():
        if isinstance(child, dict) and not _CHECKED_KEYS.isdisjoint(child):
            reduced = drop_empty_from_schema(child, keep_items=keep_items)
            if reduced is not child:
                changed[name] = reduced
    return {**value, **changed} if changed else value


def _drop_empty_from_settings(part: JsonObject, keep_items: bool) -> JsonObject:
    changed = {}
    for key in _SETTINGS.intersection(part):
        reduced = drop_empty_from_setting(part[key], keep_items=keep_items)
        if reduced is not part[key]:
            changed[key] = reduced
    if not changed:
        return part
    return {k: changed.get(k, v) for k, v in part.items() if k not in changed or changed[k] is not None}


def _is_same(left: object, right: object) -> bool:
    return left is right


def equal_settings(left: Any, right: Any) -> bool:
    """True if a setting has the same value in two version entries. Empty values are the same as absent values."""
    if deep_equal(left, right):
        return True
    if isinstance(left, dict) and isinstance(right, dict):
        schema, other_schema = left.get("openAPIV3Schema"), right.get("openAPIV3Schema")
        if schema and other_schema and _differ_in_fields(schema, other_schema):
            return False
    reduced, other = drop_empty_from_setting(left, keep_items=True), drop_empty_from_setting(right, keep_items=True)
    return (reduced is not left or other is not right) and deep_equal(reduced, other)


def _differ_in_fields(left: JsonObject, right: JsonObject) -> bool:
    """True if two schemas have different properties, types or descriptions. This finds most differences fast.

    Removing empty values keeps all properties, and texts that are not empty.
    """
    for key in ("type", "description"):
        text, other = left.get(key), right.get(key)
        if text and other and text != other:
            return True
    fields, other_fields = left.get("properties"), right.get("properties")
    if not fields or not other_fields:
        return False
    if fields.keys() != other_fields.keys():
        return True
    return any(_differ_in_fields(child, other_fields[name]) for name, child in fields.items())


def equal_specs(left: JsonObject, right: JsonObject) -> bool:
    """True if two specs, both v1 or both internal, are equal. Empty values are the same as absent values."""
    if deep_equal(left, right):
        return True
    reduced, other = drop_empty_from_spec(left, keep_items=True), drop_empty_from_spec(right, keep_items=True)
    return (reduced is not left or other is not right) and deep_equal(reduced, other)
