"""One node of an openAPIV3Schema, read once into typed attributes; whatever has a wrong type counts as absent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from polykind.golang.regexp import Pattern, PatternError, compile_pattern
from polykind.schema import string_formats

ABSENT: Any = object()
META_KEYS = frozenset(("apiVersion", "kind", "metadata"))


class SchemaNode:
    """A schema node. Children are made when first asked for, so that a large schema costs only what is used of it.

    `declared`: types and formats mean what they say, as for defaults. For objects int-or-string is a type of its own,
    whatever type is named beside it, and formats that are not known are passed over.
    """

    __slots__ = (
        "_items",
        "_more",
        "_pattern",
        "_properties",
        "additional_allowed",
        "all_of",
        "any_of",
        "declared",
        "embedded_resource",
        "enum",
        "exclusive_maximum",
        "exclusive_minimum",
        "format",
        "list_map_keys",
        "list_type",
        "max_items",
        "max_length",
        "max_properties",
        "maximum",
        "metadata_path",
        "min_items",
        "min_length",
        "min_properties",
        "minimum",
        "multiple_of",
        "not_",
        "nullable",
        "one_of",
        "pattern",
        "prepared_default",
        "preserve_unknown",
        "raw",
        "required",
        "types",
        "unique_items",
    )  # fmt: skip

    def __init__(self, raw: Any, meta_path: tuple[str | int, ...] | None = None, *, declared: bool = False) -> None:
        raw = raw if isinstance(raw, dict) else {}
        self.raw: dict[str, Any] = raw
        self.metadata_path = meta_path
        self.declared = declared
        type_name = _text(raw, "type")
        self.types: tuple[str, ...] = (type_name,) if type_name else ()
        if raw.get("x-kubernetes-int-or-string") is True and not declared:
            self.types = ("integer", "string")
        format_name = _text(raw, "format")
        only_type = self.types[0] if len(self.types) == 1 else ""
        known = declared or (format_name and string_formats.is_known_format(format_name, only_type))
        self.format = format_name if known else ""
        self.nullable = raw.get("nullable") is True
        self.preserve_unknown = raw.get("x-kubernetes-preserve-unknown-fields") is True
        self.embedded_resource = raw.get("x-kubernetes-embedded-resource") is True
        self.list_type = _text(raw, "x-kubernetes-list-type")
        self.list_map_keys = _texts(raw, "x-kubernetes-list-map-keys")
        enum = raw.get("enum")
        self.enum: list[Any] = enum if isinstance(enum, list) else []
        self.required = _texts(raw, "required")
        self.pattern = _text(raw, "pattern")
        self.min_length, self.max_length = _count(raw, "minLength"), _count(raw, "maxLength")
        self.min_items, self.max_items = _count(raw, "minItems"), _count(raw, "maxItems")
        self.min_properties, self.max_properties = _count(raw, "minProperties"), _count(raw, "maxProperties")
        self.unique_items = raw.get("uniqueItems") is True
        self.minimum, self.maximum = _number(raw, "minimum"), _number(raw, "maximum")
        self.exclusive_minimum = raw.get("exclusiveMinimum") is True
        self.exclusive_maximum = raw.get("exclusiveMaximum") is True
        self.multiple_of = _number(raw, "multipleOf")
        self.all_of, self.any_of = _branches(raw, "allOf", declared), _branches(raw, "anyOf", declared)
        self.one_of = _branches(raw, "oneOf", declared)
        self.not_ = SchemaNode(raw["not"], declared=declared) if isinstance(raw.get("not"), dict) else None
        more = raw.get("additionalProperties")
        self.additional_allowed: bool | None = (
            more if isinstance(more, bool) else True if isinstance(more, dict) else None
        )
        properties = raw.get("properties")
        self._properties: dict[str, Any] = dict(properties) if isinstance(properties, dict) else {}
        self._items: Any = ABSENT
        self._more: Any = ABSENT
        self._pattern: Any = ABSENT
        self.prepared_default: Any = ABSENT

    def property_node(self, name: str) -> SchemaNode | None:
        """The node of a specified property."""
        found = self._properties.get(name, ABSENT)
        if found is ABSENT:
            return None
        if not isinstance(found, SchemaNode):
            found = self._properties[name] = SchemaNode(found, self._below(name), declared=self.declared)
        return found

    @property
    def property_names(self) -> Iterator[str]:
        return iter(self._properties)

    def has_property(self, name: str) -> bool:
        return name in self._properties

    @property
    def items(self) -> SchemaNode | None:
        if self._items is ABSENT:
            raw = self.raw.get("items")
            self._items = SchemaNode(raw, self._below(0), declared=self.declared) if isinstance(raw, dict) else None
        return self._items  # type: ignore[no-any-return]

    @property
    def additional(self) -> SchemaNode | None:
        """The node of additionalProperties, if that is a schema."""
        if self._more is ABSENT:
            raw = self.raw.get("additionalProperties")
            self._more = SchemaNode(raw, self._below("*"), declared=self.declared) if isinstance(raw, dict) else None
        return self._more  # type: ignore[no-any-return]

    def child(self, key: str) -> SchemaNode | None:
        """The node that describes the value of a key: its property, or that of all further keys."""
        return self.property_node(key) if key in self._properties else self.additional

    def specifies(self, key: str) -> bool:
        """Whether a key is not unknown here; its node may still be missing (additionalProperties: true)."""
        return key in self._properties or self.additional_allowed is not None

    def matcher(self) -> Pattern | PatternError | None:
        """The compiled pattern, or why it does not compile."""
        if self._pattern is ABSENT:
            try:
                self._pattern = compile_pattern(self.pattern) if self.pattern else None
            except PatternError as error:
                self._pattern = error
        return self._pattern  # type: ignore[no-any-return]

    def _below(self, step: str | int) -> tuple[str | int, ...] | None:
        """Where a child stands inside the metadata of an embedded resource, None if outside of any."""
        if self.embedded_resource:
            return (step,) if step in META_KEYS else None
        return None if self.metadata_path is None else (*self.metadata_path, step)


def _text(raw: dict[str, Any], key: str) -> str:
    value = raw.get(key)
    return value if isinstance(value, str) else ""


def _texts(raw: dict[str, Any], key: str) -> tuple[str, ...]:
    value = raw.get(key)
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()


def _count(raw: dict[str, Any], key: str) -> int | None:
    value = raw.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _number(raw: dict[str, Any], key: str) -> float | None:
    value = raw.get(key)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        return float(value)
    except OverflowError:
        return None


def _branches(raw: dict[str, Any], key: str, declared: bool) -> tuple[SchemaNode, ...]:
    value = raw.get(key)
    return tuple(SchemaNode(item, declared=declared) for item in value) if isinstance(value, list) else ()
