from __future__ import annotations

import pytest

from polykind.auth import identity_review
from polykind.contract import JsonObject
from polykind.errors import BadRequestError

ANN: JsonObject = {"username": "ann", "groups": ["a"]}
INVALID: JsonObject = {"user": {}, "error": "invalid bearer token"}


def owner(token: str) -> JsonObject | None:
    return ANN if token == "anns" else None


def test_who_asks_is_told_and_nothing_else() -> None:
    answered = identity_review.self_subject(ANN, "2026-01-02T03:04:05Z")
    assert answered == {"metadata": {"creationTimestamp": "2026-01-02T03:04:05Z"}, "status": {"userInfo": ANN}}


@pytest.mark.parametrize("spec", [{}, {"token": ""}, {"audiences": ["a"]}])
def test_a_review_of_no_token_is_refused(spec: JsonObject) -> None:
    with pytest.raises(BadRequestError, match="token is required for TokenReview in authentication"):
        identity_review.check_token({"spec": spec})


@pytest.mark.parametrize("token", ["anns", "anns ", "anns and more"])
def test_whose_a_token_is(token: str) -> None:
    assert identity_review.token_status({"token": token}, owner) == {
        "authenticated": True,
        "user": ANN,
        "audiences": [identity_review.AUDIENCE],
    }


@pytest.mark.parametrize("token", ["bobs", "ANNS", "anns\tx"])
def test_a_token_that_is_nobodys(token: str) -> None:
    assert identity_review.token_status({"token": token}, owner) == INVALID


@pytest.mark.parametrize("token", [" ", " anns"])
def test_what_is_no_token_at_all_is_not_even_an_error(token: str) -> None:
    assert identity_review.token_status({"token": token}, owner) == {"user": {}}


def test_a_token_is_for_this_server_alone() -> None:
    assert identity_review.token_status({"token": "anns", "audiences": ["others"]}, owner) == INVALID
    several = ["others", identity_review.AUDIENCE]
    assert identity_review.token_status({"token": "anns", "audiences": several}, owner)["audiences"] == [
        identity_review.AUDIENCE
    ]
