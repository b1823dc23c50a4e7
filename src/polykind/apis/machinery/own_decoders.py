"""What in an object of a built-in type is read by a reader of its own: the one of the object does not look there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from polykind.apis.machinery.fields import Kind, ListOf, MapOf, Struct


def sealed(value: Any, kind: Kind, at: str = "") -> Iterator[str]:
    """The paths of such values."""
    if kind.sealed:
        yield at
    elif isinstance(kind, Struct) and type(value) is dict:
        for field in kind.fields:
            if field.name in value:
                yield from sealed(value[field.name], field.kind, _below(at, field.name))
    elif isinstance(kind, MapOf) and type(value) is dict:
        for key, item in value.items():
            yield from sealed(item, kind.item, _below(at, key))
    elif isinstance(kind, ListOf) and type(value) is list:
        for index, item in enumerate(value):
            yield from sealed(item, kind.item, f"{at}[{index}]")


def _below(at: str, key: str) -> str:
    return f"{at}.{key}" if at else key
