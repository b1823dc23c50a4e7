"""The client of one webhook: its target, TLS trust, credentials and connections."""

from __future__ import annotations

import asyncio
import importlib
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from typing import TYPE_CHECKING

from polykind.cluster.cluster_access import KubeconfigError
from polykind.contract import JsonObject
from polykind.webhook.credentials import WebhookCredentials, WebhookUser
from polykind.webhook.presence import WebhookPresence
from polykind.webhook.response_errors import HTTPResponse
from polykind.webhook.target import Resolver, Target, TargetError, build_target, string_or_empty
from polykind.webhook.tls import CABundleError, build_ssl_context, decode_ca_bundle

if TYPE_CHECKING:
    from polykind.webhook.transport import Session


class WebhookConfigError(ValueError):
    """A clientConfig is invalid, so the webhook cannot be called."""


class WebhookCall:
    """Calls to a webhook for one request of a client. What is large is kept until `done`."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._slots: list[asyncio.Semaphore] = []

    async def post(
        self, body: bytes, max_bytes: int, seconds: float, stated_seconds: float | None = None
    ) -> HTTPResponse:
        """POST a review and return the response, as Session.post does."""
        response = await self._session.post(body, max_bytes, seconds, stated_seconds)
        if response.slot is not None:
            self._slots.append(response.slot)
        return response

    def done(self) -> None:
        """Let other calls receive large responses."""
        while self._slots:
            self._slots.pop().release()


class WebhookClient:
    """The client of the webhook that a clientConfig describes. Opens connections on the first call.

    `name` is the webhook's name in error messages. If `plain_timeouts` is true, the error message of a timeout omits
    the suffix "(Client.Timeout ...)" that Go adds for an HTTP client with a timeout. If `verify` is
    false, any certificate is accepted.
    """

    def __init__(
        self,
        config: JsonObject,
        name: str,
        resolver: Resolver,
        *,
        credentials: WebhookCredentials | None = None,
        plain_timeouts: bool = False,
        verify: bool = True,
    ) -> None:
        self._config = config
        self._name = name
        self._resolver = resolver
        self._credentials = credentials
        self._plain_timeouts = plain_timeouts
        self._verify = verify
        self.presence = WebhookPresence()
        self._target: Target | None = None
        self._user: WebhookUser | None = None
        self._session: Session | None = None
        self._opening = asyncio.Lock()
        self._retired: list[Session] = []
        """Sessions that are closed when no call is in progress."""
        self._calls = 0
        self._closing = False

    def target(self) -> Target:
        """Return the address of the webhook. Raise TargetError if the clientConfig has no valid address."""
        if self._target is None:
            self._target = build_target(self._config, self._name)
        return self._target

    @property
    def address(self) -> str:
        """The URL of the webhook for messages, with the connection's host and port if they differ from it."""
        try:
            target = self.target()
        except TargetError:
            return string_or_empty(self._config.get("url")) or "an unusable address"
        endpoint = target.endpoint(self._resolver)
        return target.url if endpoint == (target.server_name, target.port) else f"{target.url} (at {endpoint})"

    @property
    def expires(self) -> datetime | None:
        """The expiry of the certificate that the webhook presented most recently, or None if unknown."""
        return self._session.expires if self._session else None

    async def close(self) -> None:
        """Close the connections as soon as no call to the webhook is in progress."""
        self._closing = True
        self._retire()
        await self._close_retired()

    def reconnect(self) -> None:
        """Use new connections for the calls that follow, because the webhook may have another address."""
        self.presence.moved()
        self._retire()

    def _retire(self) -> None:
        if self._session is not None:
            self._retired.append(self._session)
            self._session = None

    async def _close_retired(self) -> None:
        while self._retired and not self._calls:
            await self._retired.pop().close()

    @asynccontextmanager
    async def open(self) -> AsyncIterator[WebhookCall]:
        """Yield what calls the webhook. Its connections stay open until the `with` block ends.

        Raise WebhookConfigError if the clientConfig or the credentials are invalid.
        """
        self._calls += 1
        call: WebhookCall | None = None
        try:
            if self._user is not None and self._user.key_pair_changed:
                self._retire()
            call = WebhookCall(self._session or await self._open())
            yield call
        finally:
            self._calls -= 1
            if call is not None:
                call.done()
            if self._retired or self._closing:
                await (self.close() if self._closing else self._close_retired())

    async def _open(self) -> Session:
        async with self._opening:
            if self._session is None:
                try:
                    target = self.target()
                    self._user = self._credentials.find(target.authority) if self._credentials is not None else None
                    pem = decode_ca_bundle(string_or_empty(self._config.get("caBundle")))
                    key_pair = self._user.key_pair() if self._user is not None else None
                    context = await asyncio.to_thread(build_ssl_context, pem, key_pair)
                except (TargetError, CABundleError, KubeconfigError, OSError, ValueError) as error:
                    raise WebhookConfigError(str(error)) from error
                if not self._verify:
                    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
                transport = await asyncio.to_thread(importlib.import_module, "polykind.webhook.transport")
                self._session = transport.Session(
                    target,
                    context,
                    self._resolver,
                    self.presence,
                    headers=self._user.headers if self._user is not None else list,
                    plain_timeouts=self._plain_timeouts,
                )
            return self._session
