"""Random values of declared types, for property tests."""

from __future__ import annotations

import base64
from random import Random
from typing import Any

from polykind.apis.machinery import value_types as types
from polykind.apis.machinery.json_schema_types import SchemaOrArray, SchemaOrBool, SchemaOrStrings
from polykind.apis.machinery.structs import Struct
from polykind.apis.machinery.value_types import ListOf, MapOf, ValueType

_TEXTS = ("a", "b-c", "x.y/z", "Ü", "10%", "true")
_QUANTITIES = ("0", "1", "100m", "1.5", "2Gi", "1e3", "0.1Ki", "-3", "12345678901234567890")
_MAX_DEPTH = 9


def random_value(random: Random, value_type: ValueType, depth: int = 0) -> Any:
    """Return a JSON value that decodes as `value_type`."""
    if isinstance(value_type, Struct):
        return _random_object(random, value_type, depth)
    if isinstance(value_type, MapOf):
        return {key: random_value(random, value_type.item, depth + 1) for key in random.sample(_TEXTS, 2)}
    if isinstance(value_type, ListOf):
        return [random_value(random, value_type.item, depth + 1) for _ in range(random.randint(1, 2))]
    return _random_scalar(random, value_type, depth)


def _random_object(random: Random, struct: Struct, depth: int) -> dict[str, Any]:
    fields = [field for field in struct.fields if field.name not in ("apiVersion", "kind") or not struct.kind]
    share = 0.5 if depth < _MAX_DEPTH else 0.0
    chosen = [field for field in fields if random.random() < share]
    return {field.name: random_value(random, field.type, depth + 1) for field in chosen}


def _random_scalar(random: Random, value_type: ValueType, depth: int) -> Any:
    if isinstance(value_type, types.String):
        return random.choice(_TEXTS)
    if isinstance(value_type, types.Bool):
        return random.random() < 0.5
    if isinstance(value_type, types.Int):
        return random.choice((0, 1, -1, value_type.bound - 1, -value_type.bound))
    if isinstance(value_type, types.Float):
        return random.choice((0, 1, 1.5, -2.25))
    if isinstance(value_type, types.Bytes):
        return base64.b64encode(random.randbytes(3)).decode()
    if isinstance(value_type, types.MicroTime):
        return f"2024-02-29T12:00:00.{random.randrange(10**6):06d}Z"
    if isinstance(value_type, types.Time):
        return f"2024-02-29T12:00:{random.randrange(60):02d}Z"
    if isinstance(value_type, types.Quantity):
        return random.choice(_QUANTITIES)
    if isinstance(value_type, types.IntOrString):
        return random.choice((0, 80, "http", "25%"))
    if isinstance(value_type, types.Wrapped | SchemaOrStrings):
        return list(_TEXTS[:2])
    if isinstance(value_type, SchemaOrBool):
        return random.random() < 0.5
    if isinstance(value_type, SchemaOrArray):
        return [random_value(random, value_type.schema, depth + 4)]
    return {"b": [1, "x"], "a": {"c": None}}
