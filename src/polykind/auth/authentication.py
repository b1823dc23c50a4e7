"""Authentication of a request by its client certificate or bearer token."""

from __future__ import annotations

import logging
import re
from collections.abc import Collection
from hmac import compare_digest

from polykind import errors
from polykind.auth.client_certificates import ClientCertificates, RejectedCertificateError
from polykind.auth.service_account_claims import TokenError
from polykind.auth.token_authenticators import TokenAuthenticators
from polykind.auth.tokens import Tokens
from polykind.auth.user import ANONYMOUS, User
from polykind.auth.websocket_token import use_websocket_token
from polykind.http.messages import Request

log = logging.getLogger(__name__)

_EXTRA_SPACE = re.compile(rb"\s*bearer  +\S", re.IGNORECASE).match
_EXTRA_SPACE_WARNING = "the provided Authorization header contains extra space before the bearer token, and is ignored"


class Authentication:
    """Authenticates a request by its client certificate, else by its bearer token.

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
        certificates: ClientCertificates | None = None,
    ) -> None:
        self._tokens = tokens
        self._certificates = certificates
        self._anonymous = anonymous
        self._anonymous_paths = anonymous_paths
        self._authenticators = authenticators
        self._latest: tuple[bytes, User | None] = b"", None

    def _other_token_user(self, request: Request, header: bytes) -> User | None:
        """Return the user of a token that the previous request did not have."""
        user = self._token_user(header)
        if user is ANONYMOUS and header and _EXTRA_SPACE(header):
            request.notes.warn(_EXTRA_SPACE_WARNING)
        if user is ANONYMOUS and self._anonymous_paths and request.path not in self._anonymous_paths:
            raise errors.UnauthorizedError
        if user is not None and user is not ANONYMOUS:
            self._latest = header, user
        return user

    def user(self, request: Request) -> User | None:
        """Return the authenticated user. Raise UnauthorizedError if credentials are missing or wrong.

        Return None if the caller must await `remote_user` to authenticate the request.
        """
        user, is_rejected = None, False
        if request.client_chain and self._certificates is not None:
            try:
                user = self._certificates.user(request.client_chain)
            except RejectedCertificateError:
                is_rejected = True
        if user is None:
            if b"sec-websocket-protocol" in request.headers:
                use_websocket_token(request)
            header = request.headers.get(b"authorization", b"")
            # Most requests have the same token as the previous request, so remember the latest header and its user.
            latest_header, user = self._latest
            if user is None or not compare_digest(latest_header, header):
                user = self._other_token_user(request, header)
        if is_rejected and user is ANONYMOUS:
            # As in kube-apiserver, a client with an invalid certificate does not become the anonymous user.
            raise errors.UnauthorizedError
        if user is None and not self._is_token_for_authenticators(request):
            raise errors.UnauthorizedError
        return user

    def replace_tokens(self, tokens: Tokens) -> None:
        """Replace the known tokens. Clients with a removed token stay connected, but their requests fail."""
        self._tokens.replace(tokens)
        self._latest = b"", None

    async def remote_user(self, request: Request) -> User:
        """Return the user of a JSON Web Token or, with a webhook, of any token.

        Raise UnauthorizedError if the token is invalid.
        """
        token = _bearer_token(request)
        if self._authenticators is None:
            raise errors.UnauthorizedError
        try:
            user = (await self._authenticators.authenticate(token))[0]
        except TokenError as error:
            log.info("authentication: rejected a bearer token: %s", error)
            raise errors.UnauthorizedError from None
        if request.notes.audited and (stale := self._authenticators.stale_token_note(token)):
            request.notes.annotate("authentication.k8s.io/stale-token", stale)
        return user

    def _is_token_for_authenticators(self, request: Request) -> bool:
        """True if the request has a token that `remote_user` can authenticate: a JWT or, with a webhook, any token."""
        if self._authenticators is None:
            return False
        token = _bearer_token(request)
        return bool(token) and (self._authenticators.webhook is not None or token.count(".") == 2)

    def _token_user(self, header: bytes) -> User | None:
        token = _token(header)
        if token:
            return self._tokens.find(token)
        return ANONYMOUS if self._anonymous else None


def _bearer_token(request: Request) -> str:
    """Return the bearer token of a request, or "" if it has none or the token is not ASCII."""
    token = _token(request.headers.get(b"authorization", b""))
    return token.decode() if token.isascii() else ""


def _token(header: bytes) -> bytes:
    """Return the token of an Authorization header, or b"" if it has none.

    As in kube-apiserver, a second space before the token hides it, and text after the token is ignored.
    """
    scheme, _, rest = header.strip().partition(b" ")
    return rest.partition(b" ")[0] if scheme.lower() == b"bearer" else b""
