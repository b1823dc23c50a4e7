"""The type system of CEL: primitive types, parameterized types, and named types of schemas and libraries."""

from __future__ import annotations


class Type:
    """An immutable type. Two types are equal if their kinds, names and parameters are equal."""

    __slots__ = ("_hash", "kind", "name", "params")

    def __init__(self, kind: str, name: str, params: tuple[Type, ...] = ()) -> None:
        self.kind = kind
        self.name = name
        self.params = params
        self._hash = hash((kind, name, params))

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (
            isinstance(other, Type)
            and self._hash == other._hash
            and self.kind == other.kind
            and self.name == other.name
            and self.params == other.params
        )

    def __hash__(self) -> int:
        return self._hash

    def __str__(self) -> str:
        """Return the type's name as error messages show it."""
        if not self.params:
            return self.name
        return f"{self.name}({', '.join(str(p) for p in self.params)})"

    __repr__ = __str__

    @property
    def declared_name(self) -> str:
        """The type's name in error messages about the result type of an expression."""
        if not self.params:
            return _DECLARED_NAMES.get(self.name, self.name)
        return f"{self.name}({', '.join(p.declared_name for p in self.params)})"


class WrapperType(Type):
    """A nullable primitive type: the type of protobuf's wrapper messages such as Int64Value."""

    __slots__ = ()

    def __init__(self, primitive: Type) -> None:
        super().__init__(primitive.kind, primitive.name)

    def __str__(self) -> str:
        return f"wrapper({self.name})"

    __repr__ = __str__

    @property
    def declared_name(self) -> str:
        return str(self)


_DECLARED_NAMES = {
    "null": "null_type",
    "timestamp": "google.protobuf.Timestamp",
    "duration": "google.protobuf.Duration",
}


BOOL = Type("bool", "bool")
INT = Type("int", "int")
UINT = Type("uint", "uint")
DOUBLE = Type("double", "double")
STRING = Type("string", "string")
BYTES = Type("bytes", "bytes")
NULL = Type("null", "null")
DYN = Type("dyn", "dyn")
ERROR = Type("error", "!error!")
TIMESTAMP = Type("timestamp", "timestamp")
DURATION = Type("duration", "duration")
TYPE = Type("type", "type")
IP = Type("opaque", "net.IP")
CIDR = Type("opaque", "net.CIDR")
URL = Type("struct", "kubernetes.URL")
QUANTITY = Type("struct", "kubernetes.Quantity")
SEMVER = Type("struct", "kubernetes.Semver")
FORMAT = Type("struct", "kubernetes.NamedFormat")

AUTHORIZER_TYPES = {
    name: Type("struct", f"kubernetes.authorization.{name}")
    for name in ("Authorizer", "PathCheck", "GroupCheck", "ResourceCheck", "Decision")
}

PRIMITIVES = {t.name: t for t in (BOOL, INT, UINT, DOUBLE, STRING, BYTES, DYN, TIMESTAMP, DURATION)}
"""Primitive types by their names in function declarations."""

ORDERED_KINDS = ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes")
"""Kinds of values that have an order, for < and sort(). List functions try their overloads in this order."""

LIBRARY_STRUCTS = frozenset({URL, QUANTITY, SEMVER, FORMAT, *AUTHORIZER_TYPES.values()})
"""Types of Kubernetes' CEL libraries. They have no fields."""


def list_of(item: Type) -> Type:
    return Type("list", "list", (item,))


def map_of(key: Type, value: Type) -> Type:
    return Type("map", "map", (key, value))


def optional_of(value: Type) -> Type:
    return Type("opaque", "optional_type", (value,))


def type_of(described: Type) -> Type:
    return Type("type", "type", (described,))


def type_param(name: str) -> Type:
    return Type("param", name)


def struct_type(name: str) -> Type:
    return Type("struct", name)


def unwrap_optional(t: Type) -> tuple[Type, bool]:
    """Return the value type and True if the type is an optional. Otherwise return the type itself and False."""
    if t.kind == "opaque" and t.name == "optional_type":
        return t.params[0], True
    return t, False
