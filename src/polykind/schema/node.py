"""A node of an openAPIV3Schema with typed attributes. A keyword whose value has a wrong type is ignored."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from polykind import errors
from polykind.golang.fmt import go_print
from polykind.golang.json import go_json
from polykind.golang.regexp import Pattern, PatternError, compile_pattern
from polykind.schema import string_formats
from polykind.schema.equality import hashable_key

ABSENT: Any = object()
META_KEYS = frozenset(("apiVersion", "kind", "metadata"))


class EnumIndex:
    """The values of an enum, prepared for error messages and for a lookup whose time does not grow with the enum."""

    __slots__ = ("keys", "supported", "text", "types")

    def __init__(self, enum: list[Any]) -> None:
        listed = [value for value in enum if value is not None]
        self.keys = frozenset(map(hashable_key, listed))
        self.types = frozenset(map(type, listed))
        self.text = go_print(enum)
        self.supported = errors.not_supported(
            "", None, [value if isinstance(value, str) else go_json(value) for value in enum]
        ).detail


class SchemaNode:
    """A schema node. Child nodes are created on first use, so the unused parts of a large schema cost nothing.

    By default x-kubernetes-int-or-string overrides the type, and unknown formats are ignored. If `for_defaults` is
    true, type and format are used as written, as kube-apiserver does when it validates defaults.
    """

    __slots__ = (
        "_additional", "_enum_index", "_items", "_pattern", "_properties", "additional_allowed", "all_of", "any_of",
        "embedded_resource", "enum", "exclusive_maximum", "exclusive_minimum", "for_defaults", "format",
        "list_map_keys", "list_type", "max_items", "max_length", "max_properties", "maximum", "metadata_path",
        "min_items", "min_length", "min_properties", "minimum", "multiple_of", "not_", "nullable", "one_of",
        "pattern", "prepared_default", "preserve_unknown", "raw", "required", "types", "unique_items",
    )  # fmt: skip

    def __init__(
        self, raw: Any, metadata_path: tuple[str | int, ...] | None = None, *, for_defaults: bool = False
    ) -> None:
        raw = raw if isinstance(raw, dict) else {}
        self.raw: dict[str, Any] = raw
        self.metadata_path = metadata_path
        """The path of the node inside apiVersion, kind or metadata of an embedded resource.

        None for all other nodes.
        """
        self.for_defaults = for_defaults
        type_name = _string(raw, "type")
        self.types: tuple[str, ...] = (type_name,) if type_name else ()
        if raw.get("x-kubernetes-int-or-string") is True and not for_defaults:
            self.types = ("integer", "string")
        format_name = _string(raw, "format")
        only_type = self.types[0] if len(self.types) == 1 else ""
        known = for_defaults or (format_name and string_formats.is_known_format(format_name, only_type))
        self.format = format_name if known else ""
        self.nullable = raw.get("nullable") is True
        self.preserve_unknown = raw.get("x-kubernetes-preserve-unknown-fields") is True
        self.embedded_resource = raw.get("x-kubernetes-embedded-resource") is True
        self.list_type = _string(raw, "x-kubernetes-list-type")
        self.list_map_keys = _strings(raw, "x-kubernetes-list-map-keys")
        enum = raw.get("enum")
        self.enum: list[Any] = enum if isinstance(enum, list) else []
        self.required = _strings(raw, "required")
        self.pattern = _string(raw, "pattern")
        self.min_length, self.max_length = _int(raw, "minLength"), _int(raw, "maxLength")
        self.min_items, self.max_items = _int(raw, "minItems"), _int(raw, "maxItems")
        self.min_properties, self.max_properties = _int(raw, "minProperties"), _int(raw, "maxProperties")
        self.unique_items = raw.get("uniqueItems") is True
        self.minimum, self.maximum = _number(raw, "minimum"), _number(raw, "maximum")
        self.exclusive_minimum = raw.get("exclusiveMinimum") is True
        self.exclusive_maximum = raw.get("exclusiveMaximum") is True
        self.multiple_of = _number(raw, "multipleOf")
        self.all_of, self.any_of = _branches(raw, "allOf", for_defaults), _branches(raw, "anyOf", for_defaults)
        self.one_of = _branches(raw, "oneOf", for_defaults)
        self.not_ = SchemaNode(raw["not"], for_defaults=for_defaults) if isinstance(raw.get("not"), dict) else None
        additional = raw.get("additionalProperties")
        self.additional_allowed: bool | None = (
            additional if isinstance(additional, bool) else True if isinstance(additional, dict) else None
        )
        """True if additionalProperties allows undeclared keys, False if it forbids them, None if it is absent."""
        properties = raw.get("properties")
        self._properties: dict[str, Any] = dict(properties) if isinstance(properties, dict) else {}
        self._items: Any = ABSENT
        self._additional: Any = ABSENT
        self._pattern: Any = ABSENT
        self._enum_index: EnumIndex | None = None
        self.prepared_default: Any = ABSENT
        """The cached result of `effective_default` for this node."""

    def property_node(self, name: str) -> SchemaNode | None:
        """Return the node of a property. Return None if the schema does not specify the property."""
        node = self._properties.get(name, ABSENT)
        if node is ABSENT:
            return None
        if not isinstance(node, SchemaNode):
            node = self._properties[name] = SchemaNode(
                node, self._child_metadata_path(name), for_defaults=self.for_defaults
            )
        return node

    @property
    def property_names(self) -> Iterator[str]:
        """The names of the properties that the schema specifies."""
        return iter(self._properties)

    def has_property(self, name: str) -> bool:
        """True if the schema specifies the property."""
        return name in self._properties

    @property
    def items(self) -> SchemaNode | None:
        """The schema node of list items. None if the schema does not specify items."""
        if self._items is ABSENT:
            raw = self.raw.get("items")
            self._items = (
                SchemaNode(raw, self._child_metadata_path(0), for_defaults=self.for_defaults)
                if isinstance(raw, dict)
                else None
            )
        return self._items  # type: ignore[no-any-return]

    @property
    def additional(self) -> SchemaNode | None:
        """The schema node of additionalProperties. None if additionalProperties is absent or a bool."""
        if self._additional is ABSENT:
            raw = self.raw.get("additionalProperties")
            self._additional = (
                SchemaNode(raw, self._child_metadata_path("*"), for_defaults=self.for_defaults)
                if isinstance(raw, dict)
                else None
            )
        return self._additional  # type: ignore[no-any-return]

    def child(self, key: str) -> SchemaNode | None:
        """Return the node of a key's property if the schema specifies it, else the node of additionalProperties."""
        return self.property_node(key) if key in self._properties else self.additional

    def specifies(self, key: str) -> bool:
        """True if `key` is a declared property or additionalProperties is present. `child(key)` may still be None."""
        return key in self._properties or self.additional_allowed is not None

    @property
    def enum_index(self) -> EnumIndex:
        """The enum, prepared for fast lookup."""
        if self._enum_index is None:
            self._enum_index = EnumIndex(self.enum)
        return self._enum_index

    def matcher(self) -> Pattern | PatternError | None:
        """Return the compiled pattern, or the error if Go rejects the pattern. Return None if there is no pattern."""
        if self._pattern is ABSENT:
            try:
                self._pattern = compile_pattern(self.pattern) if self.pattern else None
            except PatternError as error:
                self._pattern = error
        return self._pattern  # type: ignore[no-any-return]

    def _child_metadata_path(self, key: str | int) -> tuple[str | int, ...] | None:
        """Return the `metadata_path` of a child node."""
        if self.embedded_resource:
            return (key,) if key in META_KEYS else None
        return None if self.metadata_path is None else (*self.metadata_path, key)


def _string(raw: dict[str, Any], key: str) -> str:
    value = raw.get(key)
    return value if isinstance(value, str) else ""


def _strings(raw: dict[str, Any], key: str) -> tuple[str, ...]:
    value = raw.get(key)
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()


def _int(raw: dict[str, Any], key: str) -> int | None:
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


def _branches(raw: dict[str, Any], key: str, for_defaults: bool) -> tuple[SchemaNode, ...]:
    value = raw.get(key)
    return tuple(SchemaNode(item, for_defaults=for_defaults) for item in value) if isinstance(value, list) else ()
