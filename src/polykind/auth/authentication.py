"""From a request's credentials to a user."""

from __future__ import annotations

from hmac import compare_digest
from typing import Any

from polykind import errors
from polykind.auth.tokens import Tokens
from polykind.auth.user import ANONYMOUS, AUTHENTICATED, User
from polykind.http.request import Request


class Authentication:
    """The client certificate that TLS has verified first, then tokens.

    `anonymous`: who shows neither is somebody as well; a token that nobody knows is refused all the same.
    """

    def __init__(self, tokens: Tokens, *, anonymous: bool = False) -> None:
        self._tokens = tokens
        self._anonymous = anonymous
        self._latest: tuple[bytes, User | None] = b"", None

    def user(self, request: Request) -> User:
        """Who asks. Raises Unauthorized where no credential, or a wrong one, was given."""
        user = _certificate_user(request.peer_certificate) if request.peer_certificate is not None else None
        if user is None:
            header = request.headers.get(b"authorization", b"")
            # Who comes again and again need not be looked up each time.
            known, user = self._latest
            if user is None or not compare_digest(known, header):
                user = self._token_user(header)
                if user is not None:
                    self._latest = header, user
        if user is None:
            raise errors.UnauthorizedError
        return user

    def _token_user(self, header: bytes) -> User | None:
        scheme, _, token = header.strip().partition(b" ")
        token = token.strip()
        if scheme.lower() == b"bearer" and token:
            return self._tokens.find(token)
        return ANONYMOUS if self._anonymous else None


def _certificate_user(certificate: dict[str, Any]) -> User | None:
    """The common name is the user, each organisation a group."""
    names, groups = [], []
    for relative in certificate.get("subject", ()):
        for key, value in relative:
            if key == "commonName":
                names.append(value)
            elif key == "organizationName":
                groups.append(value)
    return User(names[-1], groups=(*dict.fromkeys(groups), AUTHENTICATED)) if names else None
