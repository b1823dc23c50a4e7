"""The client of one webhook: its target, TLS trust and connections."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from typing import TYPE_CHECKING

from polykind.contract import JsonObject
from polykind.webhook import trust
from polykind.webhook.resolver import Resolver
from polykind.webhook.target import Target, TargetError, build_target, string_or_empty

if TYPE_CHECKING:
    from polykind.webhook.transport import Session


class WebhookConfigError(ValueError):
    """A clientConfig that cannot be used to call the webhook."""


class WebhookClient:
    """The client of the webhook that a clientConfig describes. Opens connections on the first call.

    `name` is the webhook's name in error messages. With `plain_timeouts`, the message of a timeout lacks the words that
    Go adds for a client with its own timeout.
    """

    def __init__(
        self,
        config: JsonObject,
        name: str,
        resolver: Resolver,
        *,
        client_certificate: trust.ClientCertificate | None = None,
        plain_timeouts: bool = False,
    ) -> None:
        self._config = config
        self._name = name
        self._resolver = resolver
        self._client_certificate = client_certificate
        self._plain_timeouts = plain_timeouts
        self._target: Target | None = None
        self._session: Session | None = None
        self._opening = asyncio.Lock()
        self._calls = 0
        self._closing = False

    def target(self) -> Target:
        """Return the target. Raise TargetError."""
        if self._target is None:
            self._target = build_target(self._config, self._name)
        return self._target

    @property
    def expires(self) -> datetime | None:
        """The expiry of the certificate that the webhook presented last."""
        return self._session.expires if self._session else None

    async def close(self) -> None:
        """Close the connections, once the last call in flight has ended."""
        self._closing = True
        if not self._calls and self._session:
            session, self._session = self._session, None
            await session.close()

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Session]:
        """Return the session for a call. Raise WebhookConfigError."""
        self._calls += 1
        try:
            yield self._session or await self._open()
        finally:
            self._calls -= 1
            if self._closing:
                await self.close()

    async def _open(self) -> Session:
        async with self._opening:
            if self._session is None:
                try:
                    target = self.target()
                    pem = trust.decode_ca_bundle(string_or_empty(self._config.get("caBundle")))
                    context = await asyncio.to_thread(trust.build_ssl_context, pem, self._client_certificate)
                except (TargetError, trust.CABundleError, OSError) as error:
                    raise WebhookConfigError(str(error)) from error
                transport = await asyncio.to_thread(importlib.import_module, "polykind.webhook.transport")
                self._session = transport.Session(
                    target, context, lambda: target.endpoint(self._resolver), plain_timeouts=self._plain_timeouts
                )
            return self._session
