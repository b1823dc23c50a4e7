"""Authentication of a request by its client certificate or bearer token."""

from __future__ import annotations

import logging
import time
from collections.abc import Collection
from hmac import compare_digest
from ssl import cert_time_to_seconds
from typing import Any

from polykind import errors
from polykind.auth.service_account_claims import TokenError
from polykind.auth.token_authenticators import TokenAuthenticators
from polykind.auth.tokens import Tokens
from polykind.auth.user import ANONYMOUS, User, authenticated_groups
from polykind.auth.websocket_token import use_websocket_token
from polykind.http.messages import Request

log = logging.getLogger(__name__)


class Authentication:
    """Authenticates a request by the client certificate that TLS has verified, else by its bearer token.

    The token of a WebSocket can be in its subprotocols.

    If `anonymous` is true, a request without credentials gets the user system:anonymous. If `anonymous_paths` is not
    empty, this holds only for these paths. A request with an unknown token is always rejected.
    """

    def __init__(
        self,
        tokens: Tokens,
        *,
        anonymous: bool = False,
        anonymous_paths: Collection[str] = (),
        authenticators: TokenAuthenticators | None = None,
    ) -> None:
        self._tokens = tokens
        self._anonymous = anonymous
        self._anonymous_paths = anonymous_paths
        self._authenticators = authenticators
        self._latest: tuple[bytes, User | None] = b"", None

    def user(self, request: Request) -> User | None:
        """Return the authenticated user. Raise UnauthorizedError if credentials are missing or wrong.

        Return None if the caller must await `jwt_user` to authenticate the request.
        """
        user = expired = None
        if request.peer_certificate is not None:
            expired = _is_expired(request.peer_certificate)
            user = None if expired else _certificate_user(request.peer_certificate)
        if user is None:
            if b"sec-websocket-protocol" in request.headers:
                use_websocket_token(request)
            header = request.headers.get(b"authorization", b"")
            # Most requests have the same token as the previous request, so remember the latest header and its user.
            latest_header, user = self._latest
            if user is None or not compare_digest(latest_header, header):
                user = self._token_user(header)
                if user is ANONYMOUS and self._anonymous_paths and request.path not in self._anonymous_paths:
                    raise errors.UnauthorizedError
                if user is not None and user is not ANONYMOUS:
                    self._latest = header, user
        if expired and user is ANONYMOUS:
            # As in kube-apiserver, a client with an expired certificate does not become the anonymous user.
            raise errors.UnauthorizedError
        if user is None and (self._authenticators is None or not _jwt(request)):
            raise errors.UnauthorizedError
        return user

    def replace_tokens(self, tokens: Tokens) -> None:
        """Replace the known tokens. Clients with a removed token stay connected, but their requests fail."""
        self._tokens.replace(tokens)
        self._latest = b"", None

    async def jwt_user(self, request: Request) -> User:
        """Return the user of a JSON Web Token. Raise UnauthorizedError if the token is invalid."""
        token = _jwt(request)
        if not token or self._authenticators is None:
            raise errors.UnauthorizedError
        try:
            return (await self._authenticators.authenticate(token))[0]
        except TokenError as error:
            log.info("authentication: rejected a bearer token: %s", error)
            raise errors.UnauthorizedError from None

    def _token_user(self, header: bytes) -> User | None:
        scheme, _, token = header.strip().partition(b" ")
        token = token.strip()
        if scheme.lower() == b"bearer" and token:
            return self._tokens.find(token)
        return ANONYMOUS if self._anonymous else None


def _jwt(request: Request) -> str:
    """Return the bearer token if it looks like a JSON Web Token, else an empty text."""
    scheme, _, token = request.headers.get(b"authorization", b"").strip().partition(b" ")
    token = token.strip()
    is_jwt = scheme.lower() == b"bearer" and token.count(b".") == 2 and token.isascii()
    return token.decode() if is_jwt else ""


def _is_expired(certificate: dict[str, Any]) -> bool:
    """True if the client certificate is expired or not valid yet."""
    now = time.time()
    return not cert_time_to_seconds(certificate["notBefore"]) <= now <= cert_time_to_seconds(certificate["notAfter"])


def _certificate_user(certificate: dict[str, Any]) -> User | None:
    """Return the user of a client certificate. The common name is the user name; each organization is a group."""
    names, groups = [], []
    for attributes in certificate.get("subject", ()):
        for key, value in attributes:
            if key == "commonName":
                names.append(value)
            elif key == "organizationName":
                groups.append(value)
    if not names or not names[-1]:
        return None
    return User(names[-1], groups=authenticated_groups(names[-1], groups))
