"""Assembly of OpenAPI documents from the paths and schemas of CRDs and built-in kinds."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import chain
from typing import Any, Final

import orjson

from polykind import __version__
from polykind.apis.autoscaling.types import SCALE
from polykind.apis.groups import find_kind, find_subresource_kind
from polykind.apis.machinery.kinds import Kind, Subresource
from polykind.apis.machinery.openapi_models import Model, models
from polykind.apis.machinery.value_types import ValueType
from polykind.apis.meta.discovery_types import API_RESOURCE_LIST
from polykind.apis.meta.types import (
    DELETE_OPTIONS,
    LIST_META,
    OBJECT_META,
    PATCH,
    STATUS,
    WATCH_EVENT,
)
from polykind.contract import JsonObject
from polykind.discovery.openapi.endpoint_documents import (
    Endpoint,
    path_item_v2,
    path_item_v3,
    resource_list_endpoint,
    root_endpoints,
)
from polykind.discovery.openapi.fragments import Fragment, cached_fragment
from polykind.discovery.openapi.openapi_protobuf import document, encode_definition, encode_path
from polykind.discovery.openapi.operations import OpenAPIResource, OpenAPISubresource, paths_v2
from polykind.discovery.openapi.parameters import shared_parameters
from polykind.discovery.openapi.schemas import V2, V3, Dialect, encode, kind_schema, list_schema, model_name, ordered
from polykind.discovery.openapi.templates import encoded_paths
from polykind.discovery.resource_entries import CrdEntries, GroupVersionEntry
from polykind.golang.json import escape_html

_COMMON_TYPES: Final = (DELETE_OPTIONS, LIST_META, OBJECT_META, PATCH, STATUS)
"""The types that the operations of every stored resource refer to."""
_CRD_INFO: Final = {"title": "Kubernetes CRD Swagger", "version": "v0.1.0"}
_BUILTIN_INFO: Final = {"title": "Kubernetes", "version": "1.36"}
_ITEM_METHODS: Final = {"get": "get", "update": "put", "create": "post", "delete": "delete", "patch": "patch"}
_V2_SECURITY: Final = {
    "BearerToken": {
        "description": "Bearer Token authentication",
        "type": "apiKey",
        "name": "authorization",
        "in": "header",
    }
}
_V2_REQUIREMENTS: Final[list[JsonObject]] = [{"BearerToken": []}]
_SECURITY_SCHEMES: Final = (
    b',"securitySchemes":{"BearerToken":{"type":"apiKey","description":"Bearer Token authentication",'
    b'"name":"authorization","in":"header"}}'
)

EncodeNamed = Callable[[str, Any], bytes]
"""A function that encodes a path or a schema with its name."""
NamedSchemas = Iterator[tuple[str, JsonObject]]
"""Pairs of a schema's name in an OpenAPI document and the schema."""


def fingerprint(path: str, members: Iterable[CrdEntries], builtins: Iterable[GroupVersionEntry]) -> str:
    """Return the ETag of the OpenAPI document at `path`, which describes `members` (CRDs) and `builtins`.

    The ETag changes whenever the document changes. It is computed without building the document, because the index at
    /openapi/v3 contains the ETags of all documents.
    """
    served = [
        f"{entry.group}/{entry.version}/{resource_entry.name}"
        for entry in builtins
        for resource_entry in entry.resources
    ]
    lines = [__version__, path, *served, *sorted(member.revision for member in members)]
    return hashlib.sha512("\n".join(lines).encode(errors="surrogatepass")).hexdigest().upper()


def index(documents: Mapping[str, str]) -> bytes:
    """Return the index at /openapi/v3, which contains the URL of each v3 document. `documents` maps paths to ETags."""
    paths = {path: {"serverRelativeURL": f"/openapi/v3/{path}?hash={documents[path]}"} for path in sorted(documents)}
    return orjson.dumps({"paths": paths})


def crd_document(members: Iterable[CrdEntries], version: str) -> bytes:
    """Return the v3 document of a group version that the CRDs `members` define."""
    paths: dict[str, bytes] = {}
    schemas: dict[str, bytes] = {}
    shared: list[ValueType] = [*_COMMON_TYPES]
    for member in members:
        part = cached_fragment(member, f"v3 {version}", partial(_v3_fragment, member, version))
        paths |= part.paths
        schemas |= part.schemas
        if any(sub.name == "scale" for sub in member.resources[version].subresources):
            shared.append(SCALE)
    schemas |= _escaped(_encode_all(rendered(models(shared), V3).items()))
    return _join_v3_document(_CRD_INFO, paths, schemas)


def builtin_document(entry: GroupVersionEntry) -> bytes:
    """Return the v3 document of a built-in group version."""
    kinds = _kinds(entry)
    paths: dict[str, bytes] = {}
    shared: list[ValueType] = [API_RESOURCE_LIST]
    for kind in kinds:
        resource = _builtin_resource(kind)
        paths |= encoded_paths(resource, V3)
        shared += [_subresource_kind(kind, sub) for sub in kind.subresources if _has_objects(sub)]
        if "delete" in kind.verbs:
            shared += _COMMON_TYPES
        if "watch" in kind.verbs:
            shared.append(WATCH_EVENT)
    listed = resource_list_endpoint(entry.group, entry.version)
    paths[listed.path] = encode(path_item_v3(listed))
    found = models([*kinds, *shared])
    for common in (DELETE_OPTIONS, WATCH_EVENT):
        if common.model in found and entry.group:
            found[common.model] = _of_group(found[common.model], entry)
    return _v3_document(_BUILTIN_INFO, paths, rendered(found, V3), _SECURITY_SCHEMES)


def endpoint_document(endpoint: Endpoint) -> bytes:
    """Return the v3 document of an endpoint that is not a resource, such as /version."""
    paths = {endpoint.path: encode(path_item_v3(endpoint))}
    return _v3_document(_BUILTIN_INFO, paths, rendered(models(endpoint.responses), V3), _SECURITY_SCHEMES)


def _has_objects(sub: Subresource) -> bool:
    return bool(sub.kind) and not sub.kind.endswith("Options")


def _of_group(model: Model, entry: GroupVersionEntry) -> Model:
    """Return the model of a kind that exists in every group, such as DeleteOptions, for the document of `entry`.

    Its x-kubernetes-group-version-kind lists the kind in the core group and in the group of `entry`.
    """
    (gvk,) = model["x-kubernetes-group-version-kind"]
    own = {"group": entry.group, "kind": gvk["kind"], "version": entry.version}
    return {**model, "x-kubernetes-group-version-kind": [gvk, own]}


def _kinds(entry: GroupVersionEntry) -> list[Kind]:
    api_version = f"{entry.group}/{entry.version}" if entry.group else entry.version
    found = (find_kind(api_version, resource_entry.kind) for resource_entry in entry.resources)
    return [kind for kind in found if kind is not None]


def _v3_document(
    info: JsonObject, paths: Mapping[str, bytes], schemas: JsonObject, other_components: bytes = b""
) -> bytes:
    return escape_html(_join_v3_document(info, paths, dict(_encode_all(schemas.items())), other_components))


def _join_v3_document(
    info: JsonObject, paths: Mapping[str, bytes], schemas: Mapping[str, bytes], other_components: bytes = b""
) -> bytes:
    head = b'{"openapi":"3.0.0","info":%s,"paths":' % orjson.dumps(info)
    if not schemas:
        return b"".join((head, _json_object(paths), b',"components":{', other_components.removeprefix(b","), b"}}"))
    components = (b',"components":{"schemas":', _json_object(schemas), other_components, b"}}")
    return b"".join((head, _json_object(paths), *components))


def v2_parts(builtins: Iterable[GroupVersionEntry], members: Iterable[CrdEntries]) -> Iterator[bytes]:
    """Yield the v2 document of all resources in JSON, in pieces of one path or one schema each."""
    builtins, members = list(builtins), _published(members)
    yield b'{"swagger":"2.0","info":%s,"paths":{' % orjson.dumps(_BUILTIN_INFO)
    resources = _builtin_resources(builtins)
    endpoints = ((endpoint.path, encode(path_item_v2(endpoint))) for endpoint in _endpoints(builtins))
    paths = (pair for resource in resources for pair in encoded_paths(resource, V2))
    of_crds = (pair for part in _v2_json_fragments(members) for pair in part.paths)
    yield from _comma_separated(chain(endpoints, paths, of_crds))
    yield b'},"definitions":{'
    schemas_of_crds = (pair for part in _v2_json_fragments(members) for pair in part.schemas)
    yield from _comma_separated(chain(_encode_all(_v2_schemas(builtins)), schemas_of_crds))
    yield b'},"parameters":%s' % orjson.dumps(_v2_parameters())
    yield b',"securityDefinitions":%s,"security":%s}' % (orjson.dumps(_V2_SECURITY), orjson.dumps(_V2_REQUIREMENTS))


def v2_protobuf(builtins: Iterable[GroupVersionEntry], members: Iterable[CrdEntries]) -> bytes:
    """Return the v2 document in protobuf."""
    builtins, members = list(builtins), _published(members)
    head = {
        "swagger": "2.0",
        "info": _BUILTIN_INFO,
        "parameters": _v2_parameters(),
        "security": _V2_REQUIREMENTS,
        "securityDefinitions": _V2_SECURITY,
    }
    endpoints = ((endpoint.path, path_item_v2(endpoint)) for endpoint in _endpoints(builtins))
    paths = (pair for resource in _builtin_resources(builtins) for pair in paths_v2(resource).items())
    of_crds = [
        cached_fragment(member, "v2 protobuf", partial(_v2_fragment, member, encode_path, encode_definition))
        for member in members
    ]
    return document(
        head,
        chain(endpoints, paths),
        _v2_schemas(builtins),
        (encoded for part in of_crds for _, encoded in part.paths),
        (encoded for part in of_crds for _, encoded in part.schemas),
    )


def _v2_json_fragments(members: list[CrdEntries]) -> Iterator[Fragment]:
    for member in members:
        yield cached_fragment(member, "v2", partial(_v2_fragment, member, None, _encode_named))


def _v2_fragment(member: CrdEntries, encode_path: EncodeNamed | None, encode_schema: EncodeNamed) -> Fragment:
    """Return the encoded paths and schemas of a CRD at all its versions. The default for paths is encoded JSON."""
    declared = member.structural_schemas()
    paths: list[tuple[str, bytes]] = []
    schemas: list[tuple[str, bytes]] = []
    for version in member.resources:
        resource = _crd_resource(member, version)
        if encode_path is None:
            paths += encoded_paths(resource, V2)
        else:
            paths += [(path, encode_path(path, item)) for path, item in paths_v2(resource).items()]
        found = _schemas(member, version, resource, declared.get(version), V2)
        schemas += [(name, encode_schema(name, schema)) for name, schema in found]
    return Fragment(paths, schemas)


def _encode_named(name: str, value: Any) -> bytes:
    return encode(value)


def _v3_fragment(member: CrdEntries, version: str) -> Fragment:
    """Return the encoded paths and schemas of a CRD at a version."""
    resource = _crd_resource(member, version)
    schemas = _schemas(member, version, resource, member.structural_schemas().get(version), V3)
    return Fragment(list(_escaped(encoded_paths(resource, V3))), list(_escaped(_encode_all(schemas))))


def _escaped(parts: Iterable[tuple[str, bytes]]) -> Iterator[tuple[str, bytes]]:
    return ((name, escape_html(encoded)) for name, encoded in parts)


def _endpoints(builtins: list[GroupVersionEntry]) -> Iterator[Endpoint]:
    """Yield the endpoints of discovery and of the server's version that the v2 document describes."""
    yield from root_endpoints(dict.fromkeys(entry.group for entry in builtins))
    for entry in builtins:
        yield resource_list_endpoint(entry.group, entry.version)


def _published(members: Iterable[CrdEntries]) -> list[CrdEntries]:
    """Return the established CRDs, sorted by group and name."""
    return sorted((member for member in members if member.resources), key=lambda member: (member.group, member.name))


def _v2_parameters() -> JsonObject:
    return {name: parameter.v2() for name, parameter in shared_parameters().items()}


def _builtin_resources(builtins: list[GroupVersionEntry]) -> Iterator[OpenAPIResource]:
    for entry in builtins:
        for kind in _kinds(entry):
            yield _builtin_resource(kind)


def _v2_schemas(builtins: list[GroupVersionEntry]) -> NamedSchemas:
    kinds = [kind for entry in builtins for kind in _kinds(entry)]
    shared: list[ValueType] = [*_COMMON_TYPES, SCALE, WATCH_EVENT]
    shared += [_subresource_kind(kind, sub) for kind in kinds for sub in kind.subresources if _has_objects(sub)]
    shared += [response for endpoint in _endpoints(builtins) for response in endpoint.responses]
    yield from rendered(models([*shared, *kinds]), V2).items()


def _crd_resource(member: CrdEntries, version: str) -> OpenAPIResource:
    """Return the resource of a CRD at a version, with the names in the CRD's spec.

    Unlike discovery, OpenAPI does not use status.acceptedNames.
    """
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
            OpenAPISubresource(sub.name, SCALE.model if sub.name == "scale" else model, ("get", "put", "patch"))
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
        subresources=tuple(_builtin_subresource(kind, sub) for sub in kind.subresources),
        builtin=True,
        verbs=frozenset(kind.verbs),
        delete_returns_object=kind.delete_returns_object,
    )


def _builtin_subresource(kind: Kind, sub: Subresource) -> OpenAPISubresource:
    methods = tuple(method for verb, method in _ITEM_METHODS.items() if verb in sub.verbs)
    gvk = (sub.group or kind.group, sub.version or kind.version, sub.kind) if sub.kind else None
    if sub.kind.endswith("Options"):
        return OpenAPISubresource(sub.name, "", (*methods, "options", "head") if len(methods) > 2 else methods, gvk)
    if sub.name == "log":
        return OpenAPISubresource(sub.name, "", methods)
    found = _subresource_kind(kind, sub)
    return OpenAPISubresource(sub.name, found.model, methods, gvk)


def _subresource_kind(kind: Kind, sub: Subresource) -> Kind:
    """Return the kind of a subresource's objects. If the subresource declares none, it is the resource's own kind."""
    if not sub.kind:
        return kind
    api_version = f"{sub.group}/{sub.version}" if sub.group else kind.group_version.api_version
    found = find_subresource_kind(api_version, sub.kind)
    if found is None:
        raise LookupError(f"{kind.plural}/{sub.name} has the undeclared kind {sub.kind}")
    return found


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
    """Return a schema of a built-in type in the syntax of OpenAPI v2 or v3, without empty descriptions."""
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
    """True if the schema key `key` must be omitted in this dialect.

    v2 has no `default`. If a schema has both `type` and `oneOf`, v2 uses `type` and v3 uses `oneOf`.
    """
    if dialect.v2:
        return key in ("default", "oneOf")
    return key == "type" and "oneOf" in model
