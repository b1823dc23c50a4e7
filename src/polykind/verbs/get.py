"""get: one object at the version asked for."""

from __future__ import annotations

from polykind.http.messages import Response
from polykind.verbs import answer
from polykind.verbs.context import RequestContext
from polykind.verbs.revisions import at_least


async def get(call: RequestContext) -> Response:
    accepted = answer.negotiated(call)
    cache = call.resource.cache
    if call.request.query:
        await at_least(call)
    await call.backend.cache.wait_until_fresh(cache, call.asked)
    entry = cache.get(call.key)
    if entry is None:
        raise call.missing()
    form = call.version.representer.ready(entry) or await call.version.representer.view(entry)
    return answer.object_answer(call, accepted, 200, form.data)
