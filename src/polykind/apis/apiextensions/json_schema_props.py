"""JSONSchemaProps, with its values that may be one of two types."""

from __future__ import annotations

from typing import Any

from polykind.apis.machinery.decoding import DecodeError, Decoding, Place
from polykind.apis.machinery.fields import (
    BOOL,
    FLOAT64,
    INT64,
    STRING,
    STRINGS,
    Field,
    Kind,
    ListOf,
    MapOf,
    Raw,
    String,
    Struct,
    nested,
)


class SchemaOrBool(Kind):
    """A schema, or whether anything is allowed."""

    __slots__ = ("schema",)
    sealed = True

    def __init__(self, go: str, schema: Struct) -> None:
        super().__init__(go)
        self.schema = schema

    def decode(self, value: Any, at: Place | None, run: Decoding) -> Any:
        if isinstance(value, bool):
            return value
        if type(value) is dict:
            return nested(self.schema, value, at)
        raise DecodeError("boolean or JSON schema expected")

    def element(self, value: Any, at: Place | None, run: Decoding) -> Any:
        return self.decode(value, at, run)


class SchemaOrArray(Kind):
    """A schema, or a list of them. Anything else is neither, which is told by False and does not outlive the store."""

    __slots__ = ("schema", "schemas")
    sealed = True

    def __init__(self, go: str, schema: Struct) -> None:
        super().__init__(go)
        self.schema, self.schemas = schema, ListOf(schema)

    def decode(self, value: Any, at: Place | None, run: Decoding) -> Any:
        if type(value) is dict:
            return nested(self.schema, value, at)
        if type(value) is list:
            return nested(self.schemas, value, at)
        return False


class SchemaOrStrings(Kind):
    """A schema, or a list of names."""

    __slots__ = ("schema",)
    sealed = True

    def __init__(self, go: str, schema: Struct) -> None:
        super().__init__(go)
        self.schema = schema

    def decode(self, value: Any, at: Place | None, run: Decoding) -> Any:
        if type(value) is dict:
            return nested(self.schema, value, at)
        if type(value) is list:
            return nested(STRINGS, value, at)
        return None


def json_schema_props(version: str) -> Struct:
    """The schema type of one version of the API."""
    schema = Struct(f"{version}.JSONSchemaProps")
    schemas = ListOf(schema)
    properties = MapOf(schema)
    raw = Raw(f"{version}.JSON")
    or_bool = SchemaOrBool(f"{version}.JSONSchemaPropsOrBool", schema)
    docs = Struct(f"{version}.ExternalDocumentation", (Field("description", STRING, 1), Field("url", STRING, 2)))
    rule = Struct(
        f"{version}.ValidationRule",
        (
            Field("rule", STRING, 1, omitempty=False),
            Field("message", STRING, 2),
            Field("messageExpression", STRING, 3),
            Field("reason", String(f"{version}.FieldValueErrorReason"), 4, pointer=True),
            Field("fieldPath", STRING, 5),
            Field("optionalOldSelf", BOOL, 6, pointer=True),
        ),
    )
    dependency = SchemaOrStrings(f"{version}.JSONSchemaPropsOrStringArray", schema)
    schema.define(
        (
            Field("id", STRING, 1),
            Field("$schema", String(f"{version}.JSONSchemaURL"), 2),
            Field("$ref", STRING, 3, pointer=True),
            Field("description", STRING, 4),
            Field("type", STRING, 5),
            Field("format", STRING, 6),
            Field("title", STRING, 7),
            Field("default", raw, 8, pointer=True),
            Field("maximum", FLOAT64, 9, pointer=True),
            Field("exclusiveMaximum", BOOL, 10),
            Field("minimum", FLOAT64, 11, pointer=True),
            Field("exclusiveMinimum", BOOL, 12),
            Field("maxLength", INT64, 13, pointer=True),
            Field("minLength", INT64, 14, pointer=True),
            Field("pattern", STRING, 15),
            Field("maxItems", INT64, 16, pointer=True),
            Field("minItems", INT64, 17, pointer=True),
            Field("uniqueItems", BOOL, 18),
            Field("multipleOf", FLOAT64, 19, pointer=True),
            Field("enum", ListOf(raw), 20, seen=True),
            Field("maxProperties", INT64, 21, pointer=True),
            Field("minProperties", INT64, 22, pointer=True),
            Field("required", STRINGS, 23, seen=True),
            Field("items", SchemaOrArray(f"{version}.JSONSchemaPropsOrArray", schema), 24, pointer=True),
            Field("allOf", schemas, 25, seen=True),
            Field("oneOf", schemas, 26, seen=True),
            Field("anyOf", schemas, 27, seen=True),
            Field("not", schema, 28, pointer=True),
            Field("properties", properties, 29, seen=True),
            Field("additionalProperties", or_bool, 30, pointer=True),
            Field("patternProperties", properties, 31, seen=True),
            Field("dependencies", MapOf(dependency, f"{version}.JSONSchemaDependencies"), 32, seen=True),
            Field("additionalItems", or_bool, 33, pointer=True),
            Field("definitions", MapOf(schema, f"{version}.JSONSchemaDefinitions"), 34, seen=True),
            Field("externalDocs", docs, 35, pointer=True),
            Field("example", raw, 36, pointer=True),
            Field("nullable", BOOL, 37),
            Field("x-kubernetes-preserve-unknown-fields", BOOL, 38, pointer=True),
            Field("x-kubernetes-embedded-resource", BOOL, 39),
            Field("x-kubernetes-int-or-string", BOOL, 40),
            Field("x-kubernetes-list-map-keys", STRINGS, 41, seen=True),
            Field("x-kubernetes-list-type", STRING, 42, pointer=True),
            Field("x-kubernetes-map-type", STRING, 43, pointer=True),
            Field("x-kubernetes-validations", ListOf(rule, f"{version}.ValidationRules"), 44, seen=True),
        )
    )
    return schema
