"""The types of server-side apply. They determine if a manager owns a map or list as a whole or item by item."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from polykind.apply.fieldset import Fields, key_element, value_json
from polykind.golang.fmt import go_quote

NULL: Final = type(None)
_SCALARS: Final[dict[str, frozenset[type]]] = {
    "string": frozenset({str, NULL}),
    "numeric": frozenset({int, float, NULL}),
    "boolean": frozenset({bool, NULL}),
    "untyped": frozenset({str, int, float, bool, NULL}),
    "": frozenset({NULL}),
}


class TypeMismatchError(ValueError):
    """A value does not match its type."""


class Field(NamedTuple):
    """A declared field: its path element, its type and its default (None if it has none)."""

    key: str
    type: Type
    default: Any


class Shape(NamedTuple):
    """The field set that objects have in common if their keys and the Python types of their values are the same."""

    fields: Fields
    """All fields of the object. Fields below a value in `nested` are not included."""
    nested: tuple[tuple[str, str, Type], ...]
    """The keys, path elements and types of values that have fields of their own."""


class MapType:
    """The type of objects. `element` is the type of undeclared fields, or None if they are not allowed."""

    __slots__ = ("atomic", "element", "fields", "shapes")

    def __init__(self, fields: dict[str, Field], element: Type | None, *, atomic: bool) -> None:
        self.fields = fields
        self.element = element
        self.atomic = atomic
        self.shapes: dict[object, Shape] = {}
        """Cached shapes of objects, by the object's keys and the Python types of their values."""

    @property
    def deduced(self) -> bool:
        """True if no field is declared and undeclared fields may have any type."""
        return self.element is DEDUCED and not self.fields


class ListType:
    """The type of lists: atomic, or a set (without `keys`), or a map (with `keys`)."""

    __slots__ = ("atomic", "element", "keys")

    def __init__(self, element: Type, *, atomic: bool, keys: tuple[str, ...] = ()) -> None:
        self.element = element
        self.atomic = atomic
        self.keys = keys

    def item_key(self, item: Any) -> str:
        """Return the path element of a list item. Raise TypeMismatchError if the item has no valid key."""
        if self.keys:
            return self._keyed(item)
        if isinstance(item, dict):
            raise TypeMismatchError("associative list without keys has an element that's a map type")
        if isinstance(item, list):
            raise TypeMismatchError("not supported: associative list with lists as elements")
        if item is None:
            raise TypeMismatchError("associative list without keys has an element that's an explicit null")
        return f"v:{value_json(item)}"

    def _keyed(self, item: Any) -> str:
        if item is None:
            raise TypeMismatchError("associative list with keys may not have a null element")
        if not isinstance(item, dict):
            raise TypeMismatchError("associative list with keys may not have non-map elements")
        pairs = []
        for name in self.keys:
            value = item.get(name, MISSING)
            if value is MISSING:
                value = self._default(name)
                if value is None:
                    continue
            pairs.append((name, value))
        if not pairs:
            raise TypeMismatchError(
                f"associative list with keys has an element that omits all key fields {_quoted(self.keys)}"
                " (and doesn't have default values for any key fields)"
            )
        if len(pairs) > 1:
            pairs.sort()
        return key_element(pairs)

    def _default(self, name: str) -> Any:
        if self.element.map is None:
            raise TypeMismatchError(
                f"couldn't find default value for {name}: associative list may not have non-map types"
            )
        field = self.element.map.fields.get(name)
        return None if field is None else field.default


class Type:
    """The type of a value. The value may be a scalar, an object or a list, depending on the attributes that are set."""

    __slots__ = ("list", "map", "scalar", "scalars")

    def __init__(self, scalar: str = "", map_type: MapType | None = None, list_type: ListType | None = None) -> None:
        self.scalar = scalar
        self.scalars = _SCALARS[scalar]
        self.map = map_type
        self.list = list_type


def _quoted(names: tuple[str, ...]) -> str:
    return f"[{' '.join(map(go_quote, names))}]"


MISSING: Final = object()
STRING, NUMERIC, BOOLEAN, SCALAR = (Type(kind) for kind in ("string", "numeric", "boolean", "untyped"))
UNTYPED: Final = Type("untyped")
"""The type of a value without a known structure. A field manager owns the value as a whole."""
DEDUCED: Final = Type("untyped")
"""The type of a value without a schema. Field managers own objects field by field, and lists as a whole."""
UNTYPED.map, UNTYPED.list = MapType({}, UNTYPED, atomic=True), ListType(UNTYPED, atomic=True)
DEDUCED.map, DEDUCED.list = MapType({}, DEDUCED, atomic=False), ListType(UNTYPED, atomic=True)
ANY: Final = Type("untyped", MapType({}, DEDUCED, atomic=False), ListType(UNTYPED, atomic=True))
"""The type of a schema that declares nothing."""
