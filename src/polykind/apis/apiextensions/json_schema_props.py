"""JSONSchemaProps, and the types of its fields that hold either a schema or another value, such as a bool."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from polykind.apis.machinery.decoding import DecodeError, Decoding, Location
from polykind.apis.machinery.structs import Field, GroupVersion, Struct
from polykind.apis.machinery.value_types import (
    BOOL,
    FLOAT64,
    INT64,
    STRING,
    STRINGS,
    ListOf,
    MapOf,
    Raw,
    String,
    ValueType,
    decode_separately,
)
from polykind.schema.plain_schema import decode_plain


class _SchemaOr(ValueType):
    """The base class of types whose values are either a schema or a value of one other type.

    The corresponding Go types have their own UnmarshalJSON methods.
    """

    __slots__ = ("schema",)
    custom_decoder = True

    def __init__(self, api: GroupVersion, name: str, schema: Struct, doc: str) -> None:
        super().__init__(f"{api.version}.{name}", f"{api.models}.{name}", doc)
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


class _SchemaStruct(Struct):
    """The struct JSONSchemaProps. It decodes most schemas at once, without a step for each field."""

    __slots__ = ()

    def decode(self, value: Any, at: Location | None, run: Decoding) -> Any:
        # Try this only near the root, so that a large schema that is not plain is not checked again at every level.
        near_root = at is not None and at.depth <= _PLAIN_DEPTH
        if near_root and type(value) is dict and "properties" in value and (plain := decode_plain(value)) is not None:
            return plain
        return super().decode(value, at, run)


_PLAIN_DEPTH: Final = 12


def json_schema_props(api: GroupVersion) -> Struct:
    """Declare JSONSchemaProps for one version of the API."""
    version, models = api.version, api.models

    def fields() -> Sequence[Field]:
        return _fields(api, schema)

    schema = _SchemaStruct(
        f"{version}.JSONSchemaProps",
        fields,
        model=f"{models}.JSONSchemaProps",
        doc="A JSON schema that follows the rules for structural schemas.",
    )
    return schema


def _fields(api: GroupVersion, schema: Struct) -> Sequence[Field]:
    version, models = api.version, api.models
    schemas = ListOf(schema)
    properties = MapOf(schema)
    raw = Raw(f"{version}.JSON", f"{models}.JSON", "Any JSON value.")
    or_bool = SchemaOrBool(api, "JSONSchemaPropsOrBool", schema, "A schema or a bool.")
    or_array = SchemaOrArray(api, "JSONSchemaPropsOrArray", schema, "A schema or a list of schemas.")
    or_strings = SchemaOrStrings(api, "JSONSchemaPropsOrStringArray", schema, "A schema or a list of property names.")
    docs = api.struct(
        "ExternalDocumentation",
        "A reference to documentation.",
        Field("description", 1, STRING, "A short description."),
        Field("url", 2, STRING, "The URL."),
    )
    rule = api.struct(
        "ValidationRule",
        "A validation rule in CEL.",
        Field("rule", 1, STRING, "The CEL expression. The value is bound to self.", omitempty=False),
        Field("message", 2, STRING, "The message of a failure."),
        Field("messageExpression", 3, STRING, "A CEL expression that returns the message of a failure."),
        Field(
            "reason",
            4,
            String(f"{version}.FieldValueErrorReason"),
            "The reason of a failure.",
            pointer=True,
            enum=("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"),
        ),
        Field("fieldPath", 5, STRING, "The field at which a failure is reported, relative to the rule."),
        Field("optionalOldSelf", 6, BOOL, "True to run the rule also without an old value.", pointer=True),
    )
    return (
        Field("id", 1, STRING),
        Field("$schema", 2, String(f"{version}.JSONSchemaURL")),
        Field("$ref", 3, STRING, pointer=True),
        Field("description", 4, STRING),
        Field("type", 5, STRING),
        Field("format", 6, STRING, "The format of a string or number. Unknown formats are ignored."),
        Field("title", 7, STRING),
        Field("default", 8, raw, "The value of a field that is not given.", pointer=True),
        Field("maximum", 9, FLOAT64, pointer=True),
        Field("exclusiveMaximum", 10, BOOL),
        Field("minimum", 11, FLOAT64, pointer=True),
        Field("exclusiveMinimum", 12, BOOL),
        Field("maxLength", 13, INT64, pointer=True),
        Field("minLength", 14, INT64, pointer=True),
        Field("pattern", 15, STRING),
        Field("maxItems", 16, INT64, pointer=True),
        Field("minItems", 17, INT64, pointer=True),
        Field("uniqueItems", 18, BOOL),
        Field("multipleOf", 19, FLOAT64, pointer=True),
        Field("enum", 20, ListOf(raw), keep_empty=True),
        Field("maxProperties", 21, INT64, pointer=True),
        Field("minProperties", 22, INT64, pointer=True),
        Field("required", 23, STRINGS, keep_empty=True),
        Field("items", 24, or_array, "", pointer=True),
        Field("allOf", 25, schemas, keep_empty=True),
        Field("oneOf", 26, schemas, keep_empty=True),
        Field("anyOf", 27, schemas, keep_empty=True),
        Field("not", 28, schema, "", pointer=True),
        Field("properties", 29, properties, keep_empty=True),
        Field("additionalProperties", 30, or_bool, "", pointer=True),
        Field("patternProperties", 31, properties, keep_empty=True),
        Field("dependencies", 32, MapOf(or_strings, f"{version}.JSONSchemaDependencies"), keep_empty=True),
        Field("additionalItems", 33, or_bool, "", pointer=True),
        Field("definitions", 34, MapOf(schema, f"{version}.JSONSchemaDefinitions"), keep_empty=True),
        Field("externalDocs", 35, docs, "", pointer=True),
        Field("example", 36, raw, "", pointer=True),
        Field("nullable", 37, BOOL),
        Field(
            "x-kubernetes-preserve-unknown-fields",
            38,
            BOOL,
            "True to keep fields that the schema does not declare.",
            pointer=True,
        ),
        Field(
            "x-kubernetes-embedded-resource",
            39,
            BOOL,
            "True if the value is an object with apiVersion, kind and metadata.",
        ),
        Field("x-kubernetes-int-or-string", 40, BOOL, "True if the value is an integer or a string."),
        Field(
            "x-kubernetes-list-map-keys",
            41,
            STRINGS,
            "The fields that identify the items of a list of type map.",
            keep_empty=True,
        ),
        Field("x-kubernetes-list-type", 42, STRING, "The merge type of a list: atomic, set or map.", pointer=True),
        Field("x-kubernetes-map-type", 43, STRING, "The merge type of an object: granular or atomic.", pointer=True),
        Field(
            "x-kubernetes-validations",
            44,
            ListOf(rule, f"{version}.ValidationRules"),
            "Validation rules in CEL.",
            keep_empty=True,
            list_type="map",
            keys=("rule",),
            merge_key="rule" if version == "v1" else "",
        ),
    )
