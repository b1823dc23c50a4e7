"""Assembly of OpenAPI documents from the paths and schemas of CRDs and built-in kinds."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import orjson

from polykind import __version__
from polykind.apis.autoscaling.types import SCALE
from polykind.apis.groups import find_kind
from polykind.apis.machinery.kinds import Kind
from polykind.apis.machinery.openapi_models import models
from polykind.apis.machinery.value_types import ValueType
from polykind.apis.meta.types import DELETE_OPTIONS, LIST_META, OBJECT_META, PATCH, STATUS
from polykind.contract import JsonObject
from polykind.discovery.openapi.openapi_protobuf import document
from polykind.discovery.openapi.operations import OpenAPIResource, paths_v2
from polykind.discovery.openapi.parameters import shared_parameters
from polykind.discovery.openapi.schemas import V2, V3, Dialect, encode, kind_schema, list_schema, model_name, ordered
from polykind.discovery.openapi.templates import encoded_paths
from polykind.discovery.resource_entries import CrdEntries, GroupVersionEntry
from polykind.golang.json import escape_html

_COMMON_TYPES: Final = (DELETE_OPTIONS, LIST_META, OBJECT_META, PATCH, STATUS)
"""The types that the operations of every stored resource refer to."""
_CRD_INFO: Final = {"title": "Kubernetes CRD Swagger", "version": "v0.1.0"}
_BUILTIN_INFO: Final = {"title": "Kubernetes", "version": "1.36"}
_ITEM_ACTIONS: Final = {"get": "get", "update": "put", "patch": "patch"}

NamedSchemas = Iterator[tuple[str, JsonObject]]
"""Pairs of a schema's name in a document and the schema."""


def fingerprint(path: str, members: Iterable[CrdEntries], builtins: Iterable[GroupVersionEntry]) -> str:
    """Return an ETag that changes with a document's content. Do not build the document: the index lists all ETags."""
    served = [
        f"{entry.group}/{entry.version}/{resource_entry.name}"
        for entry in builtins
        for resource_entry in entry.resources
    ]
    lines = [__version__, path, *served, *sorted(member.revision for member in members)]
    return hashlib.sha512("\n".join(lines).encode(errors="surrogatepass")).hexdigest().upper()


def index(documents: Mapping[str, str]) -> bytes:
    """Return the document at /openapi/v3, with the URL of each document by its path."""
    paths = {path: {"serverRelativeURL": f"/openapi/v3/{path}?hash={documents[path]}"} for path in sorted(documents)}
    return orjson.dumps({"paths": paths})


def crd_document(members: Iterable[CrdEntries], version: str) -> bytes:
    """Return the v3 document of a group version that CRDs define."""
    paths: dict[str, bytes] = {}
    schemas: JsonObject = {}
    shared: list[ValueType] = [*_COMMON_TYPES]
    for member in members:
        resource = _crd_resource(member, version)
        paths |= encoded_paths(resource, V3)
        schemas |= dict(_schemas(member, version, resource, member.structural_schemas().get(version), V3))
        if any(model == SCALE.model for _, model, _ in resource.subresources):
            shared.append(SCALE)
    schemas |= rendered(models(shared), V3)
    return _v3_document(_CRD_INFO, paths, schemas)


def builtin_document(entry: GroupVersionEntry) -> bytes:
    """Return the v3 document of a built-in group version."""
    kinds = _kinds(entry)
    paths: dict[str, bytes] = {}
    for kind in kinds:
        paths |= encoded_paths(_builtin_resource(kind), V3)
    common = _COMMON_TYPES if any(kind.persistent for kind in kinds) else ()
    return _v3_document(_BUILTIN_INFO, paths, rendered(models([*kinds, *common]), V3))


def _kinds(entry: GroupVersionEntry) -> list[Kind]:
    api_version = f"{entry.group}/{entry.version}" if entry.group else entry.version
    found = (find_kind(api_version, resource_entry.kind) for resource_entry in entry.resources)
    return [kind for kind in found if kind is not None]


def _v3_document(info: JsonObject, paths: Mapping[str, bytes], schemas: JsonObject) -> bytes:
    head = b'{"openapi":"3.0.0","info":%s,"paths":' % orjson.dumps(info)
    body = b"".join(
        (
            head,
            _json_object(paths),
            b',"components":{"schemas":',
            _json_object(dict(_encode_all(schemas.items()))),
            b"}}",
        )
    )
    return escape_html(body)


def v2_parts(builtins: Iterable[GroupVersionEntry], members: Iterable[CrdEntries]) -> Iterator[bytes]:
    """Yield the v2 document of all resources in JSON, one piece per path and schema."""
    builtins, members = list(builtins), _published(members)
    yield b'{"swagger":"2.0","info":%s,"paths":{' % orjson.dumps(_BUILTIN_INFO)
    resources = _resources(builtins, members)
    yield from _comma_separated(pair for resource in resources for pair in encoded_paths(resource, V2))
    yield b'},"definitions":{'
    yield from _comma_separated(_encode_all(_v2_schemas(builtins, members)))
    yield b'},"parameters":%s}' % orjson.dumps(_v2_parameters())


def v2_protobuf(builtins: Iterable[GroupVersionEntry], members: Iterable[CrdEntries]) -> bytes:
    """Return the v2 document in protobuf."""
    builtins, members = list(builtins), _published(members)
    head = {"swagger": "2.0", "info": _BUILTIN_INFO, "parameters": _v2_parameters()}
    paths = (pair for resource in _resources(builtins, members) for pair in paths_v2(resource).items())
    return document(head, paths, _v2_schemas(builtins, members))


def _published(members: Iterable[CrdEntries]) -> list[CrdEntries]:
    """Return the established CRDs in an order that does not depend on their creation."""
    return sorted((member for member in members if member.resources), key=lambda member: (member.group, member.name))


def _v2_parameters() -> JsonObject:
    return {name: parameter.v2() for name, parameter in shared_parameters().items()}


def _resources(builtins: list[GroupVersionEntry], members: list[CrdEntries]) -> Iterator[OpenAPIResource]:
    for entry in builtins:
        for kind in _kinds(entry):
            yield _builtin_resource(kind)
    for member in members:
        for version in member.resources:
            yield _crd_resource(member, version)


def _v2_schemas(builtins: list[GroupVersionEntry], members: list[CrdEntries]) -> NamedSchemas:
    kinds = [kind for entry in builtins for kind in _kinds(entry)]
    yield from rendered(models([*_COMMON_TYPES, SCALE, *kinds]), V2).items()
    for member in members:
        schemas = member.structural_schemas()
        for version in member.resources:
            yield from _schemas(member, version, _crd_resource(member, version), schemas.get(version), V2)


def _crd_resource(member: CrdEntries, version: str) -> OpenAPIResource:
    """Return a CRD's resource with the requested names. Unlike discovery, OpenAPI does not use the accepted names."""
    spec = member.crd["spec"]
    names, entry = spec["names"], member.resources[version]
    model = model_name(member.group, version, names["kind"])
    return OpenAPIResource(
        group=member.group,
        version=version,
        kind=names["kind"],
        plural=names["plural"],
        namespaced=entry.namespaced,
        model=model,
        list_model=model_name(member.group, version, _list_kind(names)),
        subresources=tuple(
            (sub.name, SCALE.model if sub.name == "scale" else model, ("get", "put", "patch"))
            for sub in entry.subresources
        ),
    )


def _list_kind(names: JsonObject) -> str:
    return str(names.get("listKind") or f"{names['kind']}List")


def _builtin_resource(kind: Kind) -> OpenAPIResource:
    return OpenAPIResource(
        group=kind.group,
        version=kind.version,
        kind=kind.kind,
        plural=kind.plural,
        namespaced=kind.namespaced,
        model=kind.model,
        list_model=f"{kind.model}List",
        subresources=tuple(
            (
                sub.name,
                kind.model,
                tuple(_ITEM_ACTIONS[verb] for verb in ("get", "update", "patch") if verb in sub.verbs),
            )
            for sub in kind.subresources
        ),
        builtin=True,
        has_deletecollection="deletecollection" in kind.verbs,
        stored=kind.persistent,
    )


def _schemas(
    member: CrdEntries, version: str, resource: OpenAPIResource, schema: JsonObject | None, dialect: Dialect
) -> NamedSchemas:
    spec = member.crd["spec"]
    declared = next(resource_entry for resource_entry in spec["versions"] if resource_entry["name"] == version)
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


def _gvk(resource: OpenAPIResource, kind: str) -> JsonObject:
    gvk = {"group": resource.group, "kind": kind, "version": resource.version}
    return {"x-kubernetes-group-version-kind": [gvk]}


def _encode_all(parts: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, bytes]]:
    for name, part in parts:
        yield name, encode(part)


def _json_object(parts: Mapping[str, bytes]) -> bytes:
    return b"{%s}" % b"".join(_comma_separated((name, parts[name]) for name in sorted(parts)))


def _comma_separated(parts: Iterable[tuple[str, bytes]]) -> Iterator[bytes]:
    separator = b""
    for name, part in parts:
        yield b"%s%s:%s" % (separator, orjson.dumps(name), part)
        separator = b","


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
        elif not (key == "description" and not value) and not _other_dialect(key, model, dialect):
            out[key] = rendered(value, dialect)
    return out


def _other_dialect(key: str, model: Mapping[str, Any], dialect: Dialect) -> bool:
    """True if a dialect lacks a key: v2 has no defaults, and one type where v3 has alternatives."""
    if dialect.v2:
        return key in ("default", "oneOf")
    return key == "type" and "oneOf" in model
