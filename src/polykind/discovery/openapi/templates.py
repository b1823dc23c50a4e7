"""The paths of a resource as JSON, filled into a form made once for all resources of the same shape."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Final

import orjson

from polykind.contract import JsonObject
from polykind.discovery.openapi.operations import Resource, article, paths_v2, paths_v3, place, tag
from polykind.discovery.openapi.schemas import Dialect

# Words that nothing else in a form contains, and that keep their shape where names are put together.
_BLANK: Final = Resource(
    group="zqgroupqz",
    version="zqversionqz",
    kind="Zqkindqz",
    plural="zqpluralqz",
    namespaced=False,
    model="zqmodelqz",
    list_model="zqlistqz",
)
_PLAIN: Final = re.compile(r"[A-Za-z][A-Za-z0-9]*")
_SAFE: Final = re.compile(r"[A-Za-z0-9.\-]+")


def encoded_paths(resource: Resource, dialect: Dialect) -> Iterator[tuple[str, bytes]]:
    """The path items of a resource, encoded. Names that would need more than filling in are not filled in."""
    names = (resource.group, resource.version, resource.plural, resource.model, resource.list_model)
    if not _PLAIN.fullmatch(resource.kind) or not all(map(_SAFE.fullmatch, names)):
        for path, item in _paths(resource, dialect).items():
            yield path, orjson.dumps(item)
        return
    fillings = [(before.encode(), after.encode()) for before, after in _fillings(resource)]
    shape = replace(
        _BLANK,
        namespaced=resource.namespaced,
        subresources=tuple(
            (name, _BLANK.model if model == resource.model else model, actions)
            for name, model, actions in resource.subresources
        ),
        builtin=resource.builtin,
        collection=resource.collection,
        kept=resource.kept,
    )
    for path, form in _forms(shape, dialect):
        for before, after in fillings:
            form = form.replace(before, after)
        for text in ("group", "version", "plural"):
            path = path.replace(getattr(_BLANK, text), getattr(resource, text))
        yield path, form


def _fillings(resource: Resource) -> Iterator[tuple[str, str]]:
    """What to put in place of what: longer words go before those they contain."""
    yield f" a {_BLANK.kind}", f"{article(resource.kind)}{resource.kind}"
    yield tag(_BLANK), tag(resource)
    yield place(_BLANK), place(resource)
    for name in ("group", "version", "kind", "plural", "model", "list_model"):
        yield getattr(_BLANK, name), getattr(resource, name)


@lru_cache(maxsize=64)
def _forms(shape: Resource, dialect: Dialect) -> tuple[tuple[str, bytes], ...]:
    return tuple((path, orjson.dumps(item)) for path, item in _paths(shape, dialect).items())


def _paths(resource: Resource, dialect: Dialect) -> dict[str, JsonObject]:
    return paths_v2(resource) if dialect.v2 else paths_v3(resource)
