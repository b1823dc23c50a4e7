"""The authenticators of bearer tokens: service account tokens, tokens of other issuers, and a webhook."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from polykind.auth.service_account_claims import TokenError
from polykind.auth.service_account_tokens import ServiceAccountTokens
from polykind.auth.user import User

if TYPE_CHECKING:
    from polykind.auth.webhook_token_authenticator import WebhookTokenAuthenticator


class IssuerAuthenticator(Protocol):
    """Authenticates the tokens of one issuer."""

    @property
    def issuer(self) -> str: ...

    @property
    def problem(self) -> str:
        """The reason why no token can be authenticated now, or ""."""

    def start(self) -> None: ...

    async def close(self) -> None:
        """Stop background work and close connections."""

    def is_issuer(self, token: str) -> bool:
        """True if a token names this issuer. The token may still be invalid."""

    async def authenticate(self, token: str) -> User:
        """Return the user of a token. Raise TokenError if the token is invalid."""


class TokenAuthenticators:
    """Finds the authenticator for the issuer of a token. The issuers can be replaced while the server runs."""

    def __init__(
        self,
        service_accounts: ServiceAccountTokens,
        issuers: Sequence[IssuerAuthenticator] = (),
        webhook: WebhookTokenAuthenticator | None = None,
    ) -> None:
        """`webhook` authenticates the tokens that no issuer has signed."""
        self._service_accounts = service_accounts
        self.webhook = webhook
        self._issuers = issuers
        self._closing: set[asyncio.Task[None]] = set()

    @property
    def problem(self) -> str:
        """The problem of the first issuer whose tokens cannot be authenticated now, or ""."""
        return next((issuer.problem for issuer in self._issuers if issuer.problem), "")

    def start(self) -> None:
        for issuer in self._issuers:
            issuer.start()

    async def close(self) -> None:
        self.replace_issuers(())
        await asyncio.gather(*self._closing)
        if self.webhook is not None:
            await self.webhook.close()

    def replace_issuers(self, issuers: Sequence[IssuerAuthenticator]) -> None:
        """Start to use other issuers, and close the previous ones in the background."""
        previous, self._issuers = self._issuers, issuers
        self.start()
        for issuer in previous:
            task = asyncio.create_task(issuer.close())
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)

    @property
    def audiences(self) -> list[str]:
        """The audiences of this server."""
        return self._service_accounts.settings.audiences

    def stale_token_note(self, token: str) -> str:
        """Return a note for the audit event if a token of a service account should have been replaced, or ""."""
        own = self._service_accounts
        return own.stale_token_note(token) if own.is_issuer(token) else ""

    async def authenticate(self, token: str, audiences: list[str] | None = None) -> tuple[User, list[str]]:
        """Return the user of a token, and those of `audiences` (by default the server's own) that it is valid for.

        Raise TokenError if the token is invalid, and UnknownIssuerError if no authenticator knows its issuer.
        """
        if self._service_accounts.is_issuer(token):
            return await self._service_accounts.authenticate(token, audiences)
        for issuer in self._issuers:
            if issuer.is_issuer(token):
                own = self.audiences
                # A token of another issuer is valid for this server, and so for all of the server's audiences.
                shared = [audience for audience in audiences or own if audience in own]
                if not shared:
                    raise UnknownIssuerError("invalid bearer token")
                return await issuer.authenticate(token), shared
        if self.webhook is not None:
            return await self.webhook.authenticate(token, audiences or self.audiences)
        raise UnknownIssuerError("invalid bearer token")


class UnknownIssuerError(TokenError):
    """No authenticator is responsible for a token."""
