"""create of a review, such as a SubjectAccessReview: the server answers it and stores nothing."""

from __future__ import annotations

from polykind.codec import json_codec, negotiation
from polykind.operations.operation import Operation
from polykind.operations.options import CreateOptions
from polykind.operations.responses import Response
from polykind.strategies.authorization.strategy import ReviewStrategy
from polykind.verbs import respond
from polykind.verbs.admit import admit, approve
from polykind.verbs.decode import decode
from polykind.verbs.metadata import dedupe_owners, match_namespace, track_create


async def create_review(op: Operation) -> Response:
    """Respond to a review. Its namespace need not exist."""
    strategy = op.version.strategy
    if not isinstance(strategy, ReviewStrategy):
        raise AssertionError("not a review")
    response_format, options = respond.negotiate(op, negotiation.METADATA_TRANSFORMS), op.options(CreateOptions)
    draft = await op.lane.read(op.body, decode, op, options)
    match_namespace(op, draft.obj["metadata"])
    await dedupe_owners(op, draft.obj["metadata"])
    await track_create(op, draft, options)
    review = (await admit(op, draft, None, options)).obj
    await op.lane.run(strategy.check, review)
    await approve(op, review, None, options)
    answered = await op.lane.run_async(strategy.answer(review, op.client, op.now()))
    return await respond.object_response(op, response_format, 201, await op.lane.run(json_codec.encode, answered))
