"""Plain schemas: schemas with common keywords only, which msgspec recognizes without a step in Python for each field.

Most schemas consist of typed fields with a few constraints. Decoding leaves such a schema unchanged, and of all checks
of CRDs only that of defaults can reject it. The other checks walk through the schema in Python, and would take most of
the time of a CRD's create.
"""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, Final

import msgspec
from msgspec import UNSET, Meta, UnsetType

from polykind.contract import JsonObject

_MAX_DEPTH: Final = 12
"""The depth up to which a schema can be plain. Decoding has to check the depth of deeper schemas."""
_METADATA: Final = {"type": "object"}


class _True:
    """The type of a bool that is true. Decoding drops a bool that is false."""


_TRUE: Final = _True()

_Text = Annotated[str, Meta(min_length=1)]
_Size = Annotated[int, Meta(ge=0, le=2**62)]
_Number = Annotated[int, Meta(ge=-(2**53), le=2**53)]

_COMMON: Final[dict[str, Any]] = {"description": _Text, "title": _Text, "nullable": _True}
_NUMBER: Final[dict[str, Any]] = {
    "default": _Number,
    "enum": Annotated[list[_Number], Meta(min_length=1)],
    "format": _Text,
    "maximum": _Number,
    "minimum": _Number,
}


def _node(type_name: str, mandatory: tuple[str, ...] = (), /, **keywords: Any) -> Any:
    """Return the type of schemas of one type, with the types of their keywords."""
    optional = {name: value_type for name, value_type in {**_COMMON, **keywords}.items() if name not in mandatory}
    return msgspec.defstruct(
        f"_{type_name}",
        [
            *((name, keywords[name]) for name in mandatory),
            *((name, value_type | UnsetType, UNSET) for name, value_type in optional.items()),
        ],
        rename=lambda name: name.replace("_", "-"),
        tag_field="type",
        tag=type_name,
        forbid_unknown_fields=True,
        gc=False,
        namespace={"__post_init__": _check_properties} if "properties" in keywords else None,
    )


def _check_properties(node: Any) -> None:
    if node.properties is not UNSET and node.additionalProperties is not UNSET:
        raise ValueError("properties and additionalProperties exclude each other")


@cache
def _schema_type(depth: int) -> Any:
    """Return the type of plain schemas that nest at most `depth` schemas."""
    if not depth:
        strings = Annotated[list[str], Meta(min_length=1)]
        return (
            _node("string", default=str, enum=strings, format=_Text, maxLength=_Size, minLength=_Size)
            | _node("integer", **_NUMBER)
            | _node("number", **_NUMBER)
            | _node("boolean", default=bool)
        )
    inner = _schema_type(depth - 1)
    return (
        _schema_type(0)
        | _node("array", ("items",), items=inner, maxItems=_Size, minItems=_Size)
        | _node(
            "object",
            properties=Annotated[dict[str, inner], Meta(min_length=1)],  # type: ignore[valid-type]
            additionalProperties=inner,
            required=Annotated[list[str], Meta(min_length=1)],
            maxProperties=_Size,
            minProperties=_Size,
            x_kubernetes_preserve_unknown_fields=_True,
        )
    )


def is_plain(schema: Any) -> bool:
    """True if a schema, decoded or not, has only keywords and values that no check rejects but that of defaults.

    Every value must be what Go would write for it, so it must not be empty, false or null.
    """
    return _convert(schema) is not None


def decode_plain(schema: Any) -> JsonObject | None:
    """Return a plain schema with sorted properties. Return None if a schema is not plain."""
    converted = _convert(schema)
    if converted is None:
        return None
    decoded: JsonObject = msgspec.to_builtins(converted, order="deterministic", enc_hook=_encode_true)
    return decoded


def _convert(schema: Any) -> Any:
    try:
        return msgspec.convert(schema, _schema_type(_MAX_DEPTH), dec_hook=_decode_true)
    except (msgspec.ValidationError, UnicodeEncodeError):  # a lone surrogate in a keyword or in a type
        return None


def is_plain_root(schema: JsonObject) -> bool:
    """True if the root schema of a version is plain, also as the schema of an object with kind and metadata."""
    if schema.get("type") != "object" or "additionalProperties" in schema:
        return False
    properties = schema.get("properties") or {}
    if properties.get("metadata", _METADATA) != _METADATA:
        return False
    for name in ("apiVersion", "kind"):
        child = properties.get(name)
        if child is not None and (child.get("type") != "string" or "default" in child):
            return False
    return is_plain(schema)


def _decode_true(wanted: type, value: Any) -> _True:
    if value is not True:
        raise ValueError("the value is not true")
    return _TRUE


def _encode_true(value: Any) -> bool:
    return True
