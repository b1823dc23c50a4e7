"""The values in an object that Go decodes with the UnmarshalJSON method of their type."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from polykind.apis.machinery.structs import Struct
from polykind.apis.machinery.value_types import ListOf, MapOf, ValueType


def custom_decoder_paths(value: Any, value_type: ValueType, at: str = "") -> Iterator[str]:
    """Yield the paths of the values whose Go type has an UnmarshalJSON method. Such methods ignore duplicate keys."""
    if value_type.custom_decoder:
        yield at
    elif isinstance(value_type, Struct) and type(value) is dict:
        for field in value_type.fields:
            if field.name in value:
                yield from custom_decoder_paths(value[field.name], field.type, _join(at, field.name))
    elif isinstance(value_type, MapOf) and type(value) is dict:
        for key, item in value.items():
            yield from custom_decoder_paths(item, value_type.item, _join(at, key))
    elif isinstance(value_type, ListOf) and type(value) is list:
        for index, item in enumerate(value):
            yield from custom_decoder_paths(item, value_type.item, f"{at}[{index}]")


def _join(at: str, key: str) -> str:
    return f"{at}.{key}" if at else key
