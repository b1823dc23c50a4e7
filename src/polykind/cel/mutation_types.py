"""What expressions of mutations may make: objects, typed by the path to them, and JSON patches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from polykind.cel.activation import Closure, Frame
from polykind.cel.cel_types import DYN, STRING, Type, struct_type
from polykind.cel.evaluation_errors import EvalError
from polykind.cel.runtime_values import KIND_BY_CLASS, ConstructedObject, ObjectFields, Optional, SchemaObject, equals
from polykind.cel.to_native import go_type, value_string

OBJECT_TYPE, JSON_PATCH_TYPE = struct_type("Object"), struct_type("JSONPatch")
_UNKNOWN = Type("unspecified", "")
_TEXTS = ("op", "from", "path")
_FIELDS = {**dict.fromkeys(_TEXTS, STRING), "value": DYN}
_SHAPE = ObjectFields(lambda name: (name, None), dict)


def constructible_type(name: str) -> Type | None:
    """The type of that name, if values of it can be made."""
    if name in (OBJECT_TYPE.name, JSON_PATCH_TYPE.name) or name.startswith(f"{OBJECT_TYPE.name}."):
        return struct_type(name)
    return None


def constructible_field(type_: str, name: str) -> Type | None:
    """The type of a field of what can be made. Objects have whichever fields they are given."""
    if type_ == JSON_PATCH_TYPE.name:
        return _FIELDS.get(name, _UNKNOWN)
    return DYN if constructible_type(type_) is not None else None


class JSONPatchOperation(SchemaObject):
    """One operation of a JSON patch."""

    __slots__ = ()

    def __init__(self, fields: dict[str, Any]) -> None:
        super().__init__(fields, _SHAPE)

    def get(self, name: str) -> Any:
        if name not in _FIELDS:
            raise EvalError(f"unsupported indexer: {name}")
        return self.raw.get(name, "" if name in _TEXTS else None)

    def has(self, name: str) -> bool:
        return bool(self.raw.get(name)) if name in _TEXTS else name in self.raw

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, JSONPatchOperation) or any(self.get(name) != other.get(name) for name in _TEXTS):
            return False
        return self.has("value") == other.has("value") and equals(self.get("value"), other.get("value")) is True

    __hash__ = None  # type: ignore[assignment]


KIND_BY_CLASS[ConstructedObject] = OBJECT_TYPE.name
KIND_BY_CLASS[JSONPatchOperation] = JSON_PATCH_TYPE.name


def object_constructor(type_: Type) -> Callable[[dict[str, Any]], Any] | None:
    """Makes a value of a type of its fields; None if it is none of those."""
    if type_ == JSON_PATCH_TYPE:
        return _patch
    return partial(ConstructedObject, type_) if constructible_type(type_.name) is not None else None


def construct(make: Callable[[dict[str, Any]], Any], fields: Sequence[tuple[str, Closure, bool]]) -> Closure:
    """Makes a value of its fields; one that is optional is left out where nothing is in it."""

    def build(frame: Frame) -> Any:
        found: dict[str, Any] = {}
        for name, run, optional in fields:
            value = run(frame)
            if optional:
                if not isinstance(value, Optional):
                    why = f"cannot initialize optional entry '{name}' from non-optional value"
                    raise EvalError(f"{why} {value_string(value)}")
                if not value.present:
                    found.pop(name, None)
                    continue
                value = value.value
            found[name] = value
        return make(found)

    return build


def _patch(fields: dict[str, Any]) -> JSONPatchOperation:
    for name in _TEXTS:
        value = fields.get(name, "")
        if not isinstance(value, str):
            raise EvalError(f"unexpected type {go_type(value)} for JSONPatchType '{name}' field")
    return JSONPatchOperation(fields)


def select(value: Any, name: str) -> Any:
    """A field of something that was made; one that it was not given is null."""
    return value.fields.get(name) if isinstance(value, ConstructedObject) else value.get(name)


def has(value: Any, name: str) -> bool:
    return name in value.fields if isinstance(value, ConstructedObject) else bool(value.has(name))
