"""OpenAPI v2 in protobuf, with the field numbers of gnostic's OpenAPIv2.proto."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from itertools import chain
from typing import Any, Final

from polykind.bounded_cache import remember
from polykind.contract import JsonObject
from polykind.discovery.openapi.schemas import encode
from polykind.golang.varint import encode_varint

Encoder = Callable[[Any], bytes]
"""A function that encodes a JSON value as the content of a protobuf field."""


def document(
    head: JsonObject,
    paths: Iterable[tuple[str, Any]],
    definitions: Iterable[tuple[str, Any]],
    more_paths: Iterable[bytes] = (),
    more_definitions: Iterable[bytes] = (),
) -> bytes:
    """Encode an OpenAPI v2 document in protobuf. `head` contains all its fields except the paths and definitions.

    `more_paths` and `more_definitions` are encoded already.
    """
    path_list = b"".join(chain((encode_path(name, item) for name, item in paths), more_paths))
    schema_list = b"".join(chain((encode_definition(name, schema) for name, schema in definitions), more_definitions))
    return b"".join((_DOCUMENT(head), _field(8, path_list), _field(9, schema_list)))


def encode_path(name: str, item: Any) -> bytes:
    """Encode one path of a document."""
    return _field(2, _named_value(name, _PATH_ITEM(item)))


def encode_definition(name: str, schema: Any) -> bytes:
    """Encode one schema of a document."""
    return _field(1, _named_value(name, _SCHEMA(schema)))


@lru_cache(maxsize=4096)
def _varint(number: int) -> bytes:
    return encode_varint(number & 0xFFFFFFFFFFFFFFFF)


def _field(number: int, content: bytes) -> bytes:
    return b"%s%s%s" % (_varint(number << 3 | 2), _varint(len(content)), content)


def _bytes(text: str) -> bytes:
    return text.encode(errors="replace")


def _named_value(name: str, content: bytes) -> bytes:
    return _field(1, _bytes(name)) + _field(2, content)


def _any_value(value: Any) -> bytes:
    """Encode an arbitrary JSON value as gnostic's message Any, whose field `yaml` contains the value as YAML."""
    return _field(2, _yaml_text(encode(value)))


@remember(1024 * 1024)
def _yaml_text(data: bytes) -> bytes:
    """Convert JSON to YAML. The results are cached, because a few values, such as list types, occur many times."""
    # Most servers never send the protobuf document, so the YAML library is imported only when a client requests it.
    from polykind.codec import yaml_writer

    return yaml_writer.write(json.loads(data), ordered=True)


class _Message:
    """Encodes a JSON object as a protobuf message. `fields` maps each key to its field number and its type or encoder.

    `extensions` is the field number for keys that start with x-, or 0 if the message has none.
    """

    def __init__(self, extensions: int = 0, **fields: tuple[int, str | Encoder]) -> None:
        self._extensions = extensions
        self._fields = fields

    def __call__(self, value: Mapping[str, Any]) -> bytes:
        out = []
        for key, item in value.items():
            if key.startswith("x-"):
                out.append(_field(self._extensions, _named_value(key, _any_value(item))))
            else:
                number, kind = self._fields[_KEYWORDS.get(key, key)]
                out.append(_scalar(number, kind, item) if isinstance(kind, str) else _field(number, kind(item)))
        return b"".join(out)


_KEYWORDS: Final = {"$ref": "ref"}


def _scalar(number: int, kind: str, value: Any) -> bytes:
    if kind == "text":
        return _field(number, _bytes(value)) if value else b""
    if kind == "texts":
        return b"".join(_field(number, _bytes(item)) for item in value)
    if kind == "values":
        return b"".join(_field(number, _any_value(item)) for item in value)
    if kind == "parameters":
        return b"".join(_field(number, _parameter_or_reference(item)) for item in value)
    if not value:
        return b""
    if kind == "number":
        return _varint(number << 3 | 1) + struct.pack("<d", value)
    return _varint(number << 3) + _varint(int(value))


def _map_of(encoder: Encoder) -> Encoder:
    """Return an encoder for a JSON object, as a protobuf list of named values that `encoder` encodes."""
    return lambda value: b"".join(_field(1, _named_value(name, encoder(item))) for name, item in value.items())


def _wrapped(encoder: Encoder) -> Encoder:
    """Return an encoder for a message whose only field (number 1) contains the message that `encoder` encodes."""
    return lambda value: _field(1, encoder(value))


def _schema(value: Any) -> bytes:
    return _SCHEMA(value)


def _additional(value: Any) -> bytes:
    return _varint(2 << 3) + _varint(int(value)) if isinstance(value, bool) else _field(1, _SCHEMA(value))


def _parameter_or_reference(value: Mapping[str, Any]) -> bytes:
    if "$ref" in value:
        return _field(2, _field(1, _bytes(value["$ref"])))
    return _field(1, _parameter(value))


def _parameter(value: Mapping[str, Any]) -> bytes:
    if value["in"] == "body":
        return _field(1, _BODY(value))
    return _field(2, _field(3, _QUERY(value)) if value["in"] == "query" else _field(4, _PATH(value)))


_EXTERNAL_DOCS: Final = _Message(3, description=(1, "text"), url=(2, "text"))
_SCHEMA: Final = _Message(
    31,
    ref=(1, "text"),
    format=(2, "text"),
    title=(3, "text"),
    description=(4, "text"),
    default=(5, _any_value),
    multipleOf=(6, "number"),
    maximum=(7, "number"),
    exclusiveMaximum=(8, "integer"),
    minimum=(9, "number"),
    exclusiveMinimum=(10, "integer"),
    maxLength=(11, "integer"),
    minLength=(12, "integer"),
    pattern=(13, "text"),
    maxItems=(14, "integer"),
    minItems=(15, "integer"),
    uniqueItems=(16, "integer"),
    maxProperties=(17, "integer"),
    minProperties=(18, "integer"),
    required=(19, "texts"),
    enum=(20, "values"),
    additionalProperties=(21, _additional),
    type=(22, lambda value: _field(1, _bytes(value))),
    items=(23, _wrapped(_schema)),
    properties=(25, _map_of(_schema)),
    externalDocs=(29, _EXTERNAL_DOCS),
    example=(30, _any_value),
)
_BODY: Final = _Message(
    6, description=(1, "text"), name=(2, "text"), required=(4, "integer"), schema=(5, _SCHEMA), **{"in": (3, "text")}
)
_NON_BODY: Final = {"required": (1, "integer"), "in": (2, "text"), "description": (3, "text"), "name": (4, "text")}
_QUERY: Final = _Message(23, **_NON_BODY, type=(6, "text"), uniqueItems=(20, "integer"))
_PATH: Final = _Message(22, **_NON_BODY, type=(5, "text"), uniqueItems=(19, "integer"))
_RESPONSE: Final = _Message(5, description=(1, "text"), schema=(2, _wrapped(_SCHEMA)))
_OPERATION: Final = _Message(
    13,
    tags=(1, "texts"),
    description=(3, "text"),
    operationId=(5, "text"),
    produces=(6, "texts"),
    consumes=(7, "texts"),
    parameters=(8, "parameters"),
    responses=(9, _map_of(_wrapped(_RESPONSE))),
    schemes=(10, "texts"),
)
_PATH_ITEM: Final = _Message(
    10,
    get=(2, _OPERATION),
    put=(3, _OPERATION),
    post=(4, _OPERATION),
    delete=(5, _OPERATION),
    options=(6, _OPERATION),
    head=(7, _OPERATION),
    patch=(8, _OPERATION),
    parameters=(9, "parameters"),
)
_INFO: Final = _Message(7, title=(1, "text"), version=(2, "text"))
_API_KEY: Final = _Message(5, type=(1, "text"), name=(2, "text"), description=(4, "text"), **{"in": (3, "text")})


def _requirement(value: Mapping[str, list[str]]) -> bytes:
    return b"".join(
        _field(1, _named_value(name, b"".join(_field(1, _bytes(scope)) for scope in scopes)))
        for name, scopes in value.items()
    )


_DOCUMENT: Final = _Message(
    16,
    swagger=(1, "text"),
    info=(2, _INFO),
    parameters=(10, _map_of(_parameter)),
    security=(12, lambda requirements: b"".join(_requirement(one) for one in requirements)),
    securityDefinitions=(13, _map_of(lambda item: _field(2, _API_KEY(item)))),
)
