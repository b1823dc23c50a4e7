"""The authorization mode Webhook: SubjectAccessReviews that another program decides."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from polykind.auth.authorizer import Access, Decision, Rules
from polykind.auth.user import User
from polykind.bounded_cache import BoundedCache
from polykind.codec import json_codec
from polykind.contract import Clock, JsonObject

_CACHED_BYTES = 8 * 1024 * 1024
_MAX_KEY_BYTES = 10_000
"""The size of the longest access whose decision is cached."""
_RETRY_SECONDS = (0.5, 0.75, 1.125, 1.6875)
NO_OPINION, DENY = "NoOpinion", "Deny"

log = logging.getLogger(__name__)


class ReviewError(Exception):
    """A webhook did not return a review. If `temporary` is true, a further attempt may succeed."""

    def __init__(self, message: str, *, temporary: bool = False) -> None:
        super().__init__(message)
        self.temporary = temporary


class ReviewSender(Protocol):
    """Sends reviews to the webhook of a kubeconfig."""

    async def send(self, review: JsonObject) -> JsonObject:
        """Return the review with its status. Raise ReviewError if that fails."""

    async def close(self) -> None:
        """Close the connections."""


class MatchConditions(Protocol):
    """The conditions under which a webhook is asked."""

    def match(self, request: JsonObject) -> bool:
        """True if all conditions hold for the spec of a SubjectAccessReview. Raise ValueError if one fails."""


@dataclass(frozen=True)
class WebhookRules:
    """The rules for the decisions of a webhook: caching, timeout and failures."""

    name: str
    version: str = "v1beta1"
    """The version of the SubjectAccessReviews: v1 or v1beta1."""
    authorized_seconds: float = 300.0
    """The time for which a positive decision is cached. 0 disables the cache."""
    unauthorized_seconds: float = 30.0
    """The time for which any other decision is cached. 0 disables the cache."""
    timeout_seconds: float = 30.0
    failure_policy: str = NO_OPINION


class WebhookAuthorizer:
    """Asks a webhook, unless a condition excludes the access or the decision is cached."""

    allows_everything = False
    may_deny = True

    def __init__(
        self,
        rules: WebhookRules,
        sender: ReviewSender,
        clock: Clock,
        conditions: MatchConditions | None = None,
        *,
        retry_seconds: Sequence[float] = _RETRY_SECONDS,
    ) -> None:
        self._rules = rules
        self._sender = sender
        self._clock = clock
        self._conditions = conditions
        self._retry_seconds = retry_seconds
        self._cached: BoundedCache[bytes, tuple[float, Decision]] = BoundedCache(
            _CACHED_BYTES, max_key_bytes=_MAX_KEY_BYTES
        )

    async def decide(self, access: Access) -> Decision:
        spec = review_spec(access)
        if self._conditions is not None:
            try:
                if not self._conditions.match(spec):
                    return Decision(False)
            except ValueError as error:
                return self._failed(str(error))
        key, now = json_codec.encode(spec), self._clock.monotonic()
        cached = self._cached[key]
        if cached is not None and now < cached[0]:
            return cached[1]
        try:
            # A CEL expression that cannot wait closes this coroutine. The review then ends by itself.
            status = await asyncio.get_running_loop().create_task(self._ask(spec))
        except ReviewError as error:
            log.error("authorization webhook %s: cannot get a decision: %s", self._rules.name, error)
            return self._failed(str(error))
        decision = _decision(status)
        seconds = self._rules.authorized_seconds if decision.allowed else self._rules.unauthorized_seconds
        if seconds:
            self._cached[key] = now + seconds, decision
        return decision

    def rules(self, user: User, namespace: str) -> Rules:
        return Rules([], [], True, "webhook authorizer does not support user rule resolution")

    async def close(self) -> None:
        await self._sender.close()

    async def _ask(self, spec: JsonObject) -> JsonObject:
        review = {"apiVersion": f"authorization.k8s.io/{self._rules.version}", "kind": "SubjectAccessReview"}
        if self._rules.version == "v1beta1":
            # Only v1beta1 calls the groups `group`.
            spec = {("group" if name == "groups" else name): value for name, value in spec.items()}
        try:
            async with asyncio.timeout(self._rules.timeout_seconds):
                for pause in (*self._retry_seconds, None):
                    try:
                        answer = await self._sender.send({**review, "metadata": {}, "spec": spec})
                    except ReviewError as error:
                        if pause is None or not error.temporary:
                            raise
                        await asyncio.sleep(pause)
                    else:
                        status = answer.get("status")
                        return status if isinstance(status, dict) else {}
        except TimeoutError:
            raise ReviewError(f"the webhook did not respond within {self._rules.timeout_seconds:g} s") from None
        raise AssertionError("the last attempt returns or raises")

    def _failed(self, error: str) -> Decision:
        return Decision(False, denied=self._rules.failure_policy == DENY, error=error)


def review_spec(access: Access) -> JsonObject:
    """Return the spec of the SubjectAccessReview (v1) for an access, without empty fields."""
    spec: JsonObject = {}
    if access.path is not None:
        spec["nonResourceAttributes"] = _without_empty({"path": access.path, "verb": access.verb})
    else:
        names = ("namespace", "verb", "group", "version", "resource", "subresource", "name")
        spec["resourceAttributes"] = _without_empty({name: getattr(access, name) for name in names})
    user = access.user
    extra = {key: list(values) for key, values in user.extra.items()}
    return {
        **spec,
        **_without_empty({"user": user.name, "groups": list(user.groups), "extra": extra, "uid": user.uid}),
    }


def _without_empty(values: JsonObject) -> JsonObject:
    return {name: value for name, value in values.items() if value}


def _decision(status: JsonObject) -> Decision:
    reason = str(status.get("reason") or "")
    if status.get("denied"):
        both = "webhook subject access review returned both allow and deny response" if status.get("allowed") else ""
        return Decision(False, reason, denied=True, error=both)
    return Decision(bool(status.get("allowed")), reason)
