"""Decisions of authorization webhooks: caching, failures, retries and match conditions."""

from __future__ import annotations

from typing import Any

import pytest

from polykind.auth.authorizer import Access, Decision
from polykind.auth.authorizer_union import build_authorizer
from polykind.auth.match_condition_expressions import MatchExpressions, condition_errors
from polykind.auth.user import User
from polykind.auth.webhook_authorizer import ReviewError, WebhookAuthorizer, WebhookRules
from polykind.clock import SystemClock
from polykind.contract import JsonObject

ANN = User("ann", "1", ("dev",), {"a.b/c": ("x",)})
GET = Access(ANN, "get", "example.com", "v1", "widgets", "", "default", "w")


class FakeClock(SystemClock):
    time = 0.0

    def monotonic(self) -> float:
        return self.time


class Sender:
    """Answers reviews with the given statuses or errors, in order. The last one repeats."""

    def __init__(self, *answers: JsonObject | Exception) -> None:
        self.answers = list(answers)
        self.reviews: list[JsonObject] = []

    async def send(self, review: JsonObject) -> JsonObject:
        self.reviews.append(review)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return {**review, "status": answer}

    async def close(self) -> None: ...


def webhook(sender: Sender, clock: FakeClock | None = None, *conditions: str, **rules: Any) -> WebhookAuthorizer:
    expressions = MatchExpressions([{"expression": text} for text in conditions]) if conditions else None
    values = WebhookRules("test", "v1", **rules)
    return WebhookAuthorizer(values, sender, clock or FakeClock(), expressions, retry_seconds=(0, 0))


@pytest.mark.parametrize(
    ("status", "decision"),
    [
        ({"allowed": True}, Decision(True)),
        ({"allowed": False, "reason": "no"}, Decision(False, "no")),
        ({"denied": True, "reason": "never"}, Decision(False, "never", denied=True)),
        (
            {"denied": True, "allowed": True},
            Decision(False, denied=True, error="webhook subject access review returned both allow and deny response"),
        ),
    ],
)
async def test_status_becomes_a_decision(status: JsonObject, decision: Decision) -> None:
    assert await webhook(Sender(status)).decide(GET) == decision


async def test_review_describes_the_access() -> None:
    sender = Sender({"allowed": True})
    await webhook(sender).decide(GET)
    await webhook(sender).decide(Access(User("bob"), "get", path="/metrics"))
    attributes = {
        "namespace": "default", "verb": "get", "group": "example.com", "version": "v1", "resource": "widgets",
        "name": "w",
    }  # fmt: skip
    user = {"user": "ann", "groups": ["dev"], "extra": {"a.b/c": ["x"]}, "uid": "1"}
    assert sender.reviews[0] == {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "metadata": {},
        "spec": {"resourceAttributes": attributes, **user},
    }
    assert sender.reviews[1]["spec"] == {"nonResourceAttributes": {"path": "/metrics", "verb": "get"}, "user": "bob"}


async def test_v1beta1_calls_the_groups_group() -> None:
    sender = Sender({"allowed": True})
    rules = WebhookRules("test", "v1beta1")
    await WebhookAuthorizer(rules, sender, FakeClock()).decide(GET)
    assert sender.reviews[0]["apiVersion"] == "authorization.k8s.io/v1beta1"
    assert sender.reviews[0]["spec"]["group"] == ["dev"]


async def test_decisions_are_cached_for_their_time() -> None:
    clock, sender = FakeClock(), Sender({"allowed": True}, {"allowed": False}, {"allowed": True})
    authorizer = webhook(sender, clock, authorized_seconds=300.0, unauthorized_seconds=30.0)
    for time, allowed, asked in ((0, True, 1), (299, True, 1), (301, False, 2), (330, False, 2), (332, True, 3)):
        clock.time = time
        assert ((await authorizer.decide(GET)).allowed, len(sender.reviews)) == (allowed, asked)


async def test_long_texts_and_disabled_caches_are_not_cached() -> None:
    sender = Sender({"allowed": True})
    authorizer = webhook(sender)
    for _ in range(2):
        await authorizer.decide(Access(ANN, "get", path="/" + "x" * 10_000))
    uncached = webhook(sender, authorized_seconds=0.0)
    for _ in range(2):
        await uncached.decide(GET)
    assert len(sender.reviews) == 4


@pytest.mark.parametrize(("policy", "denied"), [("NoOpinion", False), ("Deny", True)])
async def test_failure_policy_decides_if_the_webhook_fails(policy: str, denied: bool) -> None:
    decision = await webhook(Sender(ReviewError("down")), failure_policy=policy).decide(GET)
    assert decision == Decision(False, denied=denied, error="down")


async def test_temporary_errors_are_retried_and_others_are_not() -> None:
    busy = ReviewError("busy", temporary=True)
    sender = Sender(busy, busy, {"allowed": True})
    assert (await webhook(sender).decide(GET)).allowed
    sender = Sender(ReviewError("wrong"), {"allowed": True})
    assert (await webhook(sender).decide(GET)).error == "wrong"


async def test_webhook_is_skipped_if_a_condition_is_false() -> None:
    sender = Sender({"allowed": True})
    conditions = ("has(request.resourceAttributes)", "request.resourceAttributes.namespace == 'kube-system'")
    assert await webhook(sender, None, *conditions).decide(GET) == Decision(False)
    assert sender.reviews == []


@pytest.mark.parametrize(("policy", "denied"), [("NoOpinion", False), ("Deny", True)])
async def test_failure_policy_decides_if_a_condition_fails(policy: str, denied: bool) -> None:
    path = Access(ANN, "get", path="/x")
    failing = "request.resourceAttributes.namespace == 'a'"
    decision = await webhook(Sender({"allowed": True}), None, failing, failure_policy=policy).decide(path)
    assert (decision.allowed, decision.denied) == (False, denied)
    assert f"cel evaluation error: expression '{failing}' resulted in error: no such key" in decision.error


def test_condition_must_be_a_bool_over_known_fields() -> None:
    assert condition_errors("request.user == 'a'", "x") == []
    assert "must evaluate to bool" in str(condition_errors("request.user", "x")[0])
    assert "undefined field 'nope'" in str(condition_errors("request.nope == 'a'", "x")[0])


async def test_denial_of_a_webhook_wins_over_later_modes() -> None:
    authorizer, _ = build_authorizer((webhook(Sender({"denied": True})), "AlwaysAllow"))
    assert not authorizer.allows_everything
    assert (await authorizer.decide(GET)).denied
    admin = Access(User("root", "", ("system:masters",)), "get", path="/")
    assert (await authorizer.decide(admin)).allowed
    authorizer, _ = build_authorizer(("AlwaysAllow", webhook(Sender({"denied": True}))))
    assert authorizer.allows_everything
