"""JSON of kube-apiserver's internal CRD types, as error messages show it: with Go's field names and zero values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson

from polykind.contract import JsonObject
from polykind.golang.json import escape_html, go_json

Render = Callable[[Any], str]


def as_json(value: Any) -> orjson.Fragment:
    """Return a JSON fragment of a value for an error message. Go prints pointers, lists and objects as JSON."""
    return orjson.Fragment(escape_html(go_json(value).encode()))


def versions(value: list[JsonObject] | None) -> Any:
    """Return the versions of an internal spec as JSON."""
    return orjson.Fragment(escape_html(_list(_version)(value).encode()))


def schema(value: JsonObject) -> Any:
    """Return a schema of an internal spec as JSON."""
    return orjson.Fragment(escape_html(_schema(value).encode()))


def items_list(value: Any) -> Any:
    """Return the `items` of a schema as JSON. `items` is a list of schemas, None or False."""
    return orjson.Fragment(escape_html(_items(value).encode()))


def _plain(zero: Any) -> Render:
    return lambda value: go_json(zero if value is None else value)


def _list(render: Render) -> Render:
    return lambda value: "null" if value is None else f"[{','.join(render(item) for item in value)}]"


def _map(render: Render) -> Render:
    def rendered(value: Any) -> str:
        if value is None:
            return "null"
        return "{" + ",".join(f"{_string(key)}:{render(value[key])}" for key in sorted(value)) + "}"

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


_string, _bool, _number, _any = _plain(""), _plain(False), _plain(0), _plain(None)
_strings = _list(_string)

_RULE = _struct(
    ("Rule", "rule", _string),
    ("Message", "message", _string),
    ("MessageExpression", "messageExpression", _string),
    ("Reason", "reason", _any),
    ("FieldPath", "fieldPath", _string),
    ("OptionalOldSelf", "optionalOldSelf", _any),
)

_SCHEMA = _struct(
    ("ID", "id", _string),
    ("Schema", "$schema", _string),
    ("Ref", "$ref", _any),
    ("Description", "description", _string),
    ("Type", "type", _string),
    ("Nullable", "nullable", _bool),
    ("Format", "format", _string),
    ("Title", "title", _string),
    ("Default", "default", _any),
    ("Maximum", "maximum", _any),
    ("ExclusiveMaximum", "exclusiveMaximum", _bool),
    ("Minimum", "minimum", _any),
    ("ExclusiveMinimum", "exclusiveMinimum", _bool),
    ("MaxLength", "maxLength", _any),
    ("MinLength", "minLength", _any),
    ("Pattern", "pattern", _string),
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
    ("ExternalDocs", "externalDocs", _struct(("Description", "description", _string), ("URL", "url", _string))),
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
    ("Name", "name", _string),
    ("Type", "type", _string),
    ("Format", "format", _string),
    ("Description", "description", _string),
    ("Priority", "priority", _number),
    ("JSONPath", "jsonPath", _string),
)
_SCALE = _struct(
    ("SpecReplicasPath", "specReplicasPath", _string),
    ("StatusReplicasPath", "statusReplicasPath", _string),
    ("LabelSelectorPath", "labelSelectorPath", _any),
)

_version = _struct(
    ("Name", "name", _string),
    ("Served", "served", _bool),
    ("Storage", "storage", _bool),
    ("Deprecated", "deprecated", _bool),
    ("DeprecationWarning", "deprecationWarning", _any),
    ("Schema", "schema", _struct(("OpenAPIV3Schema", "openAPIV3Schema", _schema))),
    ("Subresources", "subresources", _struct(("Status", "status", _struct()), ("Scale", "scale", _SCALE))),
    ("AdditionalPrinterColumns", "additionalPrinterColumns", _list(_COLUMN)),
    ("SelectableFields", "selectableFields", _list(_struct(("JSONPath", "jsonPath", _string)))),
)
