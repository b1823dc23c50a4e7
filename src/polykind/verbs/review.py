"""review: a question, asked by creating it; the answer is all that becomes of it."""

from __future__ import annotations

from polykind.apis.authorization.strategy import ReviewStrategy
from polykind.codec import json_codec, negotiation
from polykind.http.messages import Response
from polykind.http.options import CreateOptions
from polykind.verbs import admitting, answer, managing, payload
from polykind.verbs.context import RequestContext
from polykind.verbs.lifecycle import match_namespace


async def review(call: RequestContext) -> Response:
    """Read it as any other object, and answer it. Its namespace need not exist."""
    strategy = call.version.strategy
    if not isinstance(strategy, ReviewStrategy):
        raise AssertionError("not a review")
    accepted = answer.negotiated(call, negotiation.METADATA_TRANSFORMS)
    options = CreateOptions.from_query(call.query)
    obj = payload.read(call, options.field_validation).obj
    meta = obj["metadata"]
    match_namespace(call, meta)
    managing.dedupe_owners(call, meta)
    await managing.created(call, obj, options.field_manager)
    obj = await admitting.mutated(call, obj, None, options)
    strategy.check(obj)
    await admitting.approve(call, obj, None, options)
    answered = strategy.answer(obj, call.user, call.now())
    return answer.object_answer(call, accepted, 201, json_codec.encode(answered))
