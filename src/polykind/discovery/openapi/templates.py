"""Encoded OpenAPI paths of resources, made from templates by text replacement.

A template is encoded once for all resources that differ only in their names, because encoding is slow.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

import orjson
from msgspec.structs import replace

from polykind.contract import JsonObject
from polykind.discovery.openapi.operations import OpenAPIResource, article, group_version_name, paths_v2, paths_v3, tag
from polykind.discovery.openapi.schemas import Dialect

# Names that templates contain instead of a resource's names. They occur nowhere else in a template, and can also be
# found inside longer names such as operationIds.
_PLACEHOLDERS: Final = OpenAPIResource(
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


def encoded_paths(resource: OpenAPIResource, dialect: Dialect) -> Iterator[tuple[str, bytes]]:
    """Yield the paths of a resource with their encoded OpenAPI path items, made from a template.

    If a name of the resource has unusual characters, encode the path items without a template.
    """
    names = (resource.group, resource.version, resource.plural, resource.model, resource.list_model)
    if not _PLAIN.fullmatch(resource.kind) or not all(map(_SAFE.fullmatch, names)):
        for path, item in _paths(resource, dialect).items():
            yield path, orjson.dumps(item)
        return
    replacements = [
        (placeholder.encode(), replacement.encode()) for placeholder, replacement in _replacements(resource)
    ]
    shape = replace(
        _PLACEHOLDERS,
        namespaced=resource.namespaced,
        subresources=tuple(
            replace(sub, model=_PLACEHOLDERS.model) if sub.model == resource.model else sub
            for sub in resource.subresources
        ),
        builtin=resource.builtin,
        verbs=resource.verbs,
        delete_returns_object=resource.delete_returns_object,
    )
    for path, template in _templates(shape, dialect):
        for placeholder, replacement in replacements:
            template = template.replace(placeholder, replacement)
        for text in ("group", "version", "plural"):
            path = path.replace(getattr(_PLACEHOLDERS, text), getattr(resource, text))
        yield path, template


def _replacements(resource: OpenAPIResource) -> Iterator[tuple[str, str]]:
    """Yield each placeholder text with its replacement for a resource. Longer placeholders come before their parts."""
    yield f" a {_PLACEHOLDERS.kind}", f"{article(resource.kind)}{resource.kind}"
    yield tag(_PLACEHOLDERS), tag(resource)
    yield group_version_name(_PLACEHOLDERS), group_version_name(resource)
    for name in ("group", "version", "kind", "plural", "model", "list_model"):
        yield getattr(_PLACEHOLDERS, name), getattr(resource, name)


@lru_cache(maxsize=64)
def _templates(shape: OpenAPIResource, dialect: Dialect) -> tuple[tuple[str, bytes], ...]:
    return tuple((path, orjson.dumps(item)) for path, item in _paths(shape, dialect).items())


def _paths(resource: OpenAPIResource, dialect: Dialect) -> dict[str, JsonObject]:
    return paths_v2(resource) if dialect.v2 else paths_v3(resource)
