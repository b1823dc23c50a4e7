"""Values read by their types: the fields they hold, and why they do not fit."""

from __future__ import annotations

from typing import Any

from polykind import errors
from polykind.apply.fieldset import LEAF, Fields, format_path, with_self
from polykind.apply.model import ListType, MapType, MisfitError, Shape, Type
from polykind.golang.fmt import GoValue, go_literal, go_print, go_type

_MOST_SHAPES = 64
"""Shapes remembered of one type, and the most keys of one that is."""


def all_fields(value: Any, kind: Type) -> Fields:
    """Every field of a value that has just come or gone, the containers among them."""
    if type(value) is dict:
        fields = kind.map
        if fields is None:
            raise MisfitError
        if fields.atomic or not value:
            return LEAF
        known = (tuple(value), tuple(map(type, value.values())))
        shape = fields.shapes.get(known)
        if shape is None:
            shape = _shape(value, fields)
            if len(fields.shapes) >= _MOST_SHAPES:
                fields.shapes.clear()
            if len(value) <= _MOST_SHAPES:
                fields.shapes[known] = shape
        if not shape.deeper:
            return shape.fields
        out = shape.fields.copy()
        for name, key, below in shape.deeper:
            out[key] = all_fields(value[name], below)
        return out
    if type(value) is list:
        items = kind.list
        if items is None:
            raise MisfitError
        if items.atomic or not value:
            return LEAF
        return _all_of_list(value, items, {".": LEAF})
    if type(value) not in kind.scalars:
        raise MisfitError
    return LEAF


def _shape(value: dict[str, Any], fields: MapType) -> Shape:
    named, element = fields.fields, fields.element
    out: Fields = {".": LEAF}
    deeper = []
    for name, item in value.items():
        field = named.get(name)
        if field is not None:
            key, kind, _ = field
        elif element is not None:
            key, kind = f"f:{name}", element
        else:
            raise MisfitError
        out[key] = LEAF
        if type(item) is dict or type(item) is list:
            parts = kind.map if type(item) is dict else kind.list
            if parts is None:
                raise MisfitError
            if not parts.atomic:
                deeper.append((name, key, kind))
        elif type(item) not in kind.scalars:
            raise MisfitError
    return Shape(out, tuple(deeper))


def _all_of_list(value: list[Any], items: ListType, out: Fields) -> Fields:
    element = items.element
    for item in value:
        key = items.item_key(item)
        # Items that stand there more than once are owned together, and not what is in them.
        out[key] = LEAF if key in out else all_fields(item, element)
    return out


def applied_fields(value: Any, kind: Type, unique: bool = False) -> Fields | None:
    """The fields that a manager who applies this value owns: what it states, and not the containers on the way.

    None if it states nothing, as an empty keyed list does. `unique` looks closer, as is due to what a
    client applies: items may not stand in a list twice, and what is owned as a whole must fit as well.
    """
    if type(value) is dict:
        fields = kind.map
        if fields is None:
            raise MisfitError
        if fields.atomic:
            if unique:
                _check_map(value, fields)
            return LEAF
        if not value:
            return LEAF
        out: Fields = {}
        named, element = fields.fields, fields.element
        for name, item in value.items():
            field = named.get(name)
            if field is not None:
                if type(item) in field.type.scalars:
                    out[field.key] = LEAF
                elif (below := applied_fields(item, field.type, unique)) is not None:
                    out[field.key] = below
            elif element is None:
                raise MisfitError
            elif type(item) in element.scalars:
                out[f"f:{name}"] = LEAF
            else:
                out[f"f:{name}"] = with_self(applied_fields(item, element, unique))
        return out or None
    if type(value) is list:
        items = kind.list
        if items is None:
            raise MisfitError
        if items.atomic:
            if unique:
                _check_list(value, items)
            return LEAF
        return _owned_items(value, items, unique)
    if type(value) not in kind.scalars:
        raise MisfitError
    return LEAF


def _owned_items(value: list[Any], items: ListType, unique: bool) -> Fields | None:
    out: Fields = {}
    for item in value:
        key = items.item_key(item)
        if key not in out:
            out[key] = with_self(applied_fields(item, items.element, unique))
        elif unique:
            raise MisfitError
        else:
            out[key] = LEAF
    return out or None


def _check_map(value: dict[str, Any], fields: MapType) -> None:
    for name, item in value.items():
        field = fields.fields.get(name)
        kind = field.type if field is not None else fields.element
        if kind is None:
            raise MisfitError
        if type(item) not in kind.scalars:
            _check(item, kind)


def _check_list(value: list[Any], items: ListType) -> None:
    kind = items.element
    for item in value:
        if type(item) not in kind.scalars:
            _check(item, kind)


def _check(value: Any, kind: Type) -> None:
    """Checks a value that is owned as a whole."""
    if type(value) is dict:
        if kind.map is None:
            raise MisfitError
        _check_map(value, kind.map)
    elif type(value) is list:
        if kind.list is None:
            raise MisfitError
        if not kind.list.atomic:
            _owned_items(value, kind.list, True)
        else:
            _check_list(value, kind.list)
    elif type(value) not in kind.scalars:
        raise MisfitError


def check_type(value: Any, kind: Type) -> None:
    """Raises MisfitError for a value that does not fit; items may stand in a list twice."""
    if type(value) is dict:
        if kind.map is None:
            raise MisfitError
        fields, element = kind.map.fields, kind.map.element
        for name, item in value.items():
            field = fields.get(name)
            below = field.type if field is not None else element
            if below is None:
                raise MisfitError
            if type(item) not in below.scalars:
                check_type(item, below)
    elif type(value) is list:
        items = kind.list
        if items is None:
            raise MisfitError
        for item in value:
            # An item that states its first key has a path element, whatever it is.
            if not items.atomic and not (type(item) is dict and items.keys and items.keys[0] in item):
                items.item_key(item)
            if type(item) not in items.element.scalars:
                check_type(item, items.element)
    elif type(value) not in kind.scalars:
        raise MisfitError


def type_errors(value: Any, kind: Type, *, unique: bool = True) -> str:
    """Why a value does not fit its type, in the reference's words. Not unique: items may stand in a list twice."""
    found: list[str] = []
    _explain(value, kind, (), found, unique)
    if len(found) == 1:
        return found[0]
    return "\n".join(["errors:", *(f"  {text}" for text in found)])


def _explain(value: Any, kind: Type, path: tuple[str, ...], found: list[str], unique: bool) -> None:
    def tell(why: str, *below: str) -> None:
        where = format_path((*path, *below))
        found.append(f"{where}: {why}" if where else why)

    if value is None:
        return
    # Where the type allows no such value, the reference complains of the first form that it does allow.
    if kind.map is not None and (isinstance(value, dict) or not _allowed(value, kind)):
        if not isinstance(value, dict):
            tell(f"expected map, got &{{{go_print(value)}}}")
            return
        for name, item in value.items():
            field = kind.map.fields.get(name)
            below = field.type if field is not None else kind.map.element
            if below is None:
                tell("field not declared in schema", f"f:{name}")
                return
            _explain(item, below, (*path, f"f:{name}"), found, unique)
    elif kind.scalar and (not isinstance(value, dict | list) or not _allowed(value, kind)):
        if type(value) not in kind.scalars:
            tell(_scalar_text(value, kind.scalar))
    elif kind.list is not None:
        if not isinstance(value, list):
            tell(f"expected list, got &{{{go_print(value)}}}")
            return
        seen = set()
        for index, item in enumerate(value):
            key = f"i:{index}"
            if not kind.list.atomic:
                try:
                    key = kind.list.item_key(item)
                except MisfitError as error:
                    tell(f"element {index}: {error}")
                    return
                if unique and key in seen:
                    tell(f"duplicate entries for key {format_path((key,))}")
                seen.add(key)
            _explain(item, kind.list.element, (*path, key), found, unique)
    else:
        tell("schema error: invalid atom: inlined")


def _allowed(value: Any, kind: Type) -> bool:
    if isinstance(value, dict):
        return kind.map is not None
    if isinstance(value, list):
        return kind.list is not None
    return bool(kind.scalar) and not isinstance(value, GoValue)


def _scalar_text(value: Any, kind: str) -> str:
    if kind == "numeric":
        return f"expected numeric (int or float), got {go_type(value)}"
    if kind == "string":
        return f"expected string, got &value.valueUnstructured{{Value:{go_literal(value)}}}"
    return f"expected {'boolean' if kind == 'boolean' else 'any scalar'}, got &{{{go_print(value)}}}"


def type_mismatch_error(what: str, value: Any, kind: Type, *, unique: bool = True) -> errors.UnknownReasonError:
    """The answer to an apply where something does not fit: a 500 without a reason, as the reference gives."""
    return errors.UnknownReasonError(f"{what}: {type_errors(value, kind, unique=unique)}")
