from __future__ import annotations

import pytest

from polykind.auth import identity_review
from polykind.auth.service_account_claims import TokenError
from polykind.contract import JsonObject
from polykind.errors import BadRequestError

ANN: JsonObject = {"username": "ann", "groups": ["a"]}
INVALID: JsonObject = {"user": {}, "error": "invalid bearer token"}


async def find_user(token: str, audiences: list[str]) -> tuple[JsonObject, list[str]]:
    if token != "anns":
        raise TokenError("invalid bearer token")
    return ANN, audiences or ["server"]


def test_self_subject_review_returns_only_the_user() -> None:
    review = identity_review.self_subject(ANN, "2026-01-02T03:04:05Z")
    assert review == {"metadata": {"creationTimestamp": "2026-01-02T03:04:05Z"}, "status": {"userInfo": ANN}}


@pytest.mark.parametrize("spec", [{}, {"token": ""}, {"audiences": ["a"]}])
def test_token_review_without_token_is_rejected(spec: JsonObject) -> None:
    with pytest.raises(BadRequestError, match="token is required for TokenReview in authentication"):
        identity_review.check_token({"spec": spec})


@pytest.mark.parametrize("token", ["anns", "anns ", "anns and more"])
async def test_known_token_is_authenticated(token: str) -> None:
    assert await identity_review.token_status({"spec": {"token": token}}, find_user) == {
        "authenticated": True,
        "user": ANN,
        "audiences": ["server"],
    }


@pytest.mark.parametrize("token", ["bobs", "ANNS", "anns\tx"])
async def test_unknown_token_is_not_authenticated(token: str) -> None:
    assert await identity_review.token_status({"spec": {"token": token}}, find_user) == INVALID


@pytest.mark.parametrize("token", [" ", " anns"])
async def test_blank_token_is_not_authenticated_and_no_error(token: str) -> None:
    assert await identity_review.token_status({"spec": {"token": token}}, find_user) == {"user": {}}


async def test_status_of_the_client_remains_where_it_is_not_set() -> None:
    sent: JsonObject = {"authenticated": True, "audiences": ["q"], "user": {"username": "z"}}
    status = await identity_review.token_status({"spec": {"token": "bobs"}, "status": sent}, find_user)
    assert status == {"audiences": ["q"], "user": {"username": "z"}, "error": "invalid bearer token"}
    review: JsonObject = {"spec": {"token": "anns"}, "status": {**sent, "error": "e"}}
    status = await identity_review.token_status(review, find_user)
    assert status == {"authenticated": True, "audiences": ["server"], "user": ANN, "error": "e"}


async def test_audiences_are_passed_on() -> None:
    status = await identity_review.token_status({"spec": {"token": "anns", "audiences": ["others"]}}, find_user)
    assert status["audiences"] == ["others"]
