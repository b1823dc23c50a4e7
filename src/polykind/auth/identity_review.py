"""The responses to SelfSubjectReview and TokenReview."""

from __future__ import annotations

from collections.abc import Callable

from polykind import errors
from polykind.contract import JsonObject

GROUP = "authentication.k8s.io"
AUDIENCE = "https://kubernetes.default.svc"
"""The only audience that this server's tokens are valid for: the server itself."""

FindUser = Callable[[str], JsonObject | None]
"""A function that returns the userInfo of a token's user, or None if the token is unknown."""


def self_subject(user: JsonObject, now: str) -> JsonObject:
    """Return a SelfSubjectReview for the user. Like kube-apiserver, ignore the client's metadata and status."""
    return {"metadata": {"creationTimestamp": now}, "status": {"userInfo": user}}


def check_token(review: JsonObject) -> None:
    """Raise BadRequestError if a TokenReview has no token."""
    if not review["spec"].get("token"):
        raise errors.BadRequestError("token is required for TokenReview in authentication")


def token_status(spec: JsonObject, find_user: FindUser) -> JsonObject:
    """Return the status of a TokenReview.

    The token is parsed like an Authorization header, so it ends at the first blank.
    """
    words = f"Bearer {spec['token']}".strip().split(" ")
    if len(words) < 2 or not words[1]:
        return {"user": {}}
    audiences = spec.get("audiences") or [AUDIENCE]
    user = find_user(words[1]) if AUDIENCE in audiences else None
    if user is None:
        return {"user": {}, "error": "invalid bearer token"}
    return {"authenticated": True, "user": user, "audiences": [a for a in audiences if a == AUDIENCE]}
