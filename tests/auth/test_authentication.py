"""From credentials to users."""

from __future__ import annotations

from typing import Any

import pytest

from polykind import errors
from polykind.auth.authentication import Authentication
from polykind.auth.tokens import Tokens
from polykind.auth.user import User
from polykind.http.request import Request

ALL = "system:authenticated"


def ask(
    authorization: bytes | None = None, certificate: dict[str, Any] | None = None, *, anonymous: bool = False
) -> User:
    tokens = Tokens()
    tokens.add("t1", User("alice", "1", ("dev",)))
    request = Request("GET", "/", "", {} if authorization is None else {b"authorization": authorization}, b"")
    request.peer_certificate = certificate
    return Authentication(tokens, anonymous=anonymous).user(request)


def certificate(*names: tuple[str, str]) -> dict[str, Any]:
    return {"subject": tuple((name,) for name in names)}


@pytest.mark.parametrize("header", [b"Bearer t1", b"bearer t1", b"Bearer  t1 ", b"BEARER t1"])
def test_a_bearer_token(header: bytes) -> None:
    assert ask(header) == User("alice", "1", ("dev", ALL))


@pytest.mark.parametrize(
    "header", [None, b"", b"Bearer", b"Bearer ", b"Bearer t2", b"Basic t1", b"t1", b"Bearer t1,t1"]
)
def test_no_credential_or_a_wrong_one(header: bytes | None) -> None:
    with pytest.raises(errors.UnauthorizedError, match="Unauthorized"):
        ask(header)


@pytest.mark.parametrize("header", [None, b"", b"Bearer", b"Bearer ", b"Basic t1", b"t1"])
def test_who_shows_no_credential_may_be_somebody_as_well(header: bytes | None) -> None:
    assert ask(header, anonymous=True) == User("system:anonymous", "", ("system:unauthenticated",))


@pytest.mark.parametrize("header", [b"Bearer t2", b"Bearer t1,t1"])
def test_a_wrong_token_is_refused_even_where_none_would_do(header: bytes) -> None:
    with pytest.raises(errors.UnauthorizedError):
        ask(header, anonymous=True)


def test_a_client_certificate_names_the_user_and_the_groups() -> None:
    subject = certificate(("organizationName", "dev"), ("organizationName", "ops"), ("commonName", "bob"))
    assert ask(certificate=subject) == User("bob", groups=("dev", "ops", ALL))


def test_a_client_certificate_comes_before_a_token() -> None:
    subject = certificate(("commonName", "bob"))
    for header in (b"Bearer t1", b"Bearer wrong", b"Basic x"):
        assert ask(header, subject).name == "bob"


def test_a_client_certificate_without_a_name_says_nothing() -> None:
    nameless = certificate(("organizationName", "dev"))
    assert ask(b"Bearer t1", nameless).name == "alice"
    with pytest.raises(errors.UnauthorizedError):
        ask(None, nameless)


def test_a_wrong_token_after_a_right_one() -> None:
    tokens = Tokens()
    tokens.add("t1", User("alice", "1"))
    tokens.add("t2", User("bob", "2"))
    authentication = Authentication(tokens)

    def user(header: bytes) -> str:
        return authentication.user(Request("GET", "/", "", {b"authorization": header}, b"")).name

    assert [user(b"Bearer t1"), user(b"Bearer t1"), user(b"Bearer t2"), user(b"Bearer t1")] == [
        "alice",
        "alice",
        "bob",
        "alice",
    ]
    for header in (b"Bearer t3", b"Bearer t", b"Bearer t11", b""):
        with pytest.raises(errors.UnauthorizedError):
            user(header)
