"""deletecollection: every selected object is deleted, some at a time."""

from __future__ import annotations

import asyncio

from polykind import errors
from polykind.cache.entry import Entry
from polykind.verbs import answer
from polykind.verbs.call import Call
from polykind.verbs.delete import delete_object, delete_options
from polykind.verbs.list import collect
from polykind.verbs.selected import Selected
from polykind.wire.options import DeleteOptions, ListOptions
from polykind.wire.response import Response

_AT_ONCE = 64
"""Deletions under way together: they share the store's commits."""


async def deletecollection(call: Call) -> Response:
    accepted = answer.negotiated(call)
    listing = ListOptions.from_query(call.query)
    options = delete_options(call)
    items, metadata = await collect(call, listing, Selected(call, listing))
    shown: list[bytes] = []
    for start in range(0, len(items), _AT_ONCE):
        batch = items[start : start + _AT_ONCE]
        done = await asyncio.gather(*(_delete(call, e, options) for e, _ in batch), return_exceptions=True)
        for (_, form), outcome in zip(batch, done, strict=True):
            if isinstance(outcome, BaseException):
                raise outcome
            if outcome:
                shown.append(form.data)
    return await answer.list_answer(call, accepted, shown, metadata)


async def _delete(call: Call, entry: Entry, options: DeleteOptions) -> bool:
    """Whether it was there to be deleted."""
    namespace = entry.namespace if call.kind.namespaced else None
    try:
        await delete_object(Call(call.api, call.request, call.version, namespace, entry.name, ""), options)
    except errors.NotFound:
        return False
    return True
