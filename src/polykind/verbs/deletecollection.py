"""deletecollection: every selected object is deleted, some at a time."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace

from polykind import errors
from polykind.cache.cached_object import CachedObject
from polykind.http.messages import Response
from polykind.http.options import DeleteOptions, ListOptions
from polykind.verbs import answer
from polykind.verbs.context import RequestContext
from polykind.verbs.delete import delete_object, delete_options
from polykind.verbs.list import collect
from polykind.verbs.selected import Selected

_AT_ONCE = 64
"""Deletions under way together: they share the store's commits."""


async def deletecollection(call: RequestContext) -> Response:
    accepted = answer.negotiated(call)
    listing = ListOptions.from_query(call.query)
    options = delete_options(call)
    selected = Selected(call, listing)
    paged = not (listing.resource_version_match or listing.limit or selected.single)
    if paged and listing.resource_version not in ("", "0"):
        # The reference lists in pages even if it was not asked to, and then this is the revision to be listed.
        listing = replace(listing, resource_version_match="Exact")
    items, metadata = await collect(call, listing, selected)
    shown: list[bytes] = []
    for start in range(0, len(items), _AT_ONCE):
        batch = items[start : start + _AT_ONCE]
        done = await asyncio.gather(*(_delete(call, e, options) for e, _ in batch), return_exceptions=True)
        for (_, form), outcome in zip(batch, done, strict=True):
            if isinstance(outcome, BaseException):
                raise outcome
            shown.append(form.data)
    return await answer.list_answer(call, accepted, shown, metadata)


async def _delete(call: RequestContext, entry: CachedObject, options: DeleteOptions) -> None:
    """Delete one that was listed, unless it has gone meanwhile."""
    namespace = entry.namespace if call.resource.namespaced else None
    with suppress(errors.NotFoundError):
        await delete_object(
            RequestContext(call.backend, call.request, call.version, namespace, entry.name, ""), options, named=False
        )
