"""Values as expressions see them: Python's own where they do, a few classes where they do not; equality and order."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable
from typing import Any, NamedTuple, TypeAlias

from polykind.cel import cel_types
from polykind.cel.ast import UInt
from polykind.cel.cel_types import Type
from polykind.cel.evaluation_errors import NO_OVERLOAD, EvalError
from polykind.schema.equality import deep_equal


class Timestamp(NamedTuple):
    """Nanoseconds since 1970, and the offset in seconds at which the time was written."""

    ns: int
    offset: int = 0


class Duration(NamedTuple):
    ns: int


class Optional(NamedTuple):
    """A value that may be missing."""

    present: bool
    value: Any = None


NONE = Optional(False)


Field: TypeAlias = tuple[str, Callable[[Any], Any] | None]


class ObjectFields:
    """What a schema says about an object: its fields by their names in expressions, and how each is read."""

    __slots__ = ("_known", "_list_names", "_look_up", "_names", "json_names")

    def __init__(
        self,
        look_up: Callable[[str], Field | None],
        list_names: Callable[[], dict[str, str]],
        keys: Container[str] = (),
    ) -> None:
        self.json_names = keys
        """The names of all fields in JSON, also of those that expressions cannot name."""
        self._look_up = look_up
        self._list_names = list_names
        self._known: dict[str, Field | None] = {}
        self._names: dict[str, str] | None = None

    def field(self, name: str) -> Field | None:
        """A field's name in JSON, and how it is read."""
        if name not in self._known:
            self._known[name] = self._look_up(name)
        return self._known[name]

    @property
    def expression_names(self) -> dict[str, str]:
        """Names in expressions by names in JSON."""
        if self._names is None:
            self._names = self._list_names()
        return self._names


class SchemaObject:
    """An object with properties: the JSON as it is, read field by field."""

    __slots__ = ("raw", "shape")

    def __init__(self, raw: dict[str, Any], shape: ObjectFields) -> None:
        self.raw = raw
        self.shape = shape

    def get(self, name: str) -> Any:
        """The field's value; a null counts as missing. Raises EvalError."""
        found = self.shape.field(name)
        value = self.raw.get(found[0]) if found else None
        if found is None or value is None:
            raise EvalError(f"no such key: {name}")
        return found[1](value) if found[1] else value

    def has(self, name: str) -> bool:
        found = self.shape.field(name)
        return found is not None and self.raw.get(found[0]) is not None

    def names(self) -> list[str]:
        return [self.shape.expression_names[key] for key in self.raw if key in self.shape.expression_names]


class LazyMap(SchemaObject):
    """Values by name, each made when it is first asked for; what fails, fails again the same way."""

    __slots__ = ("_made", "_make")

    def __init__(self, names: Iterable[str], make: Callable[[str], Any]) -> None:
        super().__init__(dict.fromkeys(names), _UNKNOWN)
        self._make = make
        self._made: dict[str, Any] = {}

    def get(self, name: str) -> Any:
        if name not in self.raw:
            raise EvalError(f"no such key: {name}")
        if name not in self._made:
            self._made[name] = EvalError(f"{name} is made of itself")
            try:
                self._made[name] = self._make(name)
            except EvalError as failure:
                self._made[name] = failure
        found = self._made[name]
        if isinstance(found, EvalError):
            raise found
        return found

    def has(self, name: str) -> bool:
        return name in self.raw

    def names(self) -> list[str]:
        return list(self.raw)


_UNKNOWN = ObjectFields(lambda name: None, dict)


class SetList(list[Any]):
    """A list of type set: equal whatever the order, added as a union."""

    __slots__ = ()


class ConstructedList(list[Any]):
    """A list that an expression has made, of values as expressions see them."""

    __slots__ = ()


class ConcatList(list[Any]):
    """Two lists, one behind the other."""

    __slots__ = ()


class StringList(list[Any]):
    """A list of texts that a function has made."""

    __slots__ = ()


class ConstructedMap(dict[Any, Any]):
    """A map that an expression has made, of values as expressions see them."""

    __slots__ = ()


class ConstructedObject:
    """An object that an expression has made, by the name of its type."""

    __slots__ = ("fields", "type")

    def __init__(self, type_: Type, fields: dict[str, Any]) -> None:
        self.type = type_
        self.fields = fields

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, ConstructedObject) and self.type == other.type and _identical(self.fields, other.fields)
        )

    __hash__ = None  # type: ignore[assignment]


class OpaqueValue:
    """A value that functions know what to do with: it cannot be compared with anything, nor handed out."""

    __slots__ = ()


class IncomparableValue:
    """A value that nothing can be compared with, though it can be compared: the reference hands out its address."""

    __slots__ = ()


class MapList(list[Any]):
    """A list of type map: equal whatever the order, added by key."""

    __slots__ = ("keys",)

    def __init__(self, items: Iterable[Any], keys: tuple[str, ...]) -> None:
        super().__init__(items)
        self.keys = keys

    def key_of(self, item: Any) -> tuple[Any, ...]:
        raw = item.raw if isinstance(item, SchemaObject) else item
        return tuple((type(v), v) for v in (raw.get(key) for key in self.keys))


_STRICT = (OpaqueValue, SetList, MapList)
"""What cannot be compared with anything of another kind, like objects and what libraries make."""

KIND_BY_CLASS: dict[type, str] = {
    type(None): "null",
    bool: "bool",
    int: "int",
    UInt: "uint",
    float: "double",
    str: "string",
    bytes: "bytes",
    list: "list",
    SetList: "list",
    MapList: "list",
    ConstructedList: "list",
    ConcatList: "list",
    StringList: "list",
    dict: "map",
    ConstructedMap: "map",
    SchemaObject: "map",
    Timestamp: "timestamp",
    Duration: "duration",
    Optional: "optional_type",
    Type: "type",
}
"""The kind of a value by its class; libraries add their own."""

_NUMERIC = frozenset({"int", "uint", "double"})
_TYPES = {
    "null": Type("null", "null_type"),
    "list": Type("list", "list"),
    "map": Type("map", "map"),
    "type": cel_types.TYPE,
    "timestamp": Type("timestamp", "google.protobuf.Timestamp"),
    "duration": Type("duration", "google.protobuf.Duration"),
    "optional_type": Type("opaque", "optional_type"),
}


def kind_of(value: Any) -> str:
    return KIND_BY_CLASS.get(type(value), "dyn")


def runtime_type(value: Any) -> Type:
    if isinstance(value, ConstructedObject):
        return value.type
    kind = kind_of(value)
    return _TYPES.get(kind) or cel_types.PRIMITIVES.get(kind) or Type("struct", kind)


def type_constant(t: Type) -> Type:
    """The value that a type's name stands for, as type() gives it."""
    return _TYPES.get(t.kind, t) if t.kind != "opaque" else Type("opaque", t.name)


def actual_size(value: Any) -> int:
    """How large a value counts in costs."""
    if isinstance(value, str | bytes | list | dict):
        return len(value)
    if isinstance(value, SchemaObject):
        return len(value.raw)
    if isinstance(value, Optional) and value.present:
        return actual_size(value.value)
    measure = getattr(value, "size", None)
    return measure() if measure is not None else 1


def equals(left: Any, right: Any) -> bool | None:
    """None if that cannot be told: lists and maps are equal if nothing in them tells otherwise."""
    if left is None or right is None:
        return left is right
    one, other = kind_of(left), kind_of(right)
    if one != other:
        if one in _NUMERIC and other in _NUMERIC:
            return compare(left, right) == 0 if left == left and right == right else False
        return None if isinstance(left, _STRICT) or type(left) is SchemaObject or "." in one else False
    if one == "list":
        return _same_lists(left, right)
    if one == "map":
        return _same_maps(left, right)
    if one == "optional_type":
        if left.present != right.present:
            return False
        return not left.present or equals(left.value, right.value)
    if one == "timestamp":
        return bool(left.ns == right.ns)
    if one == "type":
        return bool(left.name == right.name)
    return None if isinstance(left, OpaqueValue) or isinstance(right, IncomparableValue) else bool(left == right)


def _same_lists(left: list[Any], right: list[Any]) -> bool:
    if len(left) != len(right):
        return False
    if isinstance(left, SetList):
        known = {(type(item), item) for item in left}
        return all((type(item), item) in known for item in right)
    if isinstance(left, MapList):
        by_key = {left.key_of(item): item for item in left}
        for item in right:
            mine = by_key.get(left.key_of(item))
            if mine is None or not equals(mine, item):
                return False
        return True
    return all(equals(a, b) is not False for a, b in zip(left, right, strict=True))


def _same_maps(left: Any, right: Any) -> bool | None:
    if actual_size(left) != actual_size(right):
        return False
    if isinstance(left, SchemaObject):
        return _same_objects(left, right)
    if isinstance(right, SchemaObject):
        return all(
            (name := right.shape.expression_names.get(key))
            and right.has(name)
            and equals(value, right.get(name)) is not False
            for key, value in left.items()
        )
    return all(key in right and equals(value, right[key]) is not False for key, value in left.items())


def _same_objects(left: SchemaObject, right: Any) -> bool | None:
    """Fields that the schema does not know are compared only with those of another object."""
    other = right.raw if isinstance(right, SchemaObject) else right
    for key, value in left.raw.items():
        if key not in left.shape.json_names:
            if not isinstance(right, SchemaObject):
                return None
            if key in other and not deep_equal(value, other[key]):
                return False
            continue
        there = other.get(key) is not None if isinstance(right, SchemaObject) else key in other
        if (value is not None) != there:
            return False
        name = left.shape.expression_names.get(key)
        if not there:
            continue
        if name is None:
            found: bool | None = deep_equal(value, other[key])
        else:
            found = equals(left.get(name), right.get(name) if isinstance(right, SchemaObject) else other[key])
        if not found:
            return found
    return True


def _identical(left: Any, right: Any) -> bool:
    """Equal, and of the same kinds all the way down."""
    if kind_of(left) != kind_of(right):
        return False
    if isinstance(left, list):
        return len(left) == len(right) and all(map(_identical, left, right))
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(_identical(value, right[key]) for key, value in left.items())
    return equals(left, right) is True


def compare(left: Any, right: Any) -> int:
    """-1, 0 or 1. Raises EvalError for what has no order."""
    one, other = kind_of(left), kind_of(right)
    if one != other:
        if one not in _NUMERIC or other not in _NUMERIC:
            raise EvalError(NO_OVERLOAD)
        if "double" in (one, other):
            left, right = _doubles(left, right)
    elif one not in ("bool", "int", "uint", "double", "string", "bytes", "timestamp", "duration"):
        raise EvalError(NO_OVERLOAD)
    if one == "timestamp":
        left, right = left.ns, right.ns
    if left != left or right != right:
        raise EvalError("NaN values cannot be ordered")
    return int(left > right) - int(left < right)


def _doubles(left: Any, right: Any) -> tuple[float, float]:
    return float(left), float(right)


_FIRST_MOMENT = -62_135_596_800 * 10**9
"""The year 1 begins, which is Go's zero time."""


def is_zero(value: Any) -> bool:
    """Whether optional.ofNonZeroValue sees nothing in it."""
    if isinstance(value, SchemaObject):
        return False
    if isinstance(value, Timestamp):
        return value.ns == _FIRST_MOMENT
    if isinstance(value, Duration):
        return value.ns == 0
    return value is None or value in (0, "", b"", False) or (isinstance(value, list | dict) and not value)


def string_traversal_cost(units: float) -> int:
    """The cost of going once over so many characters."""
    return math.ceil(units * 0.1)
