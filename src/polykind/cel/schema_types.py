"""Schema types: the CEL type, the maximum size and the conversion from JSON of every node of an OpenAPI schema.

The equivalents in kube-apiserver are SchemaDeclType, DeclType and DeclTypeProvider.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from polykind.cel import cel_types, from_json
from polykind.cel.cel_types import Type, list_of, map_of, struct_type
from polykind.cel.from_json import FromJson
from polykind.cel.runtime_values import ObjectFields
from polykind.contract import JsonObject
from polykind.golang.utf8 import byte_length

MAX_REQUEST_SIZE = 3 * 1024 * 1024
_MAX_STRING_SIZE = MAX_REQUEST_SIZE - 2
_STRING_FORMAT_TYPES = {
    "duration": (cel_types.DURATION, 3, 32),
    "date": (cel_types.TIMESTAMP, 12, 12),
    "date-time": (cel_types.TIMESTAMP, 21, 32),
}
_SCALAR_TYPES = {"boolean": (cel_types.BOOL, 4), "number": (cel_types.DOUBLE, 1), "integer": (cel_types.INT, 1)}
_RESERVED_WORDS = (
    "true false null in as break const continue else for function if import let loop package namespace return var "
    "void while"
)
_RESERVED = frozenset(_RESERVED_WORDS.split())
_ESCAPES = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
_UNESCAPES = {escaped: character for character, escaped in _ESCAPES.items()}
_escape_sequences = re.compile(r"__[A-Za-z0-9]+__")
_is_escapable = re.compile(r"[A-Za-z_.\-/][A-Za-z0-9_.\-/]*").fullmatch
_escaped_characters = re.compile(r"__|[-./]")
_STRING_SCHEMA: JsonObject = {"type": "string"}


class DeclType:
    """The declared type of a schema node. `from_json` is None if the JSON itself is the CEL value."""

    __slots__ = ("_max_elements", "_min_size", "elem", "fields", "from_json", "key", "schema", "type")

    def __init__(
        self, schema: JsonObject, t: Type, min_size: int | Callable[[], int], max_elements: int | Callable[[], int] = 0
    ) -> None:
        self.schema = schema
        self.type = t
        self._min_size = min_size
        self._max_elements = max_elements
        self.fields: DeclFields | None = None
        self.key: DeclType | None = None
        self.elem: DeclType | None = None
        self.from_json: FromJson | None = None

    @property
    def min_serialized_size(self) -> int:
        """The smallest possible size in bytes of a value of this type, written as JSON."""
        if not isinstance(self._min_size, int):
            self._min_size = self._min_size()
        return self._min_size

    @property
    def max_elements(self) -> int:
        """The largest possible number of bytes in a string, items in a list or entries in a map."""
        if not isinstance(self._max_elements, int):
            self._max_elements = self._max_elements()
        return self._max_elements


class DeclFields:
    """The fields of an object, by their names in expressions. Each field's type is declared on first use."""

    __slots__ = ("_cache", "_declare", "keys")

    def __init__(self, keys: dict[str, str], declare: Callable[[str], DeclType | None]) -> None:
        self.keys = keys
        """JSON names of fields, by their names in expressions."""
        self._declare = declare
        self._cache: dict[str, DeclType | None] = {}

    def key(self, name: str) -> str:
        """Return a field's JSON name. A name that is a reserved word may be given unescaped."""
        return self.keys.get(name) or self.keys[f"__{name}__"]

    def get(self, name: str) -> DeclType | None:
        if name not in self._cache:
            exists = name in self.keys or (name in _RESERVED and f"__{name}__" in self.keys)
            self._cache[name] = self._declare(self.key(name)) if exists else None
        return self._cache[name]

    def field_reader(self, name: str) -> tuple[str, FromJson | None] | None:
        """Return a field's JSON name and its conversion from JSON. Return None if there is no such field."""
        field = self.get(name)
        return (self.key(name), field.from_json) if field is not None else None

    def names(self) -> dict[str, str]:
        """Return the names of the fields in expressions, by JSON name."""
        return {key: name for name, key in self.keys.items() if self.get(name) is not None}


def escape(name: str) -> str | None:
    """Return the name of a property in expressions. Return None if expressions cannot access the property."""
    if name in _RESERVED:
        return f"__{name}__"
    if not _is_escapable(name):
        return None
    return _escaped_characters.sub(lambda match: _ESCAPES[match[0]], name)


def unescape(name: str) -> str | None:
    """Return the name of the property that `name` is in expressions. Return None if an escape sequence is invalid."""
    if name.startswith("__") and name.endswith("__") and name[2:-2] in _RESERVED:
        return name[2:-2]
    sequences = _escape_sequences.findall(name)
    if any(sequence not in _UNESCAPES for sequence in sequences):
        return None
    return _escape_sequences.sub(lambda match: _UNESCAPES[match[0]], name)


class DeclTypeProvider:
    """Declares the types of one schema and provides the types of their fields to the checker."""

    def __init__(self) -> None:
        self.struct_types: dict[str, DeclType] = {}

    def field_type(self, name: str, field: str) -> Type | None:
        decl_type = self.struct_types.get(name)
        decl_field = decl_type.fields.get(field) if decl_type is not None and decl_type.fields is not None else None
        return decl_field.type if decl_field is not None else None

    def declare(self, schema: JsonObject, name: str, *, root: bool = False) -> DeclType | None:
        """Declare the type of a schema node. Return None if expressions cannot access the node.

        If `root` is true, the node is the schema of a resource. Its metadata is always accessible.
        """
        if schema.get("x-kubernetes-int-or-string"):
            decl_type = DeclType(schema, cel_types.DYN, 1, _max_string_size(schema.get("maxLength")))
            decl_type.from_json = from_json.int_or_string
            return decl_type
        if root:
            schema = with_object_meta(schema)
        type_ = schema.get("type")
        if type_ == "array":
            return self._array(schema, name)
        if type_ == "object":
            return self._map(schema, name) if _is_map(schema) else self._object(schema, name)
        if type_ == "string":
            return _string(schema)
        if type_ in _SCALAR_TYPES:
            decl_type = DeclType(schema, *_SCALAR_TYPES[type_])
            if type_ == "number":
                decl_type.from_json = from_json.number
            elif type_ == "integer":
                decl_type.from_json = from_json.integer
            return decl_type
        return None

    def _array(self, schema: JsonObject, name: str) -> DeclType | None:
        items = schema.get("items")
        if not isinstance(items, dict):
            return None
        elem = self.declare(items, f"{name}.@idx", root=bool(items.get("x-kubernetes-embedded-resource")))
        if elem is None:
            return None
        limit = schema.get("maxItems")

        def max_elements() -> int:
            return max(limit, 0) if limit is not None else (MAX_REQUEST_SIZE - 2) // (elem.min_serialized_size + 1)

        decl_type = DeclType(schema, list_of(elem.type), 2, max_elements)
        decl_type.elem = elem
        item_from_json = from_json.nullable_item(_item_conversion(elem), bool(items.get("nullable")))
        # kube-apiserver looks up x-kubernetes-list-map-keys by their escaped names.
        keys = schema.get("x-kubernetes-list-map-keys") or ()
        decl_type.from_json = from_json.list_from_json(
            item_from_json, schema.get("x-kubernetes-list-type"), tuple(escape(key) or key for key in keys)
        )
        return decl_type

    def _map(self, schema: JsonObject, name: str) -> DeclType | None:
        values = schema["additionalProperties"]
        elem = self.declare(values, f"{name}.@elem", root=bool(values.get("x-kubernetes-embedded-resource")))
        if elem is None:
            return None
        limit = schema.get("maxProperties")

        def max_elements() -> int:
            return max(limit, 0) if limit is not None else (MAX_REQUEST_SIZE - 2) // (elem.min_serialized_size + 6)

        decl_type = DeclType(schema, map_of(cel_types.STRING, elem.type), 2, max_elements)
        # Map keys have no schema, so kube-apiserver estimates their size as 0.
        decl_type.key, decl_type.elem = DeclType({}, cel_types.STRING, 2, 0), elem
        decl_type.from_json = from_json.map_from_json(
            from_json.nullable_item(_item_conversion(elem), bool(values.get("nullable")))
        )
        return decl_type

    def _object(self, schema: JsonObject, name: str) -> DeclType:
        properties = schema.get("properties") or {}
        # A property whose name cannot be escaped is still visible to macros that iterate over all fields.
        keys = {escape(key) or key: key for key in properties}

        def declare(key: str) -> DeclType | None:
            child = properties[key]
            embedded = bool(child.get("x-kubernetes-embedded-resource"))
            return self.declare(child, f"{name}.{escape(key) or key}", root=embedded)

        def min_size() -> int:
            total = 2
            for key in frozenset(schema.get("required") or ()):
                child = properties.get(key)
                if child is None or child.get("default") is not None:
                    continue
                inner = declare(key)
                if inner is not None:
                    total += byte_length(key) + inner.min_serialized_size + 4
            return total

        decl_type = DeclType(schema, struct_type(name), min_size)
        decl_type.fields = DeclFields(keys, declare)
        decl_type.from_json = from_json.object_from_json(
            ObjectFields(decl_type.fields.field_reader, decl_type.fields.names, properties)
        )
        self.struct_types[name] = decl_type
        return decl_type


def with_object_meta(schema: JsonObject) -> JsonObject:
    """Return a resource's schema in which kind, apiVersion, metadata.name and metadata.generateName are declared."""
    properties = schema.get("properties") or {}
    meta = properties.get("metadata") or {}
    inner = meta.get("properties") or {}
    if (
        meta.get("type") == "object"
        and all((properties.get(key) or {}).get("type") == "string" for key in ("kind", "apiVersion"))
        and all((inner.get(key) or {}).get("type") == "string" for key in ("name", "generateName"))
    ):
        return schema
    names = {"name": _STRING_SCHEMA, "generateName": _STRING_SCHEMA}
    return {
        **schema,
        "properties": {
            **properties,
            "kind": _STRING_SCHEMA,
            "apiVersion": _STRING_SCHEMA,
            "metadata": {"type": "object", "properties": names},
        },
    }


def _is_map(schema: JsonObject) -> bool:
    return isinstance(schema.get("additionalProperties"), dict)


def _item_conversion(elem: DeclType) -> from_json.FromJson | None:
    """Return the conversion of list or map items. Integers are checked on access, which avoids a copy of the list."""
    return None if elem.from_json is from_json.integer else elem.from_json


def _string(schema: JsonObject) -> DeclType:
    name = schema.get("format")
    if name == "byte":
        limit = schema.get("maxLength")
        decl_type = DeclType(schema, cel_types.BYTES, 2, max(limit, 0) if limit is not None else _MAX_STRING_SIZE)
    elif name in _STRING_FORMAT_TYPES:
        decl_type = DeclType(schema, *_STRING_FORMAT_TYPES[name])
    else:
        return DeclType(schema, cel_types.STRING, 2, _max_string_size(schema.get("maxLength"), schema.get("enum")))
    decl_type.from_json = from_json.STRING_FORMATS[name]
    return decl_type


def _max_string_size(limit: int | None, enum: Iterable[Any] | None = None) -> int:
    """Return the maximum size of a string in bytes. maxLength counts characters, which have up to four bytes."""
    if limit is not None:
        return max(limit, 0) * 4
    if enum:
        return max((byte_length(v) for v in enum if isinstance(v, str)), default=0)
    return _MAX_STRING_SIZE
