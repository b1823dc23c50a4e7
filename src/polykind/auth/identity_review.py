"""The responses to SelfSubjectReview and TokenReview."""

from __future__ import annotations

from collections.abc import Callable

from polykind import errors
from polykind.contract import JsonObject

GROUP = "authentication.k8s.io"
AUDIENCE = "https://kubernetes.default.svc.cluster.local"
"""The only audience that this server's tokens are valid for: the server itself."""

FindUser = Callable[[str], JsonObject | None]
"""Returns the userInfo of a token's user, or None for an unknown token."""


def self_subject(user: JsonObject, now: str) -> JsonObject:
    """Return a SelfSubjectReview for the user. Like kube-apiserver, drop what the client sent."""
    return {"metadata": {"creationTimestamp": now}, "status": {"userInfo": user}}


def check_token(review: JsonObject) -> None:
    """Raise BadRequestError for a TokenReview without a token."""
    if not review["spec"].get("token"):
        raise errors.BadRequestError("token is required for TokenReview in authentication")


def token_status(spec: JsonObject, find_user: FindUser) -> JsonObject:
    """Return the status of a TokenReview.

    The token is parsed like an Authorization header, so only the text up to the first blank counts.
    """
    words = f"Bearer {spec['token']}".strip().split(" ")
    if len(words) < 2 or not words[1]:
        return {"user": {}}
    audiences = spec.get("audiences") or [AUDIENCE]
    user = find_user(words[1]) if AUDIENCE in audiences else None
    if user is None:
        return {"user": {}, "error": "invalid bearer token"}
    return {"authenticated": True, "user": user, "audiences": [a for a in audiences if a == AUDIENCE]}
