"""Authentication by tokens and client certificates."""

from __future__ import annotations

from typing import Any

import pytest

from polykind import errors
from polykind.auth.authentication import Authentication
from polykind.auth.tokens import Tokens
from polykind.auth.user import User
from polykind.http.messages import Request

AUTHENTICATED = "system:authenticated"


def authenticate(
    authorization: bytes | None = None, certificate: dict[str, Any] | None = None, *, anonymous: bool = False
) -> User:
    tokens = Tokens()
    tokens.add("t1", User("alice", "1", ("dev",)))
    request = Request("GET", "/", "", {} if authorization is None else {b"authorization": authorization}, b"")
    request.peer_certificate = certificate
    user = Authentication(tokens, anonymous=anonymous).user(request)
    assert user is not None
    return user


def certificate(*names: tuple[str, str], year: int = 2100) -> dict[str, Any]:
    validity = {"notBefore": "Jan  1 00:00:00 2020 GMT", "notAfter": f"Jan  1 00:00:00 {year} GMT"}
    return {"subject": tuple((name,) for name in names), **validity}


@pytest.mark.parametrize("header", [b"Bearer t1", b"bearer t1", b"Bearer  t1 ", b"BEARER t1"])
def test_bearer_token_authenticates(header: bytes) -> None:
    assert authenticate(header) == User("alice", "1", ("dev", AUTHENTICATED))


@pytest.mark.parametrize(
    "header", [None, b"", b"Bearer", b"Bearer ", b"Bearer t2", b"Basic t1", b"t1", b"Bearer t1,t1"]
)
def test_missing_or_wrong_credentials_are_rejected(header: bytes | None) -> None:
    with pytest.raises(errors.UnauthorizedError, match="Unauthorized"):
        authenticate(header)


@pytest.mark.parametrize("header", [None, b"", b"Bearer", b"Bearer ", b"Basic t1", b"t1"])
def test_missing_credentials_become_the_anonymous_user(header: bytes | None) -> None:
    assert authenticate(header, anonymous=True) == User("system:anonymous", "", ("system:unauthenticated",))


@pytest.mark.parametrize("header", [b"Bearer t2", b"Bearer t1,t1"])
def test_wrong_token_is_rejected_even_with_anonymous_access(header: bytes) -> None:
    with pytest.raises(errors.UnauthorizedError):
        authenticate(header, anonymous=True)


def test_client_certificate_gives_user_and_groups() -> None:
    subject = certificate(("organizationName", "dev"), ("organizationName", "ops"), ("commonName", "bob"))
    assert authenticate(certificate=subject) == User("bob", groups=("dev", "ops", AUTHENTICATED))


def test_client_certificate_has_precedence_over_token() -> None:
    subject = certificate(("commonName", "bob"))
    for header in (b"Bearer t1", b"Bearer wrong", b"Basic x"):
        assert authenticate(header, subject).name == "bob"


def test_client_certificate_without_common_name_is_ignored() -> None:
    nameless = certificate(("organizationName", "dev"))
    assert authenticate(b"Bearer t1", nameless).name == "alice"
    with pytest.raises(errors.UnauthorizedError):
        authenticate(None, nameless)


def test_client_certificate_with_an_empty_common_name_is_ignored() -> None:
    assert authenticate(certificate=certificate(("commonName", "")), anonymous=True).name == "system:anonymous"


def test_anonymous_user_of_a_certificate_is_not_authenticated() -> None:
    assert authenticate(certificate=certificate(("commonName", "system:anonymous"))).groups == ()


def test_expired_client_certificate_counts_for_nothing() -> None:
    expired = certificate(("commonName", "bob"), year=2021)
    assert authenticate(b"Bearer t1", expired).name == "alice"
    with pytest.raises(errors.UnauthorizedError):
        authenticate(None, expired, anonymous=True)


def test_replaced_tokens_no_longer_authenticate() -> None:
    before, after = Tokens(), Tokens()
    before.add("t1", User("alice"))
    after.add("t2", User("bob"))
    authentication = Authentication(before)
    requests = [Request("GET", "/", "", {b"authorization": b"Bearer " + token}, b"") for token in (b"t1", b"t2")]
    assert authentication.user(requests[0]) is not None
    authentication.replace_tokens(after)
    assert authentication.user(requests[1]) is not None
    with pytest.raises(errors.UnauthorizedError):
        authentication.user(requests[0])


def test_cached_token_does_not_authenticate_another_token() -> None:
    tokens = Tokens()
    tokens.add("t1", User("alice", "1"))
    tokens.add("t2", User("bob", "2"))
    authentication = Authentication(tokens)

    def user(header: bytes) -> str:
        found = authentication.user(Request("GET", "/", "", {b"authorization": header}, b""))
        assert found is not None
        return found.name

    assert [user(b"Bearer t1"), user(b"Bearer t1"), user(b"Bearer t2"), user(b"Bearer t1")] == [
        "alice",
        "alice",
        "bob",
        "alice",
    ]
    for header in (b"Bearer t3", b"Bearer t", b"Bearer t11", b""):
        with pytest.raises(errors.UnauthorizedError):
            user(header)
