"""Structs of the reference's inner form, as error texts show them: Go's field names, zero values included."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson

from polykind.contract import JsonObject
from polykind.golang.json import encode_json, escape_html

Render = Callable[[Any], str]


def as_json(value: Any) -> orjson.Fragment:
    """A value to be shown as Go's JSON, as it shows whatever is not a plain string, number or boolean."""
    return orjson.Fragment(escape_html(_dumped(value).encode()))


def versions(value: list[JsonObject] | None) -> Any:
    """The versions of an inner spec."""
    return orjson.Fragment(escape_html(_list(_version)(value).encode()))


def schema(value: JsonObject) -> Any:
    """A schema of an inner spec."""
    return orjson.Fragment(escape_html(_schema(value).encode()))


def items_list(value: Any) -> Any:
    """The `items` of a schema, where it is not one schema."""
    return orjson.Fragment(escape_html(_items(value).encode()))


def _dumped(value: Any) -> str:
    return encode_json(value).decode()


def _plain(zero: Any) -> Render:
    return lambda value: _dumped(zero if value is None else value)


def _list(render: Render) -> Render:
    return lambda value: "null" if value is None else f"[{','.join(render(item) for item in value)}]"


def _map(render: Render) -> Render:
    def rendered(value: Any) -> str:
        if value is None:
            return "null"
        return "{" + ",".join(f"{_text(key)}:{render(value[key])}" for key in sorted(value)) + "}"

    return rendered


def _struct(*fields: tuple[str, str, Render]) -> Render:
    def rendered(value: Any) -> str:
        if value is None:
            return "null"
        return "{" + ",".join(f'"{name}":{render(value.get(key))}' for name, key, render in fields) + "}"

    return rendered


def _schema(value: Any) -> str:
    return _SCHEMA(value)


def _or_bool(value: Any) -> str:
    if value is None:
        return "null"
    allows = value is not False
    return f'{{"Allows":{_bool(allows)},"Schema":{_schema(value) if isinstance(value, dict) else "null"}}}'


def _items(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, dict):
        return f'{{"Schema":{_schema(value)},"JSONSchemas":null}}'
    return f'{{"Schema":null,"JSONSchemas":{_list(_schema)(None if value is False else value)}}}'


def _or_strings(value: Any) -> str:
    if isinstance(value, dict):
        return f'{{"Schema":{_schema(value)},"Property":null}}'
    return f'{{"Schema":null,"Property":{_any(value)}}}'


_text, _bool, _number, _any = _plain(""), _plain(False), _plain(0), _plain(None)
_names = _list(_text)

_RULE = _struct(
    ("Rule", "rule", _text),
    ("Message", "message", _text),
    ("MessageExpression", "messageExpression", _text),
    ("Reason", "reason", _any),
    ("FieldPath", "fieldPath", _text),
    ("OptionalOldSelf", "optionalOldSelf", _any),
)

_SCHEMA = _struct(
    ("ID", "id", _text),
    ("Schema", "$schema", _text),
    ("Ref", "$ref", _any),
    ("Description", "description", _text),
    ("Type", "type", _text),
    ("Nullable", "nullable", _bool),
    ("Format", "format", _text),
    ("Title", "title", _text),
    ("Default", "default", _any),
    ("Maximum", "maximum", _any),
    ("ExclusiveMaximum", "exclusiveMaximum", _bool),
    ("Minimum", "minimum", _any),
    ("ExclusiveMinimum", "exclusiveMinimum", _bool),
    ("MaxLength", "maxLength", _any),
    ("MinLength", "minLength", _any),
    ("Pattern", "pattern", _text),
    ("MaxItems", "maxItems", _any),
    ("MinItems", "minItems", _any),
    ("UniqueItems", "uniqueItems", _bool),
    ("MultipleOf", "multipleOf", _any),
    ("Enum", "enum", _any),
    ("MaxProperties", "maxProperties", _any),
    ("MinProperties", "minProperties", _any),
    ("Required", "required", _any),
    ("Items", "items", _items),
    ("AllOf", "allOf", _list(_schema)),
    ("OneOf", "oneOf", _list(_schema)),
    ("AnyOf", "anyOf", _list(_schema)),
    ("Not", "not", _schema),
    ("Properties", "properties", _map(_schema)),
    ("AdditionalProperties", "additionalProperties", _or_bool),
    ("PatternProperties", "patternProperties", _map(_schema)),
    ("Dependencies", "dependencies", _map(_or_strings)),
    ("AdditionalItems", "additionalItems", _or_bool),
    ("Definitions", "definitions", _map(_schema)),
    ("ExternalDocs", "externalDocs", _struct(("Description", "description", _text), ("URL", "url", _text))),
    ("Example", "example", _any),
    ("XPreserveUnknownFields", "x-kubernetes-preserve-unknown-fields", _any),
    ("XEmbeddedResource", "x-kubernetes-embedded-resource", _bool),
    ("XIntOrString", "x-kubernetes-int-or-string", _bool),
    ("XListMapKeys", "x-kubernetes-list-map-keys", _any),
    ("XListType", "x-kubernetes-list-type", _any),
    ("XMapType", "x-kubernetes-map-type", _any),
    ("XValidations", "x-kubernetes-validations", _list(_RULE)),
)

_COLUMN = _struct(
    ("Name", "name", _text),
    ("Type", "type", _text),
    ("Format", "format", _text),
    ("Description", "description", _text),
    ("Priority", "priority", _number),
    ("JSONPath", "jsonPath", _text),
)
_SCALE = _struct(
    ("SpecReplicasPath", "specReplicasPath", _text),
    ("StatusReplicasPath", "statusReplicasPath", _text),
    ("LabelSelectorPath", "labelSelectorPath", _any),
)

_version = _struct(
    ("Name", "name", _text),
    ("Served", "served", _bool),
    ("Storage", "storage", _bool),
    ("Deprecated", "deprecated", _bool),
    ("DeprecationWarning", "deprecationWarning", _any),
    ("Schema", "schema", _struct(("OpenAPIV3Schema", "openAPIV3Schema", _schema))),
    ("Subresources", "subresources", _struct(("Status", "status", _struct()), ("Scale", "scale", _SCALE))),
    ("AdditionalPrinterColumns", "additionalPrinterColumns", _list(_COLUMN)),
    ("SelectableFields", "selectableFields", _list(_struct(("JSONPath", "jsonPath", _text)))),
)
