"""The types that server-side apply uses for built-in kinds, and the merge strategies of strategic merge patches."""

from __future__ import annotations

from functools import cache

from polykind.apis.machinery import value_types as types
from polykind.apis.machinery.structs import Field, Struct
from polykind.apis.machinery.value_types import ListOf, MapOf, ValueType
from polykind.apply import model
from polykind.apply.model import ANY, BOOLEAN, DEDUCED, NUMERIC, SCALAR, STRING, UNTYPED, ListType, MapType, Type
from polykind.apply.strategic_merge_patch import FieldType, Strategy
from polykind.apply.typemodel import TypeModel


@cache
def apply_model(struct: Struct) -> TypeModel:
    """Return the type model of a kind for server-side apply. Its `zero` has the zero values of required fields."""
    return TypeModel(None, root=_type(struct, {}), zero=struct.zero(), ordered=True)


def _type(value_type: ValueType, known: dict[Struct, Type]) -> Type:
    """Return the type that server-side apply uses for a declared type.

    `known` holds the types of the structs that have been visited, because structs can be recursive.
    """
    if isinstance(value_type, Struct):
        if value_type not in known:
            if value_type.model and not value_type.fields:
                return ANY
            fields: dict[str, model.Field] = {}
            known[value_type] = Type(map_type=MapType(fields, None, atomic=value_type.atomic))
            for field in value_type.fields:
                fields[field.name] = model.Field(f"f:{field.name}", _field_type(field, known), _key_default(field))
        return known[value_type]
    if isinstance(value_type, MapOf):
        return Type(map_type=MapType({}, _type(value_type.item, known), atomic=False))
    if isinstance(value_type, ListOf):
        return Type(list_type=ListType(_type(value_type.item, known), atomic=True))
    for classes, scalar in (
        ((types.String, types.Bytes), STRING),
        ((types.Bool,), BOOLEAN),
        ((types.Int, types.Float), NUMERIC),
        ((types.Time, types.IntOrString, types.Quantity), SCALAR),
    ):
        if isinstance(value_type, classes):
            return scalar
    if value_type is types.RAW_EXTENSION:
        return UNTYPED
    if isinstance(value_type, types.Verbatim):
        return Type(map_type=MapType({}, DEDUCED, atomic=value_type is types.RAW_EXTENSION))
    if isinstance(value_type, types.Wrapped):
        return Type(list_type=ListType(STRING, atomic=True))
    return ANY


def _field_type(field: Field, known: dict[Struct, Type]) -> Type:
    value_type = field.type
    if isinstance(value_type, ListOf) and field.list_type in ("map", "set"):
        return Type(list_type=ListType(_type(value_type.item, known), atomic=False, keys=field.keys))
    if isinstance(value_type, MapOf) and field.map_type == "atomic":
        return Type(map_type=MapType({}, _type(value_type.item, known), atomic=True))
    if isinstance(value_type, Struct) and field.map_type:
        declared = _type(value_type, known).map
        if declared is not None:
            return Type(map_type=MapType(declared.fields, None, atomic=field.map_type == "atomic"))
    return _type(value_type, known)


def _key_default(field: Field) -> object:
    """Return the value of a list map key for items without the key. kube-apiserver uses zero for required scalars."""
    is_scalar = isinstance(field.type, types.String | types.Int | types.Bool)
    return field.type.zero() if is_scalar and not field.omitempty and field.default is None else field.default


@cache
def merge_strategy(struct: Struct) -> Strategy:
    """Return the rules by which a strategic merge patch merges or replaces the fields of an object."""
    return _struct_strategy(struct, None, {})


def _struct_strategy(
    struct: Struct, key: str | None, known: dict[Struct, dict[str, Strategy]], *, pointer: bool = False
) -> Strategy:
    fields = known.get(struct)
    if fields is None:
        fields = known[struct] = {}
        for field in struct.fields:
            merged = field.merge_key if field.merge_key or field.patch_strategy else None
            inner = field.type.item if isinstance(field.type, ListOf) and merged is not None else field.type
            if field.patch_strategy == "replace":
                fields[field.name] = Strategy(replaces_object=True)
            elif isinstance(inner, Struct):
                fields[field.name] = _struct_strategy(inner, merged, known, pointer=field.pointer)
            elif merged is not None:
                fields[field.name] = Strategy(key=merged)
            elif isinstance(inner, MapOf):
                fields[field.name] = _MAP
    return Strategy(
        fields, key, go_kind="ptr" if pointer else "struct", go_name=struct.name, types=_field_types(struct)
    )


_MAP = Strategy(go_kind="map")


def _field_types(struct: Struct) -> dict[str, FieldType]:
    """Return what a strategic merge patch needs to know about the Go types of all fields of a struct."""
    found: dict[str, FieldType] = {"apiVersion": "other", "kind": "other"} if struct.kind else {}
    for field in struct.fields:
        is_list = isinstance(field.type, ListOf | types.Wrapped)
        found[field.name] = "list" if is_list else "pointer" if field.pointer else "other"
    return found
