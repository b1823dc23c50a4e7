"""Who is asking, and whose a token is."""

from __future__ import annotations

from collections.abc import Callable

from polykind import errors
from polykind.contract import JsonObject

GROUP = "authentication.k8s.io"
AUDIENCE = "https://kubernetes.default.svc.cluster.local"
"""Whom the tokens of this server are for: itself."""

Owner = Callable[[str], JsonObject | None]
"""Tells whose a token is."""


def self_subject(user: JsonObject, now: str) -> JsonObject:
    """The status of a SelfSubjectReview, in a review that has nothing of the one that was sent."""
    return {"metadata": {"creationTimestamp": now}, "status": {"userInfo": user}}


def check_token(review: JsonObject) -> None:
    if not review["spec"].get("token"):
        raise errors.BadRequestError("token is required for TokenReview in authentication")


def token_status(spec: JsonObject, owner: Owner) -> JsonObject:
    """What a token proves. It is read as from a header: what follows a blank is none of it."""
    token = f"Bearer {spec['token']}".strip().split(" ")
    if len(token) < 2 or not token[1]:
        return {"user": {}}
    audiences = spec.get("audiences") or [AUDIENCE]
    user = owner(token[1]) if AUDIENCE in audiences else None
    if user is None:
        return {"user": {}, "error": "invalid bearer token"}
    return {"authenticated": True, "user": user, "audiences": [a for a in audiences if a == AUDIENCE]}
