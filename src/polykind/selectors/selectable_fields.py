"""Selectable fields of objects, as the texts that field selectors compare."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from polykind.contract import JsonObject
from polykind.golang.fmt import go_print


class DerivedField(str):
    """The jsonPath of a selectable field whose text is taken from other fields or has a default.

    The text is that of the first field in `sources` (jsonPaths) that is not empty. If all are empty, it is `default`.
    """

    __slots__ = ("default", "sources")
    sources: tuple[str, ...]
    default: str

    def __new__(cls, path: str, *sources: str, default: str = "") -> DerivedField:
        derived = super().__new__(cls, path)
        derived.sources, derived.default = sources or (path,), default
        return derived


def split_json_path(path: str) -> tuple[str, ...]:
    """Return the keys of a jsonPath such as .spec.colour. Selectable fields and scale paths support no other syntax."""
    return tuple(path.removeprefix(".").split("."))


def selector_name(path: str) -> str:
    """Return the name of a field in field selectors: its jsonPath without the leading dot."""
    return path.removeprefix(".")


def field_text(obj: JsonObject, keys: Sequence[str]) -> str:
    """Return the value at `keys` as Go's %v prints it, or an empty text if it is missing."""
    value: Any = obj
    for key in keys:
        if type(value) is not dict:
            return ""
        value = value.get(key)
    return "" if value is None else go_print(value)


def selectable_field_texts(obj: JsonObject, paths: Iterable[str]) -> dict[str, str]:
    """Return the texts of the fields at `paths` (jsonPaths) by their names in field selectors."""
    return {selector_name(path): _path_text(obj, path) for path in paths}


def _path_text(obj: JsonObject, path: str) -> str:
    if isinstance(path, DerivedField):
        texts = (field_text(obj, split_json_path(source)) for source in path.sources)
        return next(filter(None, texts), path.default)
    return field_text(obj, split_json_path(path))
