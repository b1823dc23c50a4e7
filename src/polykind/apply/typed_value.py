"""Typed values: the field set of a value, and the errors for a value that does not match its type."""

from __future__ import annotations

from typing import Any

from polykind import errors
from polykind.apply.fieldset import LEAF, Fields, format_path, with_self
from polykind.apply.model import ListType, MapType, Shape, Type, TypeMismatchError
from polykind.golang.fmt import GoValue, go_literal, go_print, go_type

_MAX_SHAPES = 64
"""The maximum number of cached shapes per type. Also the maximum number of keys per cached shape."""


def all_fields(value: Any, type_: Type) -> Fields:
    """Return all fields of a value that was added or removed, including the maps and lists that contain them."""
    if type(value) is dict:
        fields = type_.map
        if fields is None:
            raise TypeMismatchError
        if fields.atomic or not value:
            return LEAF
        shape_key = (tuple(value), tuple(map(type, value.values())))
        shape = fields.shapes.get(shape_key)
        if shape is None:
            shape = _shape(value, fields)
            if len(fields.shapes) >= _MAX_SHAPES:
                fields.shapes.clear()
            if len(value) <= _MAX_SHAPES:
                fields.shapes[shape_key] = shape
        if not shape.nested:
            return shape.fields
        out = shape.fields.copy()
        for name, key, below in shape.nested:
            out[key] = all_fields(value[name], below)
        return out
    if type(value) is list:
        items = type_.list
        if items is None:
            raise TypeMismatchError
        if items.atomic or not value:
            return LEAF
        out = {".": LEAF}
        for item in value:
            key = items.item_key(item)
            # An item that occurs several times is owned as a whole.
            out[key] = LEAF if key in out else all_fields(item, items.element)
        return out
    if type(value) not in type_.scalars:
        raise TypeMismatchError
    return LEAF


def _shape(value: dict[str, Any], fields: MapType) -> Shape:
    named, element = fields.fields, fields.element
    out: Fields = {".": LEAF}
    nested = []
    for name, item in value.items():
        field = named.get(name)
        if field is not None:
            key, type_, _ = field
        elif element is not None:
            key, type_ = f"f:{name}", element
        else:
            raise TypeMismatchError
        out[key] = LEAF
        if type(item) is dict or type(item) is list:
            parts = type_.map if type(item) is dict else type_.list
            if parts is None:
                raise TypeMismatchError
            if not parts.atomic:
                nested.append((name, key, type_))
        elif type(item) not in type_.scalars:
            raise TypeMismatchError
    return Shape(out, tuple(nested))


def applied_fields(value: Any, type_: Type, unique: bool = False) -> Fields | None:
    """Return the fields that a manager owns after applying `value`, without the maps and lists that contain them.

    Return None if there are no such fields, as for an empty list of type map. If `unique` is true, duplicate list items
    and type mismatches inside atomic values raise TypeMismatchError, as in an applied configuration.
    """
    if type(value) is dict:
        fields = type_.map
        if fields is None:
            raise TypeMismatchError
        if fields.atomic:
            if unique:
                check_type(value, type_, unique=True)
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
                raise TypeMismatchError
            elif type(item) in element.scalars:
                out[f"f:{name}"] = LEAF
            else:
                out[f"f:{name}"] = with_self(applied_fields(item, element, unique))
        return out or None
    if type(value) is list:
        items = type_.list
        if items is None:
            raise TypeMismatchError
        if items.atomic:
            if unique:
                check_type(value, type_, unique=True)
            return LEAF
        return _owned_items(value, items, unique)
    if type(value) not in type_.scalars:
        raise TypeMismatchError
    return LEAF


def _owned_items(value: list[Any], items: ListType, unique: bool) -> Fields | None:
    out: Fields = {}
    for item in value:
        key = items.item_key(item)
        if key not in out:
            out[key] = with_self(applied_fields(item, items.element, unique))
        elif unique:
            raise TypeMismatchError
        else:
            out[key] = LEAF
    return out or None


def check_type(value: Any, type_: Type, unique: bool = False, *, decoded: bool = False) -> None:
    """Raise TypeMismatchError if a value does not match its type.

    If `unique` is true, also raise it if a list of type set or map has duplicate items. `decoded` is true for an object
    of a built-in kind: decoding has checked its types, so only the items of lists outside of atomic values are checked.
    """
    if type(value) is dict:
        if type_.map is None:
            raise TypeMismatchError
        if decoded and type_.map.atomic:
            return
        fields, element = type_.map.fields, type_.map.element
        for name, item in value.items():
            field = fields.get(name)
            below = field.type if field is not None else element
            if below is None:
                raise TypeMismatchError
            if type(item) not in below.scalars:
                check_type(item, below, unique, decoded=decoded)
    elif type(value) is list:
        items = type_.list
        if items is None:
            raise TypeMismatchError
        if decoded and items.atomic:
            return
        if unique and not items.atomic:
            _owned_items(value, items, unique)
            return
        for item in value:
            # Skip `item_key` if the item has the first key of the list, because it cannot raise an error then.
            if not items.atomic and not (type(item) is dict and items.keys and items.keys[0] in item):
                items.item_key(item)
            if type(item) not in items.element.scalars:
                check_type(item, items.element, unique, decoded=decoded)
    elif type(value) not in type_.scalars:
        raise TypeMismatchError


def type_errors(value: Any, type_: Type, *, unique: bool = True) -> str:
    """Return kube-apiserver's message about type mismatches and, if `unique` is true, duplicate items in a value."""
    errors_found: list[str] = []
    _explain(value, type_, (), errors_found, unique)
    if len(errors_found) == 1:
        return errors_found[0]
    return "\n".join(["errors:", *(f"  {text}" for text in errors_found)])


def _explain(value: Any, type_: Type, path: tuple[str, ...], errors_found: list[str], unique: bool) -> None:
    def add_error(message: str, *below: str) -> None:
        errors_found.append(_at((*path, *below), message))

    if value is None:
        return
    # If the type does not allow the value, kube-apiserver reports the first kind that the type allows.
    if type_.map is not None and (isinstance(value, dict) or not _allowed(value, type_)):
        if not isinstance(value, dict):
            add_error(f"expected map, got &{{{go_print(value)}}}")
            return
        # kube-apiserver iterates over a Go map, whose order is random. The order of the keys is the most frequent one.
        for name, item in sorted(value.items()):
            field = type_.map.fields.get(name)
            below = field.type if field is not None else type_.map.element
            if below is None:
                add_error("field not declared in schema", f"f:{name}")
                return
            _explain(item, below, (*path, f"f:{name}"), errors_found, unique)
    elif type_.scalar and (not isinstance(value, dict | list) or not _allowed(value, type_)):
        if type(value) not in type_.scalars:
            add_error(_scalar_text(value, type_.scalar))
    elif type_.list is not None:
        if not isinstance(value, list):
            add_error(f"expected list, got &{{{go_print(value)}}}")
            return
        _explain_items(value, type_.list, path, errors_found, unique)
    else:
        add_error("schema error: invalid atom: inlined")


def _explain_items(
    value: list[Any], items: ListType, path: tuple[str, ...], errors_found: list[str], unique: bool
) -> None:
    keys = set()
    for index, item in enumerate(value):
        key = f"i:{index}"
        if not items.atomic:
            try:
                key = items.item_key(item)
            except TypeMismatchError as error:
                errors_found.append(_at(path, f"element {index}: {error}"))
                return
            if unique and key in keys:
                errors_found.append(_at(path, f"duplicate entries for key {format_path((key,))}"))
            keys.add(key)
        _explain(item, items.element, (*path, key), errors_found, unique)


def _at(path: tuple[str, ...], message: str) -> str:
    """Return the message with the path that it is about."""
    path_text = format_path(path)
    return f"{path_text}: {message}" if path_text else message


def _allowed(value: Any, type_: Type) -> bool:
    if isinstance(value, dict):
        return type_.map is not None
    if isinstance(value, list):
        return type_.list is not None
    return bool(type_.scalar) and not isinstance(value, GoValue)


def _scalar_text(value: Any, type_: str) -> str:
    if type_ == "numeric":
        return f"expected numeric (int or float), got {go_type(value)}"
    if type_ == "string":
        return f"expected string, got &value.valueUnstructured{{Value:{go_literal(value)}}}"
    return f"expected {'boolean' if type_ == 'boolean' else 'any scalar'}, got &{{{go_print(value)}}}"


def type_mismatch_error(what: str, value: Any, type_: Type, *, unique: bool = True) -> errors.UnknownReasonError:
    """Return the error for a value that does not match its type: a 500 without a reason, as in kube-apiserver."""
    return errors.UnknownReasonError(f"{what}: {type_errors(value, type_, unique=unique)}")
