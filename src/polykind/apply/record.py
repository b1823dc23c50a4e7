"""Types written down by hand, for the kinds that are built in: records, and lists of them."""

from __future__ import annotations

from typing import Final

from polykind.apply.model import DEDUCED, STRING, UNTYPED, Field, ListType, MapType, Type

ANY: Final = Type("untyped", MapType({}, DEDUCED, atomic=False), ListType(UNTYPED, atomic=True))
"""A value without a type of its own."""


def struct(**fields: Type) -> Type:
    """An object whose fields are owned one by one; no others are allowed."""
    named = {name: Field(f"f:{name}", kind, None) for name, kind in fields.items()}
    return Type(map_type=MapType(named, None, atomic=False))


def atomic(**fields: Type) -> Type:
    """A struct that is owned as a whole."""
    out = struct(**fields)
    if out.map is not None:
        out.map.atomic = True
    return out


def many(element: Type) -> Type:
    """A list that is owned as a whole."""
    return Type(list_type=ListType(element, atomic=True))


def mapping(element: Type) -> Type:
    """An object with any names, owned one by one."""
    return Type(map_type=MapType({}, element, atomic=False))


def keyed(element: Type, key: str) -> Type:
    """A list keyed by a field that, as all required texts of built-in kinds, is empty by default."""
    if element.map is not None:
        element.map.fields[key] = element.map.fields[key]._replace(default="")
    return Type(list_type=ListType(element, atomic=False, keys=(key,)))


TEXTS: Final = many(STRING)
