"""Discovery and OpenAPI documents of the served resources, as bytes."""

from __future__ import annotations

from polykind.discovery.accept import (
    AGGREGATED_MEDIA_TYPE,
    OPENAPI_V2_PROTOBUF,
    aggregated_media_type,
    openapi_v2_media_type,
    openapi_v3_media_type,
    parse_aggregated_accept,
)
from polykind.discovery.builtins import BUILTINS, builtins
from polykind.discovery.document_cache import Document
from polykind.discovery.resource_entries import CrdEntries, GroupVersionEntry, ResourceEntry, SubresourceEntry, from_crd
from polykind.discovery.snapshot import Discovery

__all__ = [
    "AGGREGATED_MEDIA_TYPE",
    "BUILTINS",
    "OPENAPI_V2_PROTOBUF",
    "CrdEntries",
    "Discovery",
    "Document",
    "GroupVersionEntry",
    "ResourceEntry",
    "SubresourceEntry",
    "aggregated_media_type",
    "builtins",
    "from_crd",
    "openapi_v2_media_type",
    "openapi_v3_media_type",
    "parse_aggregated_accept",
]
