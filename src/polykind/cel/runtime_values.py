"""Runtime values of CEL: built-in Python types where possible, classes for the rest, and equality and ordering."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from typing import Any, NamedTuple, TypeAlias

from polykind.cel import cel_types
from polykind.cel.ast import UInt
from polykind.cel.cel_types import Type
from polykind.cel.evaluation_errors import NO_OVERLOAD, EvalError
from polykind.schema.equality import deep_equal


class Timestamp(NamedTuple):
    """A timestamp: nanoseconds since 1970, and the UTC offset in seconds from the timestamp's text."""

    ns: int
    offset: int = 0


class Duration(NamedTuple):
    ns: int


class Optional(NamedTuple):
    """A CEL optional value."""

    present: bool
    value: Any = None


NONE = Optional(False)


Field: TypeAlias = tuple[str, Callable[[Any], Any] | None]
"""A field's JSON name and the conversion of its value from JSON. None means that the JSON itself is the value."""


class ObjectFields:
    """The fields that a schema declares for an object. The keys are the field names used in expressions."""

    __slots__ = ("_cache", "_find_field", "_load_names", "_names", "json_names")

    def __init__(
        self,
        look_up: Callable[[str], Field | None],
        list_names: Callable[[], dict[str, str]],
        keys: Container[str] = (),
    ) -> None:
        self.json_names = keys
        """JSON names of all properties, including those that expressions cannot access."""
        self._find_field = look_up
        self._load_names = list_names
        self._cache: dict[str, Field | None] = {}
        self._names: dict[str, str] | None = None

    def field(self, name: str) -> Field | None:
        """Return the field with this name. Return None if there is no such field."""
        if name not in self._cache:
            self._cache[name] = self._find_field(name)
        return self._cache[name]

    @property
    def expression_names(self) -> dict[str, str]:
        """Field names used in expressions, by JSON name."""
        if self._names is None:
            self._names = self._load_names()
        return self._names


class SchemaObject:
    """An object with declared fields. Wraps the JSON and converts each field on access."""

    __slots__ = ("object_fields", "raw")

    def __init__(self, raw: dict[str, Any], object_fields: ObjectFields) -> None:
        self.raw = raw
        self.object_fields = object_fields

    def get(self, name: str) -> Any:
        """Return a field's value. Raise EvalError if the field is absent, null or invalid."""
        field = self.object_fields.field(name)
        value = self.raw.get(field[0]) if field else None
        if field is None or value is None:
            raise EvalError(f"no such key: {name}")
        return field[1](value) if field[1] else value

    def has(self, name: str) -> bool:
        field = self.object_fields.field(name)
        return field is not None and self.raw.get(field[0]) is not None

    def names(self) -> list[str]:
        return [
            self.object_fields.expression_names[key] for key in self.raw if key in self.object_fields.expression_names
        ]


class LazyMap(SchemaObject):
    """A map that computes each value on first access, such as a policy's variables. Errors are cached as well."""

    __slots__ = ("_compute", "_values")

    def __init__(self, names: Iterable[str], compute: Callable[[str], Any]) -> None:
        super().__init__(dict.fromkeys(names), _NO_FIELDS)
        self._compute = compute
        self._values: dict[str, Any] = {}

    def get(self, name: str) -> Any:
        if name not in self.raw:
            raise EvalError(f"no such key: {name}")
        if name not in self._values:
            self._values[name] = EvalError(f"{name} refers to itself")
            try:
                self._values[name] = self._compute(name)
            except EvalError as error:
                self._values[name] = error
        value = self._values[name]
        if isinstance(value, EvalError):
            raise value
        return value

    def has(self, name: str) -> bool:
        return name in self.raw

    def names(self) -> list[str]:
        return list(self.raw)


_NO_FIELDS = ObjectFields(lambda name: None, dict)


class SetList(list[Any]):
    """A list with x-kubernetes-list-type set. Equality ignores the order of items, and + returns the union."""

    __slots__ = ()


class ConstructedList(list[Any]):
    """A list that an expression constructed."""

    __slots__ = ()


class ConcatList(list[Any]):
    """The concatenation of two lists. cel-go has a separate type for it."""

    __slots__ = ()


class StringList(list[Any]):
    """A list of strings returned by a function. cel-go has a separate type for it."""

    __slots__ = ()


class ConstructedMap(dict[Any, Any]):
    """A map that an expression constructed."""

    __slots__ = ()


class ConstructedObject:
    """A struct that an expression constructed, such as Object{...} in a mutating admission policy."""

    __slots__ = ("fields", "type")

    def __init__(self, type_: Type, fields: dict[str, Any]) -> None:
        self.type = type_
        self.fields = fields

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, ConstructedObject)
            and self.type == other.type
            and _strictly_equal(self.fields, other.fields)
        )

    __hash__ = None  # type: ignore[assignment]


class OpaqueValue:
    """A value that only library functions can use. The value has no equality and no JSON representation."""

    __slots__ = ()


class IncomparableValue:
    """A value that cannot be the right operand of ==, because it is a Go pointer in kube-apiserver."""

    __slots__ = ()


class MapList(list[Any]):
    """A list with x-kubernetes-list-type map. Equality ignores the order, and + replaces items with the same keys."""

    __slots__ = ("keys",)

    def __init__(self, items: Iterable[Any], keys: tuple[str, ...]) -> None:
        super().__init__(items)
        self.keys = keys

    def key_of(self, item: Any) -> tuple[Any, ...]:
        raw = item.raw if isinstance(item, SchemaObject) else item
        return tuple((type(v), v) for v in (raw.get(key) for key in self.keys))


_STRICTLY_TYPED = (OpaqueValue, SetList, MapList)
"""Classes whose values cannot be compared with values of a different kind. Such a comparison is an error."""

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
"""The kind of a value by its Python class. The function libraries add their own classes."""

_NUMERIC = frozenset({"int", "uint", "double"})
_TYPES_BY_KIND = {
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
    return _TYPES_BY_KIND.get(kind) or cel_types.PRIMITIVES.get(kind) or Type("struct", kind)


def type_constant(t: Type) -> Type:
    """Return the runtime value of a type name. It equals the result of type() for values of that type."""
    return _TYPES_BY_KIND.get(t.kind, t) if t.kind != "opaque" else Type("opaque", t.name)


def actual_size(value: Any) -> int:
    """Return the size of a value for computing the runtime cost, as cel-go's actualSize does."""
    if isinstance(value, str | bytes | list | dict):
        return len(value)
    if isinstance(value, SchemaObject):
        return len(value.raw)
    if isinstance(value, Optional) and value.present:
        return actual_size(value.value)
    measure = getattr(value, "size", None)
    return measure() if measure is not None else 1


def equals(left: Any, right: Any) -> bool | None:
    """Compare two values. Return None if they are incomparable. Treat incomparable items of lists and maps as equal."""
    if left is None or right is None:
        return left is right
    one, other = kind_of(left), kind_of(right)
    if one != other:
        if one in _NUMERIC and other in _NUMERIC:
            return compare(left, right) == 0 if left == left and right == right else False
        return None if isinstance(left, _STRICTLY_TYPED) or type(left) is SchemaObject or "." in one else False
    comparison = _COMPARISONS.get(one)
    if comparison is not None:
        return comparison(left, right)
    return None if isinstance(left, OpaqueValue) or isinstance(right, IncomparableValue) else bool(left == right)


def _optionals_equal(left: Optional, right: Optional) -> bool | None:
    if left.present != right.present:
        return False
    return not left.present or equals(left.value, right.value)


def _lists_equal(left: list[Any], right: list[Any]) -> bool:
    if len(left) != len(right):
        return False
    if isinstance(left, SetList):
        items = {(type(item), item) for item in left}
        return all((type(item), item) in items for item in right)
    if isinstance(left, MapList):
        by_key = {left.key_of(item): item for item in left}
        for item in right:
            left_item = by_key.get(left.key_of(item))
            if left_item is None or not equals(left_item, item):
                return False
        return True
    return all(equals(a, b) is not False for a, b in zip(left, right, strict=True))


def _maps_equal(left: Any, right: Any) -> bool | None:
    if actual_size(left) != actual_size(right):
        return False
    if isinstance(left, SchemaObject):
        return _objects_equal(left, right)
    if isinstance(right, SchemaObject):
        return all(
            (name := right.object_fields.expression_names.get(key))
            and right.has(name)
            and equals(value, right.get(name)) is not False
            for key, value in left.items()
        )
    return all(key in right and equals(value, right[key]) is not False for key, value in left.items())


def _objects_equal(left: SchemaObject, right: Any) -> bool | None:
    """Compare an object with an object or a map. Return None if a map is compared and there are undeclared fields."""
    other = right.raw if isinstance(right, SchemaObject) else right
    for key, value in left.raw.items():
        if key not in left.object_fields.json_names:
            if not isinstance(right, SchemaObject):
                return None
            if key in other and not deep_equal(value, other[key]):
                return False
            continue
        is_present = other.get(key) is not None if isinstance(right, SchemaObject) else key in other
        if (value is not None) != is_present:
            return False
        name = left.object_fields.expression_names.get(key)
        if not is_present:
            continue
        if name is None:
            equal: bool | None = deep_equal(value, other[key])
        else:
            equal = equals(left.get(name), right.get(name) if isinstance(right, SchemaObject) else other[key])
        if not equal:
            return equal
    return True


def _strictly_equal(left: Any, right: Any) -> bool:
    """True if the values are equal and have the same kind. The same applies to their items at every level."""
    if kind_of(left) != kind_of(right):
        return False
    if isinstance(left, list):
        return len(left) == len(right) and all(map(_strictly_equal, left, right))
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(_strictly_equal(value, right[key]) for key, value in left.items())
    return equals(left, right) is True


def compare(left: Any, right: Any) -> int:
    """Return -1 if `left` is less, 0 if equal, 1 if greater than `right`. Raise EvalError if they have no order."""
    one, other = kind_of(left), kind_of(right)
    if one != other:
        if one not in _NUMERIC or other not in _NUMERIC:
            raise EvalError(NO_OVERLOAD)
        if "double" in (one, other):
            left, right = float(left), float(right)
    elif one not in cel_types.ORDERED_KINDS:
        raise EvalError(NO_OVERLOAD)
    if one == "timestamp":
        left, right = left.ns, right.ns
    if left != left or right != right:
        raise EvalError("NaN values cannot be ordered")
    return int(left > right) - int(left < right)


_GO_ZERO_TIME_NS = -62_135_596_800 * 10**9
"""Go's zero time, the start of year 1."""


def is_zero(value: Any) -> bool:
    """True if the value is the zero value of its type. optional.ofNonZeroValue() then returns optional.none()."""
    if isinstance(value, SchemaObject):
        return False
    if isinstance(value, Timestamp):
        return value.ns == _GO_ZERO_TIME_NS
    if isinstance(value, Duration):
        return value.ns == 0
    return value is None or value in (0, "", b"", False) or (isinstance(value, list | dict) and not value)


_COMPARISONS: dict[str, Callable[[Any, Any], bool | None]] = {
    "list": _lists_equal,
    "map": _maps_equal,
    "optional_type": _optionals_equal,
    "timestamp": lambda left, right: bool(left.ns == right.ns),
    "type": lambda left, right: bool(left.name == right.name),
}
"""The comparisons of two values of the same kind that Python compares in another way."""
