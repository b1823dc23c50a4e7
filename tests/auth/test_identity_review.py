from __future__ import annotations

import pytest

from polykind.auth import identity_review
from polykind.contract import JsonObject
from polykind.errors import BadRequestError

ANN: JsonObject = {"username": "ann", "groups": ["a"]}
INVALID: JsonObject = {"user": {}, "error": "invalid bearer token"}


def find_user(token: str) -> JsonObject | None:
    return ANN if token == "anns" else None


def test_self_subject_review_returns_only_the_user() -> None:
    review = identity_review.self_subject(ANN, "2026-01-02T03:04:05Z")
    assert review == {"metadata": {"creationTimestamp": "2026-01-02T03:04:05Z"}, "status": {"userInfo": ANN}}


@pytest.mark.parametrize("spec", [{}, {"token": ""}, {"audiences": ["a"]}])
def test_token_review_without_token_is_rejected(spec: JsonObject) -> None:
    with pytest.raises(BadRequestError, match="token is required for TokenReview in authentication"):
        identity_review.check_token({"spec": spec})


@pytest.mark.parametrize("token", ["anns", "anns ", "anns and more"])
def test_known_token_is_authenticated(token: str) -> None:
    assert identity_review.token_status({"token": token}, find_user) == {
        "authenticated": True,
        "user": ANN,
        "audiences": [identity_review.AUDIENCE],
    }


@pytest.mark.parametrize("token", ["bobs", "ANNS", "anns\tx"])
def test_unknown_token_is_not_authenticated(token: str) -> None:
    assert identity_review.token_status({"token": token}, find_user) == INVALID


@pytest.mark.parametrize("token", [" ", " anns"])
def test_blank_token_is_not_authenticated_and_no_error(token: str) -> None:
    assert identity_review.token_status({"token": token}, find_user) == {"user": {}}


def test_token_is_valid_only_for_this_servers_audience() -> None:
    assert identity_review.token_status({"token": "anns", "audiences": ["others"]}, find_user) == INVALID
    several = ["others", identity_review.AUDIENCE]
    assert identity_review.token_status({"token": "anns", "audiences": several}, find_user)["audiences"] == [
        identity_review.AUDIENCE
    ]
