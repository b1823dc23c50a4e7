"""From a request's credentials to a user."""

from __future__ import annotations

from typing import Any

from polykind import errors
from polykind.auth.tokens import Tokens
from polykind.auth.user import AUTHENTICATED, User
from polykind.wire.request import Request


class Authentication:
    """Tokens first, then the client certificate that TLS has verified."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens

    def user(self, request: Request) -> User:
        """Who asks. Raises Unauthorized where no credential, or a wrong one, was given."""
        header = request.headers.get(b"authorization")
        if header is not None:
            scheme, _, token = header.partition(b" ")
            token = token.strip()
            if scheme.lower() == b"bearer" and token:
                user = self._tokens.find(token)
                if user is not None:
                    return user
            raise errors.Unauthorized
        if request.peer_certificate is not None:
            return _certificate_user(request.peer_certificate)
        raise errors.Unauthorized


def _certificate_user(certificate: dict[str, Any]) -> User:
    """The common name is the user, each organisation a group."""
    names, groups = [], []
    for relative in certificate.get("subject", ()):
        for key, value in relative:
            if key == "commonName":
                names.append(value)
            elif key == "organizationName":
                groups.append(value)
    if not names:
        raise errors.Unauthorized
    return User(names[-1], groups=(*groups, AUTHENTICATED))
