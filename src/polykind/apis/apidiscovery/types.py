"""Discovery documents of meta/v1 and apidiscovery/v2, and their protobuf encoding."""

from __future__ import annotations

from typing import Final

from polykind.apis.machinery.protobuf_envelope import encode_object
from polykind.apis.machinery.structs import Field, Struct
from polykind.apis.machinery.value_types import BOOL, STRING, STRINGS, ListOf, String
from polykind.apis.meta.types import LIST_META, OBJECT_META, TYPE_META
from polykind.contract import JsonObject

_GROUP_VERSION = Struct("v1.GroupVersionForDiscovery", (Field("groupVersion", 1, STRING), Field("version", 2, STRING)))
_ADDRESS = Struct("v1.ServerAddressByClientCIDR", (Field("clientCIDR", 1, STRING), Field("serverAddress", 2, STRING)))
_GROUP_VERSION_KIND = Struct(
    "v1.GroupVersionKind", (Field("group", 1, STRING), Field("version", 2, STRING), Field("kind", 3, STRING))
)


def _document(name: str, *fields: Field, version: str = "v1") -> Struct:
    return Struct(f"{version}.{name}", (*TYPE_META, *fields), kind=name, version=version)


API_VERSIONS = _document(
    "APIVersions", Field("versions", 1, STRINGS), Field("serverAddressByClientCIDRs", 2, ListOf(_ADDRESS))
)

API_GROUP = _document(
    "APIGroup",
    Field("name", 1, STRING),
    Field("versions", 2, ListOf(_GROUP_VERSION)),
    Field("preferredVersion", 3, _GROUP_VERSION),
    Field("serverAddressByClientCIDRs", 4, ListOf(_ADDRESS)),
)

API_GROUP_LIST = _document("APIGroupList", Field("groups", 1, ListOf(API_GROUP)))

_API_RESOURCE = Struct(
    "v1.APIResource",
    (
        Field("name", 1, STRING),
        Field("singularName", 6, STRING),
        Field("namespaced", 2, BOOL),
        Field("group", 8, STRING),
        Field("version", 9, STRING),
        Field("kind", 3, STRING),
        Field("verbs", 4, Struct("v1.Verbs", (Field("items", 1, STRINGS),)), pointer=True),
        Field("shortNames", 5, STRINGS),
        Field("categories", 7, STRINGS),
        Field("storageVersionHash", 10, STRING),
    ),
)

API_RESOURCE_LIST = _document(
    "APIResourceList", Field("groupVersion", 1, STRING), Field("resources", 2, ListOf(_API_RESOURCE))
)

_SUBRESOURCE = Struct(
    "v2.APISubresourceDiscovery",
    (
        Field("subresource", 1, STRING),
        Field("responseKind", 2, _GROUP_VERSION_KIND, pointer=True),
        Field("acceptedTypes", 3, ListOf(_GROUP_VERSION_KIND)),
        Field("verbs", 4, STRINGS),
    ),
)

_RESOURCE = Struct(
    "v2.APIResourceDiscovery",
    (
        Field("resource", 1, STRING),
        Field("responseKind", 2, _GROUP_VERSION_KIND, pointer=True),
        Field("scope", 3, String("v2.ResourceScope")),
        Field("singularResource", 4, STRING),
        Field("verbs", 5, STRINGS),
        Field("shortNames", 6, STRINGS),
        Field("categories", 7, STRINGS),
        Field("subresources", 8, ListOf(_SUBRESOURCE)),
    ),
)

_VERSION = Struct(
    "v2.APIVersionDiscovery",
    (
        Field("version", 1, STRING),
        Field("resources", 2, ListOf(_RESOURCE)),
        Field("freshness", 3, String("v2.DiscoveryFreshness")),
    ),
)

_GROUP = Struct("v2.APIGroupDiscovery", (Field("metadata", 1, OBJECT_META), Field("versions", 2, ListOf(_VERSION))))

API_GROUP_DISCOVERY_LIST = _document(
    "APIGroupDiscoveryList", Field("metadata", 1, LIST_META), Field("items", 2, ListOf(_GROUP)), version="v2"
)

_DOCUMENTS: Final = {
    document.kind: document
    for document in (API_VERSIONS, API_GROUP, API_GROUP_LIST, API_RESOURCE_LIST, API_GROUP_DISCOVERY_LIST)
}


def encode_document(document: JsonObject) -> bytes:
    """Encode a discovery document as protobuf. The `kind` of the document selects its type."""
    if document["kind"] == API_RESOURCE_LIST.kind:
        # In protobuf, unlike in JSON, the list of verbs is a separate message.
        resources = [{**entry, "verbs": {"items": entry["verbs"]}} for entry in document["resources"]]
        document = {**document, "resources": resources}
    return encode_object(document, _DOCUMENTS[document["kind"]])
