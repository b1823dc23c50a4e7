"""deletecollection: every selected object is deleted, one by one."""

from __future__ import annotations

from polykind import errors
from polykind.verbs import answer
from polykind.verbs.call import Call
from polykind.verbs.delete import delete_object, delete_options
from polykind.verbs.list import collect
from polykind.verbs.selected import Selected
from polykind.wire.options import ListOptions
from polykind.wire.response import Response


async def deletecollection(call: Call) -> Response:
    accepted = answer.negotiated(call)
    listing = ListOptions.from_query(call.query)
    options = delete_options(call)
    items, metadata = await collect(call, listing, Selected(call, listing))
    shown = []
    for entry, form in items:
        one = Call(
            call.api, call.request, call.version, entry.namespace if call.kind.namespaced else None, entry.name, ""
        )
        try:
            await delete_object(one, options)
        except errors.NotFound:
            continue
        shown.append(form.data)
    return await answer.list_answer(call, accepted, shown, metadata)
