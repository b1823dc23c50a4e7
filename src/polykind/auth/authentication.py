"""Authentication of a request by its client certificate or bearer token."""

from __future__ import annotations

from hmac import compare_digest
from typing import Any

from polykind import errors
from polykind.auth.tokens import Tokens
from polykind.auth.user import ANONYMOUS, AUTHENTICATED, User
from polykind.http.messages import Request


class Authentication:
    """Authenticates by the client certificate that TLS has verified, else by a bearer token.

    With `anonymous`, a request without credentials gets the user system:anonymous. An unknown token is always
    rejected.
    """

    def __init__(self, tokens: Tokens, *, anonymous: bool = False) -> None:
        self._tokens = tokens
        self._anonymous = anonymous
        self._latest: tuple[bytes, User | None] = b"", None

    def user(self, request: Request) -> User:
        """Return the authenticated user. Raise UnauthorizedError if credentials are missing or wrong."""
        user = _certificate_user(request.peer_certificate) if request.peer_certificate is not None else None
        if user is None:
            header = request.headers.get(b"authorization", b"")
            # Most requests have the same token as the previous request, so remember the latest header and its user.
            latest_header, user = self._latest
            if user is None or not compare_digest(latest_header, header):
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
    """Return the user of a client certificate. The common name is the user name; each organization is a group."""
    names, groups = [], []
    for attributes in certificate.get("subject", ()):
        for key, value in attributes:
            if key == "commonName":
                names.append(value)
            elif key == "organizationName":
                groups.append(value)
    return User(names[-1], groups=(*dict.fromkeys(groups), AUTHENTICATED)) if names else None
