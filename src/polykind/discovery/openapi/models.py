"""Rendering of declared models in the terms of OpenAPI v2 or v3."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from polykind.apis.meta.types import DELETE_OPTIONS, LIST_META, OBJECT_META, PATCH, STATUS
from polykind.discovery.openapi.schemas import Dialect

COMMON_TYPES: Final = (DELETE_OPTIONS, LIST_META, OBJECT_META, PATCH, STATUS)
"""The types that the operations of every stored resource refer to."""


def rendered(model: Any, dialect: Dialect) -> Any:
    """Return a model in the terms of a dialect, without empty descriptions."""
    if isinstance(model, list):
        return [rendered(item, dialect) for item in model]
    if not isinstance(model, Mapping):
        return model
    if isinstance(model.get("$ref"), str):
        beside = {key: value for key, value in model.items() if key != "$ref" and (value or key != "description")}
        return dialect.reference(model["$ref"], **beside)
    out = {}
    for key, value in model.items():
        if key == "properties":
            out[key] = {name: rendered(property_, dialect) for name, property_ in value.items()}
        elif not (key == "description" and not value) and not (key == "default" and dialect.v2):
            out[key] = rendered(value, dialect)
    return out
