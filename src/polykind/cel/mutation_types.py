"""Types that mutating admission policies construct: JSONPatch, and Object with a nested type per field path."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from polykind.cel.cel_types import DYN, STRING, Type, struct_type
from polykind.cel.evaluation_errors import EvalError
from polykind.cel.runtime_values import KIND_BY_CLASS, ConstructedObject, ObjectFields, SchemaObject, equals
from polykind.cel.to_native import go_type

OBJECT_TYPE, JSON_PATCH_TYPE = struct_type("Object"), struct_type("JSONPatch")
_UNKNOWN_FIELD = Type("unspecified", "")
_STRING_FIELDS = ("op", "from", "path")
_FIELD_TYPES = {**dict.fromkeys(_STRING_FIELDS, STRING), "value": DYN}
_OBJECT_FIELDS = ObjectFields(lambda name: (name, None), dict)


def constructible_type(name: str) -> Type | None:
    """Return the type `name` if it is Object, a nested type such as Object.spec, or JSONPatch, otherwise None."""
    if name in (OBJECT_TYPE.name, JSON_PATCH_TYPE.name) or name.startswith(f"{OBJECT_TYPE.name}."):
        return struct_type(name)
    return None


def constructible_field(type_name: str, field: str) -> Type | None:
    """Return the type of a field of a constructible type. In an Object, every field name is valid."""
    if type_name == JSON_PATCH_TYPE.name:
        return _FIELD_TYPES.get(field, _UNKNOWN_FIELD)
    return DYN if constructible_type(type_name) is not None else None


class JSONPatchOperation(SchemaObject):
    """A value of type JSONPatch: one operation of a JSON patch."""

    __slots__ = ()

    def __init__(self, fields: dict[str, Any]) -> None:
        super().__init__(fields, _OBJECT_FIELDS)

    def get(self, name: str) -> Any:
        if name not in _FIELD_TYPES:
            raise EvalError(f"unsupported indexer: {name}")
        return self.raw.get(name, "" if name in _STRING_FIELDS else None)

    def has(self, name: str) -> bool:
        return bool(self.raw.get(name)) if name in _STRING_FIELDS else name in self.raw

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, JSONPatchOperation):
            return False
        if any(self.get(name) != other.get(name) for name in _STRING_FIELDS):
            return False
        return self.has("value") == other.has("value") and equals(self.get("value"), other.get("value")) is True

    __hash__ = None  # type: ignore[assignment]


KIND_BY_CLASS[ConstructedObject] = OBJECT_TYPE.name
KIND_BY_CLASS[JSONPatchOperation] = JSON_PATCH_TYPE.name


def object_constructor(type_: Type) -> Callable[[dict[str, Any]], Any] | None:
    """Return a function that constructs a value from its fields. Return None if the type is not constructible."""
    if type_ == JSON_PATCH_TYPE:
        return _json_patch
    return partial(ConstructedObject, type_) if constructible_type(type_.name) is not None else None


def _json_patch(fields: dict[str, Any]) -> JSONPatchOperation:
    for name in _STRING_FIELDS:
        value = fields.get(name, "")
        if not isinstance(value, str):
            raise EvalError(f"unexpected type {go_type(value)} for JSONPatchType '{name}' field")
    return JSONPatchOperation(fields)


def select(value: Any, name: str) -> Any:
    """Return a field of a constructed value. An unset field of an Object is null."""
    return value.fields.get(name) if isinstance(value, ConstructedObject) else value.get(name)


def has(value: Any, name: str) -> bool:
    return name in value.fields if isinstance(value, ConstructedObject) else bool(value.has(name))
