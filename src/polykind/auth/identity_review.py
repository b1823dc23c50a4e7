"""The responses to SelfSubjectReview and TokenReview."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from polykind import errors
from polykind.auth.service_account_claims import TokenError
from polykind.contract import JsonObject

GROUP = "authentication.k8s.io"
FindUser = Callable[[str, list[str]], Awaitable[tuple[JsonObject, list[str]]]]
"""A function that returns the userInfo of a token's user and the audiences of the token. It raises TokenError if the
token is invalid.
"""


def self_subject(user: JsonObject, now: str) -> JsonObject:
    """Return a SelfSubjectReview for the user. Like kube-apiserver, ignore the client's metadata and status."""
    return {"metadata": {"creationTimestamp": now}, "status": {"userInfo": user}}


def check_token(review: JsonObject) -> None:
    """Raise BadRequestError if a TokenReview has no token."""
    if not review["spec"].get("token"):
        raise errors.BadRequestError("token is required for TokenReview in authentication")


async def token_status(review: JsonObject, find_user: FindUser) -> JsonObject:
    """Return the status of a TokenReview. Like kube-apiserver, keep the fields of the client's status that are not set.

    As in an Authorization header, the token ends at the first blank.
    """
    spec = review["spec"]
    sent: JsonObject = {"user": {}} | (review.get("status") or {})
    sent.pop("authenticated", None)
    words = f"Bearer {spec['token']}".strip().split(" ")
    if len(words) < 2 or not words[1]:
        return sent
    try:
        user, audiences = await find_user(words[1], spec.get("audiences") or [])
    except TokenError as error:
        return sent | {"error": str(error)}
    return sent | {"authenticated": True, "user": user, "audiences": audiences}
