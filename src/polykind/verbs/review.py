"""review: a question, asked by creating it; the answer is all that becomes of it."""

from __future__ import annotations

from polykind.registry.reviews import ReviewVersion
from polykind.verbs import admitting, answer, managing, payload
from polykind.verbs.call import Call
from polykind.verbs.lifecycle import match_namespace
from polykind.wire import codec, negotiation
from polykind.wire.options import CreateOptions
from polykind.wire.response import Response


async def review(call: Call) -> Response:
    """Read it as any other object, and answer it. Its namespace need not exist."""
    version = call.version
    if not isinstance(version, ReviewVersion):
        raise AssertionError("not a review")
    accepted = answer.negotiated(call, negotiation.METADATA)
    options = CreateOptions.from_query(call.query)
    obj = payload.read(call, options.field_validation)
    meta = obj["metadata"]
    match_namespace(call, meta)
    managing.dedupe_owners(call, meta)
    await managing.created(call, obj, options.field_manager)
    obj = await admitting.mutated(call, obj, None, options)
    version.check(obj)
    await admitting.approve(call, obj, None, options)
    answered = version.answer(obj, call.user, call.now())
    return answer.object_answer(call, accepted, 201, codec.encode(answered))
