"""OpenAPI documents, put together from the pieces that CRDs and built-in kinds contribute."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import orjson

from polykind import __version__
from polykind.contract import JsonObject
from polykind.discovery.entries import CrdEntries, GroupVersionEntry, ResourceEntry
from polykind.discovery.openapi.builtin_models import BUILTIN_MODELS, builtin_model_name, builtin_models
from polykind.discovery.openapi.encode import encode
from polykind.discovery.openapi.models import EVERYWHERE, SCALE, SHARED, Model, dependencies, rendered
from polykind.discovery.openapi.operations import Resource, paths_v2
from polykind.discovery.openapi.parameters import shared_parameters
from polykind.discovery.openapi.protobuf import document
from polykind.discovery.openapi.schemas import V2, V3, Dialect, kind_schema, list_schema, model_name, ordered
from polykind.discovery.openapi.templates import encoded_paths
from polykind.golang.json import escape_html

_CRD_INFO: Final = {"title": "Kubernetes CRD Swagger", "version": "v0.1.0"}
_BUILTIN_INFO: Final = {"title": "Kubernetes", "version": "1.36"}
_ITEM_ACTIONS: Final = {"get": "get", "update": "put", "patch": "patch"}

Pieces = Iterator[tuple[str, JsonObject]]
"""Named parts of a document."""


def fingerprint(path: str, members: Iterable[CrdEntries], builtins: Iterable[GroupVersionEntry]) -> str:
    """What changes when a document would; told without building it, as a client asks for all of them at once."""
    served = [f"{entry.group}/{entry.version}/{found.name}" for entry in builtins for found in entry.resources]
    lines = [__version__, path, *served, *sorted(member.revision for member in members)]
    return hashlib.sha512("\n".join(lines).encode(errors="surrogatepass")).hexdigest().upper()


def index(documents: Mapping[str, str]) -> bytes:
    """The answer to /openapi/v3: where each document is, by its path and its tag."""
    paths = {path: {"serverRelativeURL": f"/openapi/v3/{path}?hash={documents[path]}"} for path in sorted(documents)}
    return orjson.dumps({"paths": paths})


def crd_document(members: Iterable[CrdEntries], version: str) -> bytes:
    """The v3 document of a group version that CRDs make up."""
    paths: dict[str, bytes] = {}
    schemas: JsonObject = {}
    shared = set(EVERYWHERE)
    for member in members:
        resource = _resource(member, version)
        paths |= encoded_paths(resource, V3)
        schemas |= dict(_schemas(member, version, resource, member.structural_schemas().get(version), V3))
        shared |= {model for _, model, _ in resource.subresources} & {SCALE}
    schemas |= rendered(dependencies(SHARED, *shared), V3)
    return _document_v3(_CRD_INFO, paths, schemas)


def builtin_document(entry: GroupVersionEntry) -> bytes:
    """The v3 document of a built-in group version."""
    paths: dict[str, bytes] = {}
    models: dict[str, Model] = {}
    for found in entry.resources:
        paths |= encoded_paths(_builtin_resource(entry, found), V3)
        models.update(builtin_models(entry.group, entry.version, found.kind, kept=found.kept))
    known = {**SHARED, **BUILTIN_MODELS, **models}
    everywhere = EVERYWHERE if any(found.kept for found in entry.resources) else ()
    schemas = rendered(dependencies(known, *everywhere, *models), V3)
    return _document_v3(_BUILTIN_INFO, paths, schemas)


def _document_v3(info: JsonObject, paths: Mapping[str, bytes], schemas: JsonObject) -> bytes:
    head = b'{"openapi":"3.0.0","info":%s,"paths":' % orjson.dumps(info)
    body = b"".join(
        (head, _object(paths), b',"components":{"schemas":', _object(dict(_encoded(schemas.items()))), b"}}")
    )
    return escape_html(body)


def v2_parts(builtins: Iterable[GroupVersionEntry], members: Iterable[CrdEntries]) -> Iterator[bytes]:
    """The v2 document of everything in JSON, a piece per path and schema, so that other work can be done in between."""
    builtins, members = list(builtins), _published(members)
    yield b'{"swagger":"2.0","info":%s,"paths":{' % orjson.dumps(_BUILTIN_INFO)
    resources = _resources(builtins, members)
    yield from _comma_separated(pair for resource in resources for pair in encoded_paths(resource, V2))
    yield b'},"definitions":{'
    yield from _comma_separated(_encoded(_v2_schemas(builtins, members)))
    yield b'},"parameters":%s}' % orjson.dumps(_v2_parameters())


def v2_protobuf(builtins: Iterable[GroupVersionEntry], members: Iterable[CrdEntries]) -> bytes:
    """The same document in the protobuf form that clients ask for first."""
    builtins, members = list(builtins), _published(members)
    head = {"swagger": "2.0", "info": _BUILTIN_INFO, "parameters": _v2_parameters()}
    paths = (pair for resource in _resources(builtins, members) for pair in paths_v2(resource).items())
    return document(head, paths, _v2_schemas(builtins, members))


def _published(members: Iterable[CrdEntries]) -> list[CrdEntries]:
    """The established CRDs, in an order that does not depend on when they came."""
    return sorted((member for member in members if member.resources), key=lambda member: (member.group, member.name))


def _v2_parameters() -> JsonObject:
    return {name: parameter.v2() for name, parameter in shared_parameters().items()}


def _resources(builtins: list[GroupVersionEntry], members: list[CrdEntries]) -> Iterator[Resource]:
    for entry in builtins:
        for found in entry.resources:
            yield _builtin_resource(entry, found)
    for member in members:
        for version in member.resources:
            yield _resource(member, version)


def _v2_schemas(builtins: list[GroupVersionEntry], members: list[CrdEntries]) -> Pieces:
    models: dict[str, Model] = {}
    for entry in builtins:
        for found in entry.resources:
            models.update(builtin_models(entry.group, entry.version, found.kind, kept=found.kept))
    known = {**SHARED, **BUILTIN_MODELS, **models}
    yield from rendered(dependencies(known, *EVERYWHERE, SCALE, *models), V2).items()
    for member in members:
        schemas = member.structural_schemas()
        for version in member.resources:
            yield from _schemas(member, version, _resource(member, version), schemas.get(version), V2)


def _resource(member: CrdEntries, version: str) -> Resource:
    """OpenAPI tells the names that were asked for, unlike discovery."""
    spec = member.definition["spec"]
    names, entry = spec["names"], member.resources[version]
    model = model_name(member.group, version, names["kind"])
    return Resource(
        group=member.group,
        version=version,
        kind=names["kind"],
        plural=names["plural"],
        namespaced=entry.namespaced,
        model=model,
        list_model=model_name(member.group, version, _list_kind(names)),
        subresources=tuple(
            (sub.name, SCALE if sub.name == "scale" else model, ("get", "put", "patch")) for sub in entry.subresources
        ),
    )


def _list_kind(names: JsonObject) -> str:
    return str(names.get("listKind") or f"{names['kind']}List")


def _builtin_resource(entry: GroupVersionEntry, found: ResourceEntry) -> Resource:
    model = builtin_model_name(entry.group, entry.version, found.kind)
    return Resource(
        group=entry.group,
        version=entry.version,
        kind=found.kind,
        plural=found.name,
        namespaced=found.namespaced,
        model=model,
        list_model=f"{model}List",
        subresources=tuple(
            (sub.name, model, tuple(_ITEM_ACTIONS[verb] for verb in ("get", "update", "patch") if verb in sub.verbs))
            for sub in found.subresources
        ),
        builtin=True,
        collection="deletecollection" in found.verbs,
        kept=found.kept,
    )


def _schemas(
    member: CrdEntries, version: str, resource: Resource, schema: JsonObject | None, dialect: Dialect
) -> Pieces:
    spec = member.definition["spec"]
    declared = next(found for found in spec["versions"] if found["name"] == version)
    extensions: JsonObject = {}
    selectable = [
        {"fieldPath": field["jsonPath"].removeprefix(".")} for field in declared.get("selectableFields") or ()
    ]
    if selectable:
        extensions["x-kubernetes-selectable-fields"] = selectable
    kind = kind_schema(schema, dialect, preserve=spec.get("preserveUnknownFields") is True)
    yield resource.model, ordered(kind | _gvk(resource, resource.kind) | extensions)
    list_kind = _list_kind(spec["names"])
    listed = list_schema(resource.kind, list_kind, resource.plural, resource.model, dialect)
    yield resource.list_model, ordered(listed | _gvk(resource, list_kind) | extensions)


def _gvk(resource: Resource, kind: str) -> JsonObject:
    gvk = {"group": resource.group, "kind": kind, "version": resource.version}
    return {"x-kubernetes-group-version-kind": [gvk]}


def _encoded(parts: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, bytes]]:
    for name, part in parts:
        yield name, encode(part)


def _object(parts: Mapping[str, bytes]) -> bytes:
    return b"{%s}" % b"".join(_comma_separated((name, parts[name]) for name in sorted(parts)))


def _comma_separated(parts: Iterable[tuple[str, bytes]]) -> Iterator[bytes]:
    lead = b""
    for name, part in parts:
        yield b"%s%s:%s" % (lead, orjson.dumps(name), part)
        lead = b","
