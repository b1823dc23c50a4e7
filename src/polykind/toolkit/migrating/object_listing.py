"""The metadata of all objects of a custom resource, page by page, in the order of their keys."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import NamedTuple
from urllib.parse import quote

from polykind.cluster.cluster_client import PAGE, StatusError
from polykind.contract import JsonObject
from polykind.toolkit.migrating.crd_storage import CRDStorage, key_of
from polykind.toolkit.migrating.paced_client import PacedClient

_METADATA_ONLY = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"


class Page(NamedTuple):
    """One page of a list."""

    items: list[JsonObject]
    """The metadata of the objects."""
    token: str
    """The continue token of the next page, or "" on the last page."""
    revision: str
    remaining: int
    version: str
    """The version that the objects were listed at."""


async def list_pages(
    client: PacedClient, storage: CRDStorage, *, after: str = "", token: str = "", page: int = PAGE
) -> AsyncIterator[Page]:
    """Yield the pages of a list, without the objects up to the key `after`.

    `token` continues an earlier list. If it has expired, the list starts anew. If the objects cannot be listed at the
    storage version, for example because one of them cannot be converted to it, they are listed at another served
    version. Raise ClusterError if the list fails.
    """
    versions, at = storage.endpoints, 0
    while True:
        continuation = f"&continue={quote(token)}" if token else ""
        path = f"{storage.collection(versions[at])}?limit={page}{continuation}"
        try:
            listed = await client.send("GET", path, accept=_METADATA_ONLY)
        except StatusError as error:
            if token and error.status in (400, 410):
                token = ""  # A token of an earlier run or a long run has expired.
            elif error.status == 500 and at + 1 < len(versions):
                at += 1
                token = ""
            else:
                raise
            continue
        found = _page(listed, after, versions[at])
        token = found.token
        if found.items:
            after = key_of(found.items[-1])
        yield found
        if not token:
            return


def _page(listed: JsonObject, after: str, version: str) -> Page:
    """Return the page in a response, without the objects up to the key `after`."""
    metadata = listed.get("metadata") or {}
    items = [item["metadata"] for item in listed.get("items") or ()]
    return Page(
        [item for item in items if key_of(item) > after] if after else items,
        metadata.get("continue") or "",
        metadata.get("resourceVersion") or "0",
        int(metadata.get("remainingItemCount") or 0),
        version,
    )
