"""What the fields of a kind are for apply: which maps and lists are owned as a whole, and which item by item."""

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


class MisfitError(ValueError):
    """A value is not what its type says."""


class Field(NamedTuple):
    """A named field: its path element, its type and its default (None: there is none)."""

    key: str
    type: Type
    default: Any


class Shape(NamedTuple):
    """What objects with the same keys and sorts of values have in common."""

    fields: Fields
    """All their fields, but of those in `deeper` only themselves."""
    deeper: tuple[tuple[str, str, Type], ...]
    """The keys of values that have fields of their own, with their path elements and types."""


class MapType:
    """Objects: named fields, and the type of any others (None: there are no others)."""

    __slots__ = ("atomic", "element", "fields", "shapes")

    def __init__(self, fields: dict[str, Field], element: Type | None, *, atomic: bool) -> None:
        self.fields = fields
        self.element = element
        self.atomic = atomic
        self.shapes: dict[object, Shape] = {}
        """Of objects that have come by, some by their keys and sorts of values: most objects look like others."""

    @property
    def deduced(self) -> bool:
        """Whether nothing is known of the fields."""
        return self.element is DEDUCED and not self.fields


class ListType:
    """Lists: atomic, sets (associative without keys), or keyed (associative with keys)."""

    __slots__ = ("atomic", "element", "keys")

    def __init__(self, element: Type, *, atomic: bool, keys: tuple[str, ...] = ()) -> None:
        self.element = element
        self.atomic = atomic
        self.keys = keys

    def item_key(self, item: Any) -> str:
        """The path element of an item; MisfitError tells why it has none."""
        if self.keys:
            return self._keyed(item)
        if isinstance(item, dict):
            raise MisfitError("associative list without keys has an element that's a map type")
        if isinstance(item, list):
            raise MisfitError("not supported: associative list with lists as elements")
        if item is None:
            raise MisfitError("associative list without keys has an element that's an explicit null")
        return f"v:{value_json(item)}"

    def _keyed(self, item: Any) -> str:
        if item is None:
            raise MisfitError("associative list with keys may not have a null element")
        if not isinstance(item, dict):
            raise MisfitError("associative list with keys may not have non-map elements")
        found = []
        for name in self.keys:
            value = item.get(name, MISSING)
            if value is MISSING:
                value = self._default(name)
                if value is None:
                    continue
            found.append((name, value))
        if not found:
            raise MisfitError(
                f"associative list with keys has an element that omits all key fields {_quoted(self.keys)}"
                " (and doesn't have default values for any key fields)"
            )
        if len(found) > 1:
            found.sort()
        return key_element(found)

    def _default(self, name: str) -> Any:
        if self.element.map is None:
            raise MisfitError(f"couldn't find default value for {name}: associative list may not have non-map types")
        field = self.element.map.fields.get(name)
        return None if field is None else field.default


class Type:
    """What a value may be: any of a scalar, an object and a list."""

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
"""Anything, owned as a whole."""
DEDUCED: Final = Type("untyped")
"""Anything: objects field by field, lists as a whole."""
UNTYPED.map, UNTYPED.list = MapType({}, UNTYPED, atomic=True), ListType(UNTYPED, atomic=True)
DEDUCED.map, DEDUCED.list = MapType({}, DEDUCED, atomic=False), ListType(UNTYPED, atomic=True)
ANY: Final = Type("untyped", MapType({}, DEDUCED, atomic=False), ListType(UNTYPED, atomic=True))
"""A value without a type of its own."""
