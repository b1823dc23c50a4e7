"""The line to one webhook: nothing is read or opened before the first call, and a call under way keeps it open."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from typing import TYPE_CHECKING

from polykind.contract import JsonObject
from polykind.conversion.failure import text
from polykind.webhook import trust
from polykind.webhook.resolver import Resolver
from polykind.webhook.target import Target, TargetError, target

if TYPE_CHECKING:
    from polykind.webhook.transport import Session


class WebhookConfigError(ValueError):
    """A clientConfig by which nobody can be called; says why."""


class WebhookClient:
    """The way to the webhook that a clientConfig names; `name` is what complaints call it.

    `bare`: an answer that is late is told without the words of a client that has a timeout of its own.
    """

    def __init__(
        self,
        config: JsonObject,
        name: str,
        resolver: Resolver,
        *,
        client_certificate: trust.ClientCertificate | None = None,
        bare: bool = False,
    ) -> None:
        self._config = config
        self._name = name
        self._resolver = resolver
        self._client_certificate = client_certificate
        self._bare = bare
        self._target: Target | None = None
        self._session: Session | None = None
        self._opening = asyncio.Lock()
        self._calls = 0
        self._closing = False

    def aim(self) -> Target:
        """Where it leads to. Raises BadTarget."""
        if self._target is None:
            self._target = target(self._config, self._name)
        return self._target

    @property
    def expires(self) -> datetime | None:
        """The end of the certificate that the webhook showed last."""
        return self._session.expires if self._session else None

    async def close(self) -> None:
        """Let go of connections: now, or when the last call under way has ended."""
        self._closing = True
        if not self._calls and self._session:
            session, self._session = self._session, None
            await session.close()

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Session]:
        """The connections, for a call. Raises Unusable."""
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
                    aim = self.aim()
                    pem = trust.bundle(text(self._config.get("caBundle")))
                    context = await asyncio.to_thread(trust.context, pem, self._client_certificate)
                except (TargetError, trust.BadBundle, OSError) as error:
                    raise WebhookConfigError(str(error)) from error
                http = await asyncio.to_thread(importlib.import_module, "polykind.webhook.transport")
                self._session = http.Session(aim, context, lambda: aim.endpoint(self._resolver), bare=self._bare)
            return self._session
