"""Differences between two structural schemas, field by field, without an assessment."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from polykind.contract import JsonObject
from polykind.crd.schema_walker import (
    EMBEDDED,
    INT_OR_STRING,
    LIST_MAP_KEYS,
    LIST_TYPE,
    MAP_TYPE,
    PRESERVE,
    VALIDATIONS,
)
from polykind.schema.equality import deep_equal
from polykind.schema.node import META_KEYS

Pointer = tuple[str | int, ...]


class _Absent:
    """The value of a keyword that a schema does not have."""

    def __repr__(self) -> str:
        return "absent"


ABSENT: Any = _Absent()

LOWER_LIMITS = ("minimum", "minLength", "minItems", "minProperties")
UPPER_LIMITS = ("maximum", "maxLength", "maxItems", "maxProperties")
LIMITS = (*LOWER_LIMITS, *UPPER_LIMITS, "multipleOf")
EXCLUSIVE = ("exclusiveMinimum", "exclusiveMaximum")
COMBINATIONS = ("allOf", "anyOf", "oneOf", "not")
_PLAIN_KEYWORDS = ("type", "enum", "pattern", "format", "default", "nullable", *LIMITS, *EXCLUSIVE, *COMBINATIONS)
_EXTENSIONS = (PRESERVE, INT_OR_STRING, EMBEDDED, LIST_TYPE, LIST_MAP_KEYS, MAP_TYPE)
_IMPLIED: dict[str, Any] = {
    "nullable": False,
    "exclusiveMinimum": False,
    "exclusiveMaximum": False,
    PRESERVE: False,
    INT_OR_STRING: False,
    EMBEDDED: False,
    LIST_TYPE: "atomic",
    MAP_TYPE: "granular",
}
"""The values that absent keywords stand for."""


class SchemaChange(NamedTuple):
    """One difference between two schemas.

    `kind` is `added` or `removed` for a field, `required` or `optional` for a field that became so, `rule-added` or
    `rule-removed` for a CEL rule, and `changed` for the keyword `keyword` of a field that both schemas have.
    """

    kind: str
    path: str
    """The field in objects, such as `spec.ports[*].name`. Empty for the object itself."""
    keyword: str
    before: Any
    after: Any
    pointer: Pointer
    """The place in the newer schema, or in the older one if the newer one has no such place (`in_old`)."""
    in_old: bool
    old_node: JsonObject
    new_node: JsonObject
    """The schemas at `path`; for `added`, `removed`, `required` and `optional` the schemas of the parent."""


def compare_schemas(old: JsonObject, new: JsonObject, *, descriptions: bool = False) -> Iterator[SchemaChange]:
    """Yield the differences between two schemas, parents before children, in the order of the newer schema."""
    return _Comparison(descriptions).node(old, new, "", ())


class _Comparison:
    def __init__(self, descriptions: bool) -> None:
        self._keywords = (*_PLAIN_KEYWORDS, *_EXTENSIONS, *(("description",) if descriptions else ()))

    def node(self, old: JsonObject, new: JsonObject, path: str, at: Pointer) -> Iterator[SchemaChange]:
        for keyword in self._keywords:
            before, after = _value(old, keyword), _value(new, keyword)
            if not _same(keyword, before, after):
                in_old = keyword not in new and keyword in old
                yield SchemaChange("changed", path, keyword, before, after, (*at, keyword), in_old, old, new)
        yield from self._rules(old, new, path, at)
        yield from self._properties(old, new, path, at)
        for keyword, step in (("items", "[*]"), ("additionalProperties", ".*")):
            yield from self._nested(keyword, step, old, new, path, at)

    def _nested(
        self, keyword: str, step: str, old: JsonObject, new: JsonObject, path: str, at: Pointer
    ) -> Iterator[SchemaChange]:
        before, after = _schema(old, keyword), _schema(new, keyword)
        inner = f"{path}{step}" if path else step.lstrip(".")
        if before is not None and after is not None:
            yield from self.node(before, after, inner, (*at, keyword))
        elif before is not None:
            if not (keyword == "items" and _value(old, "type") != _value(new, "type")):
                yield SchemaChange("removed", inner, "", before, ABSENT, (*at, keyword), True, old, new)
        elif after is not None and not (keyword == "items" and _value(old, "type") != _value(new, "type")):
            yield SchemaChange("added", inner, "", ABSENT, after, (*at, keyword), False, old, new)

    def _properties(self, old: JsonObject, new: JsonObject, path: str, at: Pointer) -> Iterator[SchemaChange]:
        before, after = _properties(old, root=not at), _properties(new, root=not at)
        new_map = _schema(new, "additionalProperties")
        old_map = _schema(old, "additionalProperties")
        for name, schema in after.items():
            here, place = _join(path, name), (*at, "properties", name)
            if name in before:
                yield from self.node(before[name], schema, here, place)
            elif old_map is not None:
                # A map became an object with fields: the values of the map had the schema of its items.
                yield from self.node(old_map, schema, here, place)
            else:
                yield SchemaChange("added", here, "", ABSENT, schema, place, False, old, new)
        for name, schema in before.items():
            if name not in after:
                here, place = _join(path, name), (*at, "properties", name)
                if new_map is not None:
                    yield from self.node(schema, new_map, here, (*at, "additionalProperties"))
                else:
                    yield SchemaChange("removed", here, "", schema, ABSENT, place, True, old, new)
        yield from self._required(old, new, path, at)

    def _required(self, old: JsonObject, new: JsonObject, path: str, at: Pointer) -> Iterator[SchemaChange]:
        """Yield fields that became required or optional."""
        old_required, new_required = _names(old), _names(new)
        ignored = () if at else META_KEYS
        for name in new_required:
            if name not in old_required and name not in ignored:
                place = (*at, "required", new_required.index(name))
                yield SchemaChange("required", _join(path, name), "", False, True, place, False, old, new)
        after = _properties(new, root=not at)
        for name in old_required:
            if name not in new_required and name in after and name not in ignored:
                place = (*at, "properties", name)
                yield SchemaChange("optional", _join(path, name), "", True, False, place, False, old, new)

    @staticmethod
    def _rules(old: JsonObject, new: JsonObject, path: str, at: Pointer) -> Iterator[SchemaChange]:
        before, after = _rules(old), _rules(new)
        for text, index in after.items():
            if text not in before:
                place = (*at, VALIDATIONS, index)
                yield SchemaChange("rule-added", path, VALIDATIONS, ABSENT, text, place, False, old, new)
        for text, index in before.items():
            if text not in after:
                place = (*at, VALIDATIONS, index)
                yield SchemaChange("rule-removed", path, VALIDATIONS, text, ABSENT, place, True, old, new)


def _value(node: JsonObject, keyword: str) -> Any:
    value = node.get(keyword)
    if value is None or value == "":
        return _IMPLIED.get(keyword, ABSENT)
    return value


def _same(keyword: str, before: Any, after: Any) -> bool:
    if keyword in ("enum", LIST_MAP_KEYS) and isinstance(before, list) and isinstance(after, list):
        return len(before) == len(after) and all(any(deep_equal(a, b) for b in after) for a in before)
    if isinstance(before, (int, float)) and isinstance(after, (int, float)) and keyword in LIMITS:
        return before == after
    return before is after or deep_equal(before, after)


def _schema(node: JsonObject, keyword: str) -> JsonObject | None:
    value = node.get(keyword)
    if keyword == "additionalProperties" and value is True:
        return {}
    return value if isinstance(value, dict) else None


def _properties(node: JsonObject, *, root: bool) -> dict[str, JsonObject]:
    properties = node.get("properties") or {}
    return {
        name: schema
        for name, schema in properties.items()
        if isinstance(schema, dict) and not (root and name in ("apiVersion", "kind"))
    }


def _names(node: JsonObject) -> list[str]:
    return [name for name in node.get("required") or () if isinstance(name, str)]


def _rules(node: JsonObject) -> dict[str, int]:
    return {
        str(rule["rule"]).strip(): index
        for index, rule in enumerate(node.get(VALIDATIONS) or ())
        if isinstance(rule, dict) and rule.get("rule")
    }


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
