"""The protobuf encoding of the discovery documents of meta/v1 and apidiscovery/v2."""

from __future__ import annotations

from typing import Final

from polykind.apis.machinery.protobuf_envelope import encode_object
from polykind.apis.machinery.type_tables import type_table
from polykind.apis.meta.discovery_types import API_GROUP, API_GROUP_LIST, API_RESOURCE_LIST, API_VERSIONS
from polykind.contract import JsonObject

API_GROUP_DISCOVERY_LIST = type_table("apidiscovery", "v2").struct("APIGroupDiscoveryList")

_DOCUMENTS: Final = {
    document.kind: document
    for document in (API_VERSIONS, API_GROUP, API_GROUP_LIST, API_RESOURCE_LIST, API_GROUP_DISCOVERY_LIST)
}


def encode_document(document: JsonObject) -> bytes:
    """Encode a discovery document as protobuf. The `kind` of the document selects its type."""
    return encode_object(document, _DOCUMENTS[document["kind"]])
