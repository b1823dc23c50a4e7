"""Authentication of bearer tokens by TokenReviews that another program answers."""

from __future__ import annotations

import hashlib
import logging

from polykind.auth.service_account_claims import TokenError
from polykind.auth.user import User, authenticated_groups
from polykind.auth.webhook_authorizer import ReviewError, ReviewSender
from polykind.bounded_cache import BoundedCache
from polykind.contract import Clock, JsonObject

_CACHED_BYTES = 4 * 1024 * 1024

log = logging.getLogger(__name__)


class WebhookTokenAuthenticator:
    """Asks a webhook for the user of a token, and caches positive answers."""

    def __init__(self, sender: ReviewSender, version: str, cache_seconds: float, clock: Clock) -> None:
        """`version` is the version of the TokenReviews: v1 or v1beta1."""
        self._sender = sender
        self._version = version
        self._cache_seconds = cache_seconds
        self._clock = clock
        self._cached: BoundedCache[tuple[bytes, tuple[str, ...]], tuple[float, User, list[str]]] = BoundedCache(
            _CACHED_BYTES
        )

    async def close(self) -> None:
        await self._sender.close()

    async def authenticate(self, token: str, audiences: list[str]) -> tuple[User, list[str]]:
        """Return the user of a token, and those of `audiences` that the token is valid for.

        Raise TokenError if the webhook rejects the token or does not respond.
        """
        key = hashlib.sha256(token.encode()).digest(), tuple(audiences)
        now = self._clock.monotonic()
        cached = self._cached[key]
        if cached is not None and now < cached[0]:
            return cached[1], cached[2]
        kind = {"apiVersion": f"authentication.k8s.io/{self._version}", "kind": "TokenReview", "metadata": {}}
        review = {**kind, "spec": {"token": token, "audiences": audiences}}
        try:
            answer = await self._sender.send(review)
        except ReviewError as error:
            log.error("authentication webhook: failed to make webhook authenticator request: %s", error)
            raise TokenError(str(error)) from None
        user, shared = _user_of(answer.get("status"), audiences)
        self._cached[key] = now + self._cache_seconds, user, shared
        return user, shared


def _user_of(status: object, audiences: list[str]) -> tuple[User, list[str]]:
    """Return the user and the audiences in the status of a TokenReview. Raise TokenError if it has no user."""
    if not isinstance(status, dict) or not status.get("authenticated"):
        error = status.get("error") if isinstance(status, dict) else ""
        raise TokenError(str(error or "invalid bearer token"))
    valid = status.get("audiences") or audiences
    shared = [audience for audience in audiences if audience in valid]
    if not shared:
        raise TokenError("invalid bearer token")
    return _read_user(status.get("user") or {}), shared


def _read_user(info: JsonObject) -> User:
    name = str(info.get("username") or "")
    extra = {str(key): tuple(map(str, values or ())) for key, values in (info.get("extra") or {}).items()}
    groups = authenticated_groups(name, map(str, info.get("groups") or ()))
    return User(name, str(info.get("uid") or ""), groups, extra)
