"""Schemas as expressions see them: the type of every node, how large its values can be, and how they are read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from polykind.cel import cel_types, from_json
from polykind.cel.cel_types import Type, list_of, map_of, struct_type
from polykind.cel.runtime_values import ObjectFields
from polykind.contract import JsonObject

MAX_REQUEST_SIZE = 3 * 1024 * 1024
_LONGEST_STRING = MAX_REQUEST_SIZE - 2
_FORMATTED = {
    "duration": (cel_types.DURATION, 3, 32),
    "date": (cel_types.TIMESTAMP, 12, 12),
    "date-time": (cel_types.TIMESTAMP, 21, 32),
}
_PLAIN = {"boolean": (cel_types.BOOL, 4), "number": (cel_types.DOUBLE, 1), "integer": (cel_types.INT, 1)}
_KEYWORDS = (
    "true false null in as break const continue else for function if import let loop package namespace return var "
    "void while"
)
_RESERVED = frozenset(_KEYWORDS.split())
_ESCAPES = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
_writable = re.compile(r"[A-Za-z_.\-/][A-Za-z0-9_.\-/]*").fullmatch
_escaped = re.compile(r"__|[-./]")
_STRING_SCHEMA: JsonObject = {"type": "string"}

FromJson = Callable[[Any], Any]


class DeclType:
    """A node of a schema with a type; `read` makes a value of its JSON, None if that is the value already."""

    __slots__ = ("_largest", "_least", "elem", "fields", "from_json", "key", "schema", "type")

    def __init__(
        self, schema: JsonObject, t: Type, least: int | Callable[[], int], largest: int | Callable[[], int] = 0
    ) -> None:
        self.schema = schema
        self.type = t
        self._least = least
        self._largest = largest
        self.fields: DeclFields | None = None
        self.key: DeclType | None = None
        self.elem: DeclType | None = None
        self.from_json: FromJson | None = None

    @property
    def min_serialized_size(self) -> int:
        """The fewest bytes its JSON can have."""
        if not isinstance(self._least, int):
            self._least = self._least()
        return self._least

    @property
    def max_elements(self) -> int:
        """The most characters, items or entries a value can have."""
        if not isinstance(self._largest, int):
            self._largest = self._largest()
        return self._largest


class DeclFields:
    """The fields of an object by their names in expressions, each declared when first asked for."""

    __slots__ = ("_declare", "_known", "keys")

    def __init__(self, keys: dict[str, str], declare: Callable[[str], DeclType | None]) -> None:
        self.keys = keys
        """Their names in JSON."""
        self._declare = declare
        self._known: dict[str, DeclType | None] = {}

    def key(self, name: str) -> str:
        """A field's name in JSON: a keyword may also be written as it is."""
        return self.keys.get(name) or self.keys[f"__{name}__"]

    def get(self, name: str) -> DeclType | None:
        if name not in self._known:
            known = name in self.keys or (name in _RESERVED and f"__{name}__" in self.keys)
            self._known[name] = self._declare(self.key(name)) if known else None
        return self._known[name]

    def field_reader(self, name: str) -> tuple[str, FromJson | None] | None:
        """A field's name in JSON and its reader; None if there is no such field."""
        found = self.get(name)
        return (self.key(name), found.from_json) if found is not None else None

    def names(self) -> dict[str, str]:
        """Names in expressions by names in JSON."""
        return {key: name for name, key in self.keys.items() if self.get(name) is not None}


def escape(name: str) -> str | None:
    """A property's name in expressions, None if it has none."""
    if name in _RESERVED:
        return f"__{name}__"
    if not _writable(name):
        return None
    return _escaped.sub(lambda match: _ESCAPES[match[0]], name)


class DeclTypeProvider:
    """The declared types of one schema by name."""

    def __init__(self) -> None:
        self.struct_types: dict[str, DeclType] = {}

    def field_type(self, name: str, field: str) -> Type | None:
        declared = self.struct_types.get(name)
        found = declared.fields.get(field) if declared is not None and declared.fields is not None else None
        return found.type if found is not None else None

    def declare(self, schema: JsonObject, name: str, *, root: bool = False) -> DeclType | None:
        """A schema's type, None if expressions cannot see it. A `root` is that of a resource."""
        if schema.get("x-kubernetes-int-or-string"):
            declared = DeclType(schema, cel_types.DYN, 1, _longest(schema.get("maxLength")))
            declared.from_json = from_json.int_or_string
            return declared
        if root:
            schema = with_object_meta(schema)
        type_ = schema.get("type")
        if type_ == "array":
            return self._array(schema, name)
        if type_ == "object":
            return self._map(schema, name) if _valued(schema) else self._object(schema, name)
        if type_ == "string":
            return _string(schema)
        if type_ in _PLAIN:
            declared = DeclType(schema, *_PLAIN[type_])
            if type_ == "number":
                declared.from_json = from_json.number
            elif type_ == "integer":
                declared.from_json = from_json.integer
            return declared
        return None

    def _array(self, schema: JsonObject, name: str) -> DeclType | None:
        items = schema.get("items")
        if not isinstance(items, dict):
            return None
        elem = self.declare(items, f"{name}.@idx", root=bool(items.get("x-kubernetes-embedded-resource")))
        if elem is None:
            return None
        most = schema.get("maxItems")

        def largest() -> int:
            return max(most, 0) if most is not None else (MAX_REQUEST_SIZE - 2) // (elem.min_serialized_size + 1)

        declared = DeclType(schema, list_of(elem.type), 2, largest)
        declared.elem = elem
        read = from_json.nullable_item(_of_each(elem), bool(items.get("nullable")))
        # In the reference, items are told apart by what they have at the names that expressions use, if anything.
        keys = schema.get("x-kubernetes-list-map-keys") or ()
        declared.from_json = from_json.list_from_json(
            read, schema.get("x-kubernetes-list-type"), tuple(escape(key) or key for key in keys)
        )
        return declared

    def _map(self, schema: JsonObject, name: str) -> DeclType | None:
        values = schema["additionalProperties"]
        elem = self.declare(values, f"{name}.@elem", root=bool(values.get("x-kubernetes-embedded-resource")))
        if elem is None:
            return None
        most = schema.get("maxProperties")

        def largest() -> int:
            return max(most, 0) if most is not None else (MAX_REQUEST_SIZE - 2) // (elem.min_serialized_size + 6)

        declared = DeclType(schema, map_of(cel_types.STRING, elem.type), 2, largest)
        # Keys have no schema, so nothing bounds them but the type: the reference takes them as empty.
        declared.key, declared.elem = DeclType({}, cel_types.STRING, 2, 0), elem
        declared.from_json = from_json.map_from_json(
            from_json.nullable_item(_of_each(elem), bool(values.get("nullable")))
        )
        return declared

    def _object(self, schema: JsonObject, name: str) -> DeclType:
        properties = schema.get("properties") or {}
        # What cannot be written as a name is still there for whoever goes over all fields.
        keys = {escape(key) or key: key for key in properties}

        def declare(key: str) -> DeclType | None:
            child = properties[key]
            embedded = bool(child.get("x-kubernetes-embedded-resource"))
            return self.declare(child, f"{name}.{escape(key) or key}", root=embedded)

        def least() -> int:
            total = 2
            for key in frozenset(schema.get("required") or ()):
                child = properties.get(key)
                if child is None or child.get("default") is not None:
                    continue
                inner = declare(key)
                if inner is not None:
                    total += len(key.encode("utf-8", "replace")) + inner.min_serialized_size + 4
            return total

        declared = DeclType(schema, struct_type(name), least)
        declared.fields = DeclFields(keys, declare)
        declared.from_json = from_json.object_from_json(
            ObjectFields(declared.fields.field_reader, declared.fields.names, properties)
        )
        self.struct_types[name] = declared
        return declared


def with_object_meta(schema: JsonObject) -> JsonObject:
    """The schema of a resource: kind, apiVersion and the two names in its metadata can always be seen."""
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


def _valued(schema: JsonObject) -> bool:
    return isinstance(schema.get("additionalProperties"), dict)


def _of_each(elem: DeclType) -> from_json.FromJson | None:
    """How items are read; integers are taken as they are, so that a list of them need not be copied."""
    return None if elem.from_json is from_json.integer else elem.from_json


def _string(schema: JsonObject) -> DeclType:
    name = schema.get("format")
    if name == "byte":
        most = schema.get("maxLength")
        declared = DeclType(schema, cel_types.BYTES, 2, max(most, 0) if most is not None else _LONGEST_STRING)
    elif name in _FORMATTED:
        declared = DeclType(schema, *_FORMATTED[name])
    else:
        return DeclType(schema, cel_types.STRING, 2, _longest(schema.get("maxLength"), schema.get("enum")))
    declared.from_json = from_json.STRING_FORMATS[name]
    return declared


def _longest(most: int | None, enum: Iterable[Any] | None = None) -> int:
    """In bytes: a character has up to four of them."""
    if most is not None:
        return max(most, 0) * 4
    if enum:
        return max((len(v.encode("utf-8", "replace")) for v in enum if isinstance(v, str)), default=0)
    return _LONGEST_STRING
