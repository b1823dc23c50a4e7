"""The documents of discovery, of meta/v1 and apidiscovery/v2, and their messages."""

from __future__ import annotations

from typing import Final

from polykind.apis.machinery.fields import BOOL, STRING, STRINGS, Field, ListOf, String, Struct
from polykind.apis.meta.types import LIST_META, OBJECT_META, TYPE_META
from polykind.codec.protobuf_envelope import encode_object
from polykind.contract import JsonObject

_GROUP_VERSION = Struct("v1.GroupVersionForDiscovery", (Field("groupVersion", STRING, 1), Field("version", STRING, 2)))
_ADDRESS = Struct("v1.ServerAddressByClientCIDR", (Field("clientCIDR", STRING, 1), Field("serverAddress", STRING, 2)))
_GROUP_VERSION_KIND = Struct(
    "v1.GroupVersionKind", (Field("group", STRING, 1), Field("version", STRING, 2), Field("kind", STRING, 3))
)

API_VERSIONS = Struct(
    "v1.APIVersions",
    (*TYPE_META, Field("versions", STRINGS, 1), Field("serverAddressByClientCIDRs", ListOf(_ADDRESS), 2)),
    kind="APIVersions",
    version="v1",
)

API_GROUP = Struct(
    "v1.APIGroup",
    (
        *TYPE_META,
        Field("name", STRING, 1),
        Field("versions", ListOf(_GROUP_VERSION), 2),
        Field("preferredVersion", _GROUP_VERSION, 3),
        Field("serverAddressByClientCIDRs", ListOf(_ADDRESS), 4),
    ),
    kind="APIGroup",
    version="v1",
)

API_GROUP_LIST = Struct(
    "v1.APIGroupList", (*TYPE_META, Field("groups", ListOf(API_GROUP), 1)), kind="APIGroupList", version="v1"
)

_API_RESOURCE = Struct(
    "v1.APIResource",
    (
        Field("name", STRING, 1),
        Field("singularName", STRING, 6),
        Field("namespaced", BOOL, 2),
        Field("group", STRING, 8),
        Field("version", STRING, 9),
        Field("kind", STRING, 3),
        Field("verbs", Struct("v1.Verbs", (Field("items", STRINGS, 1),)), 4, pointer=True),
        Field("shortNames", STRINGS, 5),
        Field("categories", STRINGS, 7),
        Field("storageVersionHash", STRING, 10),
    ),
)

API_RESOURCE_LIST = Struct(
    "v1.APIResourceList",
    (*TYPE_META, Field("groupVersion", STRING, 1), Field("resources", ListOf(_API_RESOURCE), 2)),
    kind="APIResourceList",
    version="v1",
)

_SUBRESOURCE = Struct(
    "v2.APISubresourceDiscovery",
    (
        Field("subresource", STRING, 1),
        Field("responseKind", _GROUP_VERSION_KIND, 2, pointer=True),
        Field("acceptedTypes", ListOf(_GROUP_VERSION_KIND), 3),
        Field("verbs", STRINGS, 4),
    ),
)

_RESOURCE = Struct(
    "v2.APIResourceDiscovery",
    (
        Field("resource", STRING, 1),
        Field("responseKind", _GROUP_VERSION_KIND, 2, pointer=True),
        Field("scope", String("v2.ResourceScope"), 3),
        Field("singularResource", STRING, 4),
        Field("verbs", STRINGS, 5),
        Field("shortNames", STRINGS, 6),
        Field("categories", STRINGS, 7),
        Field("subresources", ListOf(_SUBRESOURCE), 8),
    ),
)

_VERSION = Struct(
    "v2.APIVersionDiscovery",
    (
        Field("version", STRING, 1),
        Field("resources", ListOf(_RESOURCE), 2),
        Field("freshness", String("v2.DiscoveryFreshness"), 3),
    ),
)

_GROUP = Struct("v2.APIGroupDiscovery", (Field("metadata", OBJECT_META, 1), Field("versions", ListOf(_VERSION), 2)))

API_GROUP_DISCOVERY_LIST = Struct(
    "v2.APIGroupDiscoveryList",
    (*TYPE_META, Field("metadata", LIST_META, 1), Field("items", ListOf(_GROUP), 2)),
    kind="APIGroupDiscoveryList",
    version="v2",
)

_DOCUMENTS: Final = {
    document.kind: document
    for document in (API_VERSIONS, API_GROUP, API_GROUP_LIST, API_RESOURCE_LIST, API_GROUP_DISCOVERY_LIST)
}


def encode_document(document: JsonObject) -> bytes:
    """A document of discovery as protobuf, whichever it is."""
    if document["kind"] == API_RESOURCE_LIST.kind:
        # In its message the list of verbs is a message of its own.
        resources = [{**entry, "verbs": {"items": entry["verbs"]}} for entry in document["resources"]]
        document = {**document, "resources": resources}
    return encode_object(document, _DOCUMENTS[document["kind"]])
