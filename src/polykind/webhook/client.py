"""The client of one webhook: its target, TLS trust and connections."""

from __future__ import annotations

import asyncio
import base64
import binascii
import importlib
import re
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from polykind.contract import JsonObject
from polykind.webhook.presence import WebhookPresence
from polykind.webhook.target import Resolver, Target, TargetError, build_target, string_or_empty

if TYPE_CHECKING:
    from polykind.webhook.transport import Session

_block = re.compile(rb"-----BEGIN ([A-Z0-9 ]+)-----\s+(.*?)-----END \1-----", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ClientCertificate:
    """The PEM files of the certificate and key that this server presents to webhooks."""

    certificate: Path
    key: Path | None = None


class CABundleError(ValueError):
    """A caBundle contains no valid certificate."""


def decode_ca_bundle(encoded: str | None) -> bytes:
    """Decode a caBundle from base64 to PEM. Return b"" if it is missing or blank.

    Raise CABundleError if it is not base64.
    """
    if not encoded:
        return b""
    try:
        return base64.b64decode(encoded, validate=True).strip()
    except (binascii.Error, ValueError):
        raise CABundleError("unable to load root certificates: unable to parse bytes as PEM block") from None


def build_ssl_context(pem: bytes, client: ClientCertificate | None = None) -> ssl.SSLContext:
    """Return a TLS context that trusts the CAs in `pem`, or the CAs of the operating system if `pem` is empty.

    As in kube-apiserver, every certificate of the bundle is trusted, even if it is not self-signed, and a bundle is
    valid if one of its certificates is valid. The common name of a server's certificate is never compared with the host
    name.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.hostname_checks_common_name = False
    context.set_alpn_protocols(["http/1.1"])
    if pem:
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        _load_ca_bundle(context, pem)
    else:
        context.load_default_certs()
    if client:
        context.load_cert_chain(client.certificate, client.key)
    return context


def _load_ca_bundle(context: ssl.SSLContext, pem: bytes) -> None:
    blocks = _block.findall(pem)
    if not blocks:
        raise CABundleError("unable to load root certificates: unable to parse bytes as PEM block")
    loaded = False
    for _, body in (b for b in blocks if b[0] == b"CERTIFICATE"):
        try:
            context.load_verify_locations(cadata=base64.b64decode(body))
        except (ssl.SSLError, binascii.Error, ValueError):
            if not loaded and len(blocks) == 1:
                error = "failed to parse certificate: x509: malformed certificate"
                raise CABundleError(f"unable to load root certificates: {error}") from None
        else:
            loaded = True
    if not loaded:
        raise CABundleError("unable to load root certificates: no valid certificate authority data seen")


class WebhookConfigError(ValueError):
    """A clientConfig is invalid, so the webhook cannot be called."""


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
        client_certificate: ClientCertificate | None = None,
        plain_timeouts: bool = False,
        verify: bool = True,
    ) -> None:
        self._config = config
        self._name = name
        self._resolver = resolver
        self._client_certificate = client_certificate
        self._plain_timeouts = plain_timeouts
        self._verify = verify
        self.presence = WebhookPresence()
        self._target: Target | None = None
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
    def expires(self) -> datetime | None:
        """The expiry of the certificate that the webhook presented most recently, or None if unknown."""
        return self._session.expires if self._session else None

    async def close(self) -> None:
        """Close the connections as soon as no call to the webhook is in progress."""
        self._closing = True
        self.reconnect()
        await self._close_retired()

    def reconnect(self) -> None:
        """Use new connections for the calls that follow, because the webhook may have another address."""
        self.presence.moved()
        if self._session is not None:
            self._retired.append(self._session)
            self._session = None

    async def _close_retired(self) -> None:
        while self._retired and not self._calls:
            await self._retired.pop().close()

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Session]:
        """Yield the session with which to call the webhook. Its connections stay open until the `with` block ends.

        Raise WebhookConfigError if the clientConfig is invalid.
        """
        self._calls += 1
        try:
            yield self._session or await self._open()
        finally:
            self._calls -= 1
            if self._retired or self._closing:
                await (self.close() if self._closing else self._close_retired())

    async def _open(self) -> Session:
        async with self._opening:
            if self._session is None:
                try:
                    target = self.target()
                    pem = decode_ca_bundle(string_or_empty(self._config.get("caBundle")))
                    context = await asyncio.to_thread(build_ssl_context, pem, self._client_certificate)
                except (TargetError, CABundleError, OSError) as error:
                    raise WebhookConfigError(str(error)) from error
                if not self._verify:
                    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
                transport = await asyncio.to_thread(importlib.import_module, "polykind.webhook.transport")
                self._session = transport.Session(
                    target,
                    context,
                    lambda: target.endpoint(self._resolver),
                    self.presence,
                    plain_timeouts=self._plain_timeouts,
                )
            return self._session
