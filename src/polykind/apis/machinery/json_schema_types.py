"""JSONSchemaProps, and the types of its fields that hold either a schema or another value, such as a bool."""

from __future__ import annotations

from typing import Any, Final

from polykind.apis.machinery.decoding import DecodeError, Decoding, Location
from polykind.apis.machinery.structs import Struct
from polykind.apis.machinery.value_types import STRINGS, ListOf, ValueType, decode_separately
from polykind.schema.plain_schema import decode_plain


class _SchemaOr(ValueType):
    """The base class of types whose values are either a schema or a value of one other type.

    The corresponding Go types have their own UnmarshalJSON methods.
    """

    __slots__ = ("schema",)
    custom_decoder = True

    def __init__(self, go: str, model: str, doc: str, schema: Struct) -> None:
        super().__init__(go, model, doc)
        self.schema = schema


class SchemaOrBool(_SchemaOr):
    """A schema, or a bool: true allows any value, and false allows none."""

    __slots__ = ()

    def decode(self, value: Any, at: Location | None, run: Decoding) -> Any:
        if isinstance(value, bool):
            return value
        if type(value) is dict:
            return decode_separately(self.schema, value, at)
        raise DecodeError("boolean or JSON schema expected")

    def element(self, value: Any, at: Location | None, run: Decoding) -> Any:
        return self.decode(value, at, run)


class SchemaOrArray(_SchemaOr):
    """A schema or a list of schemas.

    Go decodes any other value to an empty struct. This decoder returns False for it, and the server does not store
    False.
    """

    __slots__ = ()

    def decode(self, value: Any, at: Location | None, run: Decoding) -> Any:
        if type(value) is dict:
            return decode_separately(self.schema, value, at)
        if type(value) is list:
            return decode_separately(ListOf(self.schema), value, at)
        return False


class SchemaOrStrings(_SchemaOr):
    """A schema or a list of property names."""

    __slots__ = ()

    def decode(self, value: Any, at: Location | None, run: Decoding) -> Any:
        if type(value) is dict:
            return decode_separately(self.schema, value, at)
        if type(value) is list:
            return decode_separately(STRINGS, value, at)
        return None


class SchemaStruct(Struct):
    """The struct JSONSchemaProps. It decodes most schemas at once, without a step for each field."""

    __slots__ = ()

    def decode(self, value: Any, at: Location | None, run: Decoding) -> Any:
        # Try this only near the root, so that a large schema that is not plain is not checked again at every level.
        near_root = at is not None and at.depth <= _PLAIN_DEPTH
        if near_root and type(value) is dict and "properties" in value and (plain := decode_plain(value)) is not None:
            return plain
        return super().decode(value, at, run)


_PLAIN_DEPTH: Final = 12
