"""Authentication by tokens and client certificates."""

from __future__ import annotations

import pytest

from polykind import errors
from polykind.auth.authentication import Authentication
from polykind.auth.client_certificates import ClientCertificates, RejectedCertificateError
from polykind.auth.tokens import Tokens
from polykind.auth.user import User
from polykind.http.messages import Request

AUTHENTICATED = "system:authenticated"


def authenticate(
    authorization: bytes | None = None, certificates: ClientCertificates | None = None, *, anonymous: bool = False
) -> User:
    tokens = Tokens()
    tokens.add("t1", User("alice", "1", ("dev",)))
    request = Request("GET", "/", "", {} if authorization is None else {b"authorization": authorization}, b"")
    request.client_chain = (b"certificate",)
    user = Authentication(tokens, anonymous=anonymous, certificates=certificates).user(request)
    assert user is not None
    return user


@pytest.mark.parametrize("header", [b"Bearer t1", b"bearer t1", b"Bearer t1 ", b"BEARER t1", b"Bearer t1 t2"])
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


def test_token_after_two_spaces_is_ignored_with_a_warning() -> None:
    request = Request("GET", "/", "", {b"authorization": b"Bearer  t1"}, b"")
    tokens = Tokens()
    tokens.add("t1", User("alice", "1", ()))
    user = Authentication(tokens, anonymous=True).user(request)
    assert user is not None
    assert user.name == "system:anonymous"
    assert list(request.notes.warnings) == [
        "the provided Authorization header contains extra space before the bearer token, and is ignored"
    ]


@pytest.mark.parametrize("header", [b"Bearer t2", b"Bearer t1,t1"])
def test_wrong_token_is_rejected_even_with_anonymous_access(header: bytes) -> None:
    with pytest.raises(errors.UnauthorizedError):
        authenticate(header, anonymous=True)


class FakeCertificates(ClientCertificates):
    """Client certificates whose verification has the given result."""

    def __init__(self, result: User | RejectedCertificateError | None) -> None:
        self._result = result

    def user(self, chain: tuple[bytes, ...]) -> User | None:
        if isinstance(self._result, RejectedCertificateError):
            raise self._result
        return self._result


def test_client_certificate_has_precedence_over_token() -> None:
    for header in (None, b"Bearer t1", b"Bearer wrong", b"Basic x"):
        assert authenticate(header, FakeCertificates(User("bob"))).name == "bob"


def test_client_certificate_without_a_user_is_ignored() -> None:
    nameless = FakeCertificates(None)
    assert authenticate(b"Bearer t1", nameless).name == "alice"
    assert authenticate(None, nameless, anonymous=True).name == "system:anonymous"
    with pytest.raises(errors.UnauthorizedError):
        authenticate(None, nameless)


def test_rejected_client_certificate_needs_a_valid_token() -> None:
    rejected = FakeCertificates(RejectedCertificateError())
    assert authenticate(b"Bearer t1", rejected).name == "alice"
    for header in (None, b"Bearer wrong"):
        with pytest.raises(errors.UnauthorizedError):
            authenticate(header, rejected, anonymous=True)


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
