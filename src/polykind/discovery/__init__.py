"""What is served, told to clients: discovery documents and OpenAPI, as bytes."""

from __future__ import annotations

from polykind.discovery.accept import AGGREGATED_MEDIA_TYPE, parse_aggregated_accept
from polykind.discovery.builtins import BUILTINS, builtins
from polykind.discovery.entries import GroupVersionEntry, ResourceEntry, SubresourceEntry, from_crd
from polykind.discovery.shelf import Document
from polykind.discovery.snapshot import Discovery

__all__ = [
    "AGGREGATED_MEDIA_TYPE",
    "BUILTINS",
    "Discovery",
    "Document",
    "GroupVersionEntry",
    "ResourceEntry",
    "SubresourceEntry",
    "builtins",
    "from_crd",
    "parse_aggregated_accept",
]
