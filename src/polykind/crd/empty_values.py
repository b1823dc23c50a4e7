"""What of a definition is stated and empty: its rules tell that from what is absent, the store does not."""

from __future__ import annotations

from typing import Any

from polykind.contract import JsonObject
from polykind.crd.schema_walker import LIST_MAP_KEYS, VALIDATIONS

_NAMED = frozenset({"properties", "patternProperties", "definitions", "dependencies"})
_SCHEMAS = frozenset({"allOf", "oneOf", "anyOf"})
_ONE = frozenset({"items", "not", "additionalProperties", "additionalItems"})
_OMITTED = _NAMED | _SCHEMAS | {"enum", "required", LIST_MAP_KEYS, VALIDATIONS}
_NESTING = _NAMED | _SCHEMAS | _ONE
_READ = _OMITTED | _ONE
_STANZAS = frozenset({"schema", "validation", "additionalPrinterColumns", "selectableFields"})


def drop_empty_values(crd: JsonObject) -> JsonObject:
    """A definition as it is stored, without what is stated and empty; the same object if there is nothing of it."""
    spec = drop_empty_from_spec(crd["spec"])
    return crd if spec is crd["spec"] else {**crd, "spec": spec}


def drop_empty_from_spec(spec: JsonObject, *, items: bool = False) -> JsonObject:
    """The same of a spec of any shape. `items`: those that are neither a schema nor a list of them are left in."""
    bare = _bare_stanzas(spec, items)
    conversion = spec.get("conversion")
    if conversion and conversion.get("webhook") == {"conversionReviewVersions": []}:
        bare = {**bare, "conversion": {"strategy": conversion["strategy"]}}
    versions = [_bare_stanzas(version, items) for version in spec.get("versions") or ()]
    if not all(map(_is, versions, spec.get("versions") or ())):
        return {**bare, "versions": versions}
    return bare


def drop_empty_from_setting(stanza: Any, *, items: bool = False) -> Any:
    """The same of one stanza of a version: an empty list is none."""
    if isinstance(stanza, list):
        return stanza or None
    schema = (stanza or {}).get("openAPIV3Schema")
    bare = None if schema is None else drop_empty_from_schema(schema, items=items)
    return stanza if bare is schema else {**stanza, "openAPIV3Schema": bare}


def drop_empty_from_schema(node: JsonObject, *, items: bool = False) -> JsonObject:
    """The same of a schema."""
    changed: JsonObject = {}
    for key, value in node.items():
        if not value:
            if key in _OMITTED:
                changed[key] = None
            elif key == "items" and not isinstance(value, dict):
                changed[key] = False if items else None
        elif key in _NESTING:
            bare = _bare_nested(key, value, items)
            if bare is not value:
                changed[key] = bare
    if not changed:
        return node
    return {k: changed.get(k, v) for k, v in node.items() if k not in changed or changed[k] is not None}


def _bare_nested(key: str, value: Any, items: bool) -> Any:
    if isinstance(value, list):
        listed = [drop_empty_from_schema(child, items=items) for child in value]
        return value if all(map(_is, listed, value)) else listed
    if not isinstance(value, dict):
        return value
    if key not in _NAMED:
        return drop_empty_from_schema(value, items=items)
    changed = {}
    for name, child in value.items():
        if isinstance(child, dict) and not _READ.isdisjoint(child):
            bare = drop_empty_from_schema(child, items=items)
            if bare is not child:
                changed[name] = bare
    return {**value, **changed} if changed else value


def _bare_stanzas(part: JsonObject, items: bool) -> JsonObject:
    changed = {}
    for key in _STANZAS.intersection(part):
        bare = drop_empty_from_setting(part[key], items=items)
        if bare is not part[key]:
            changed[key] = bare
    if not changed:
        return part
    return {k: changed.get(k, v) for k, v in part.items() if k not in changed or changed[k] is not None}


def _is(left: object, right: object) -> bool:
    return left is right
